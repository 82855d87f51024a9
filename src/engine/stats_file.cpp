// SPDX-License-Identifier: BSD-3-Clause

#include "engine/stats_file.hpp"

#include "core/stats_reader.hpp"
#include "engine/c_guard.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace be::engine {
namespace {

using core::StatsPage;
namespace fs = std::filesystem;

// How much of what was counted before sleeping may be missing, when nobody has asked lately.
constexpr std::chrono::milliseconds rest_interval{1};
// How long who has asked is taken to look on: then nothing is missing.
constexpr std::chrono::seconds interest{60};

[[noreturn]] void fail(const std::string &what)
{
    throw std::system_error(errno, std::system_category(), what);
}

// The user's own folder, which nobody else may write to or look into.
std::string private_folder()
{
    const std::string folder = core::stats_folder(std::getenv("XDG_RUNTIME_DIR"),
                                                  ::geteuid());
    struct stat found {};
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        fail(folder);
    }
    if (::lstat(folder.c_str(), &found) != 0) {
        fail(folder);
    }
    if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() ||
        (found.st_mode & 0077) != 0) {
        throw std::runtime_error(
                fmt::format("{}: expected a folder of user {} with mode 0700", folder,
                            ::geteuid()));
    }
    return folder;
}

// Of processes that were killed: nobody holds their lock.
void remove_orphans(const std::string &folder)
{
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".stats") {
            continue;
        }
        const int fd = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
            if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
                fs::remove(entry.path(), error);
            }
            ::close(fd);
        }
    }
}

const char *kind_of(const be_metric_t &metric) noexcept
{
    using Kind = core::StatsMetric::Kind;
    return core::to_string(metric.kind == BE_METRIC_NOW    ? Kind::now :
                           metric.kind == BE_METRIC_BUCKET ? Kind::bucket :
                                                             Kind::total);
}

} // namespace

StatsFile::StatsFile(be_fabric_t *fabric, const char *device, const char *folder,
                     const std::string &serve) :
    m_fabric(fabric), m_stays(folder != nullptr && *folder != '\0')
{
    if (folder != nullptr) {
        open_file(folder);
    }
    const int kind = m_fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = ::mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, kind, m_fd,
                          0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        if (m_fd >= 0) {
            ::unlink(m_path.c_str());
            ::close(m_fd);
        }
        errno = error;
        fail("mapping a page of statistics");
    }
    m_page          = static_cast<StatsPage *>(memory); // all zero
    m_page->process = static_cast<std::uint64_t>(::getpid());
    copy_text(m_page->device.data(), m_page->device.size(), device);
    name_metrics();
    publish();
    std::atomic_ref(m_page->magic)
            .store(StatsPage::current_magic, std::memory_order_release);
    m_served.emplace(m_page, serve);
}

void StatsFile::open_file(const std::string &folder)
{
    static std::atomic<unsigned> count = 0;
    const std::string where            = m_stays ? folder : private_folder();
    if (!m_stays) {
        remove_orphans(where);
    }
    m_path = fmt::format("{}/{}-{}.stats", where, ::getpid(), count++);
    m_fd   = ::open(m_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (m_fd < 0) {
        fail(m_path);
    }
    if (::flock(m_fd, LOCK_EX | LOCK_NB) != 0 ||
        ::ftruncate(m_fd, sizeof(StatsPage)) != 0) {
        const int error = errno;
        ::unlink(m_path.c_str());
        ::close(m_fd);
        errno = error;
        fail(m_path);
    }
}

StatsFile::~StatsFile()
{
    m_served.reset();
    publish();
    ::munmap(m_page, sizeof(StatsPage));
    if (m_fd >= 0) {
        if (!m_stays) {
            ::unlink(m_path.c_str());
        }
        ::close(m_fd);
    }
}

void StatsFile::name_metrics()
{
    be_fabric_metrics(
            m_fabric,
            [](void *arg, const be_metric_t *metric) {
                StatsPage &page        = *static_cast<StatsPage *>(arg);
                const std::string line = fmt::format("{}\t{}\t{}\t{}\n", metric->name,
                                                     metric->unit, kind_of(*metric),
                                                     metric->help);
                if (page.count < StatsPage::max_metrics &&
                    page.names_size + line.size() <= page.names.size()) {
                    std::copy(line.begin(), line.end(),
                              page.names.begin() +
                                      static_cast<std::ptrdiff_t>(page.names_size));
                    page.names_size += line.size();
                    ++page.count;
                }
            },
            m_page);
}

void StatsFile::publish() noexcept
{
    struct Cursor {
        StatsPage &page;
        std::size_t next;
    } cursor{*m_page, 0};
    const std::uint64_t asked = m_page->asked.load(std::memory_order_acquire);

    m_page->sequence.fetch_add(1, std::memory_order_acq_rel);
    be_fabric_metrics(
            m_fabric,
            [](void *arg, const be_metric_t *metric) {
                Cursor &at = *static_cast<Cursor *>(arg);
                if (at.next < at.page.count) {
                    at.page.values[at.next++].store(metric->value,
                                                    std::memory_order_release);
                }
            },
            &cursor);
    m_page->peer_count.store(
            Locked(member_of(m_fabric).fabric())->show_peers(m_page->peers),
            std::memory_order_release);
    m_page->sequence.fetch_add(1, std::memory_order_release);
    m_page->answered.store(asked, std::memory_order_release);
    m_published = std::chrono::steady_clock::now();
}

void StatsFile::rest() noexcept
{
    const auto now = std::chrono::steady_clock::now();
    if (m_page->asked.load(std::memory_order_relaxed) != m_asked_before) {
        m_asked_before = m_page->asked.load(std::memory_order_relaxed);
        m_watched      = now + interest;
    }
    if (now < m_watched || now - m_published >= rest_interval) {
        publish();
    }
}

} // namespace be::engine

using namespace be::engine;

be_stats_t *be_stats_open(be_fabric_t *fabric, const char *device, const char *folder,
                          const char *serve)
{
    if (folder != nullptr) {
        try {
            return new StatsFile(fabric, device, folder, serve);
        } catch (const std::exception &error) {
            log(*folder == '\0' ? BE_LOG_DEBUG : BE_LOG_WARN, "no file of statistics: {}",
                error.what());
        }
    }
    if (*serve == '\0') {
        return nullptr;
    }
    try {
        return new StatsFile(fabric, device, nullptr, serve);
    } catch (const std::exception &error) {
        log(BE_LOG_WARN, "UCX_BE_METRICS={}: no metrics are served: {}", serve,
            error.what());
        return nullptr;
    }
}

void be_stats_close(be_stats_t *stats)
{
    delete static_cast<StatsFile *>(stats);
}

void be_stats_poll(be_stats_t *stats)
{
    static_cast<StatsFile *>(stats)->poll();
}

void be_stats_rest(be_stats_t *stats)
{
    static_cast<StatsFile *>(stats)->rest();
}
