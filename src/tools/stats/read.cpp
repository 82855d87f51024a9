// SPDX-License-Identifier: BSD-3-Clause
#include "tools/stats/stats.hpp"

#include "core/stats_page.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace be::tools {

namespace {

namespace fs = std::filesystem;
using core::StatsPage;

// For a process to answer. One that sleeps has written its values before.
constexpr std::chrono::milliseconds patience{200};
constexpr std::chrono::milliseconds between_looks{1};

struct Unmap {
    void operator()(StatsPage *page) const noexcept
    {
        munmap(page, sizeof(StatsPage));
    }
};
using Page = std::unique_ptr<StatsPage, Unmap>;

// Null: it is no such file, or somebody else's.
Page open_page(const fs::path &path)
{
    const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return nullptr;
    }
    struct stat found {};
    void *memory = MAP_FAILED;
    if ((fstat(fd, &found) == 0) && S_ISREG(found.st_mode) &&
        (found.st_uid == geteuid()) && (found.st_size == off_t{sizeof(StatsPage)})) {
        memory = mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      0);
    }
    close(fd);
    Page page((memory == MAP_FAILED) ? nullptr : static_cast<StatsPage *>(memory));
    if ((page != nullptr) &&
        (std::atomic_ref(page->magic).load() != StatsPage::current_magic)) {
        page.reset();
    }
    return page;
}

std::vector<fs::path> files_in(const fs::path &folder, const std::string &prefix)
{
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        if ((entry.path().extension() == ".stats") &&
            entry.path().filename().string().starts_with(prefix)) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

fs::path stats_folder()
{
    const char *named = std::getenv("UCX_BE_STATS");
    if ((named != nullptr) && (strcasecmp(named, "auto") != 0) &&
        (strcasecmp(named, "no") != 0)) {
        return named;
    }
    return core::stats_folder(std::getenv("XDG_RUNTIME_DIR"), geteuid());
}

std::vector<InterfaceStats> read_stats(const fs::path &folder, uint64_t process)
{
    std::vector<InterfaceStats> all;
    std::vector<std::pair<Page, uint64_t>> asked;

    for (const fs::path &file : files_in(folder, std::to_string(process) + "-")) {
        if (Page page = open_page(file)) {
            const uint64_t number = page->asked.fetch_add(1) + 1;
            asked.emplace_back(std::move(page), number);
        }
    }
    const auto late = std::chrono::steady_clock::now() + patience;
    for (const auto &[page, number] : asked) {
        const auto answered = [&page = page, number = number] {
            return page->answered.load(std::memory_order_acquire) >= number;
        };
        while (!answered() && (std::chrono::steady_clock::now() < late)) {
            std::this_thread::sleep_for(between_looks);
        }
        all.push_back({core::read(*page), answered()});
    }
    return all;
}

std::vector<InterfaceStats> read_left_stats(const fs::path &folder)
{
    std::vector<InterfaceStats> all;
    for (const fs::path &file : files_in(folder, "")) {
        if (const Page page = open_page(file)) {
            all.push_back({core::read(*page), true});
        }
    }
    return all;
}

} // namespace be::tools
