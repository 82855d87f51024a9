// SPDX-License-Identifier: BSD-3-Clause
#include "registry.h"

#include "counters.h"
#include "resource_limit.h"
#include "log.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace softrdma {
namespace {

constexpr uint64_t registry_magic = 0x736f667472646d61ull; // "softrdma"

// Processes in different pid namespaces cannot reach each other through /proc: they get a registry
// of their own.
unsigned long pid_namespace()
{
    struct stat info;
    return (stat("/proc/self/ns/pid", &info) == 0) ? info.st_ino : 0;
}

std::string registry_name(const std::string &domain)
{
    return "/softrdma" + std::to_string(layout_version) + "-" + std::to_string(getuid()) +
           "-" + std::to_string(pid_namespace()) + "-" + domain;
}

// Sets a port to zero. What it counted stays in the sums of its device.
void retire_port(port_shared &port, port_shared &departed)
{
    port.condition.store(0);
    std::vector<counter_view> from = list_counters(port);
    std::vector<counter_view> to   = list_counters(departed);
    for (size_t i = 0; i < from.size(); ++i) {
        uint64_t value = from[i].source->value();
        if (value != 0) {
            to[i].source->add(value);
            from[i].source->reset();
        }
    }
}

class file_lock {
public:
    explicit file_lock(int fd) : m_fd(fd)
    {
        while ((flock(m_fd, LOCK_EX) != 0) && (errno == EINTR)) {
        }
    }

    ~file_lock()
    {
        flock(m_fd, LOCK_UN);
    }

private:
    int m_fd;
};

} // namespace

uint64_t process_start_time(pid_t pid)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd         = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = (fd < 0) ? -1 : read(fd, text, sizeof(text) - 1);
    int failure    = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (length <= 0) {
        bool gone = (length == 0) || (failure == ENOENT) || (failure == ESRCH);
        return gone ? 0 : unknown_start;
    }

    // "pid (name) state ppid ...": the name may hold anything, so start behind its last ')'. State is
    // field 3, the number of threads field 20, the start time field 22.
    text[length]      = '\0';
    const char *field = strrchr(text, ')');
    if ((field == nullptr) || (field[1] == '\0')) {
        return 0;
    }
    char state       = field[2];
    uint64_t threads = 0;
    for (int i = 2; (i < 22) && (field != nullptr); ++i) {
        field = strchr(field + 1, ' ');
        if ((i + 1 == 20) && (field != nullptr)) {
            threads = strtoull(field, nullptr, 10);
        }
    }
    // Its main thread may have ended before others: then it says zombie, too.
    bool over = (state == 'X') || (state == 'x') || ((state == 'Z') && (threads <= 1));
    return (over || (field == nullptr)) ? 0 : strtoull(field, nullptr, 10);
}

registry::~registry()
{
    if (m_layout != nullptr) {
        munmap(m_layout, sizeof(*m_layout));
    }
    if (m_fd >= 0) {
        close(m_fd);
    }
}

bool registry::attach(const std::string &domain, std::string &error)
{
    return map(registry_name(domain), true, error) && claim(error);
}

bool registry::observe(const std::string &domain, std::string &error)
{
    return map(registry_name(domain), false, error);
}

std::optional<uint32_t> registry::post_order(uint32_t slot, const fault &wanted)
{
    file_lock lock(m_fd);
    order_box &box  = orders(slot);
    uint32_t number = box.posted.load(std::memory_order_relaxed);
    if (number - box.taken.load(std::memory_order_acquire) >= order_slots) {
        return std::nullopt;
    }
    box.orders[number % order_slots] = wanted;
    box.posted.store(number + 1, std::memory_order_release);
    return number;
}

bool registry::map(const std::string &name, bool create, std::string &error)
{
    auto fail = [&](const std::string &what) {
        error = "registry /dev/shm" + name + ": " + what;
        return false;
    };

    m_fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
    if (m_fd < 0) {
        return fail(describe_failure(errno));
    }
    struct stat info;
    if ((fstat(m_fd, &info) != 0) || (info.st_uid != getuid()) ||
        ((info.st_mode & 0077) != 0)) {
        return fail("exists, but is not a private file of this user");
    }

    file_lock lock(m_fd);
    if (fstat(m_fd, &info) != 0) {
        return fail(describe_failure(errno));
    }
    bool fresh = create && (info.st_size == 0);
    if (fresh && !may_have_file_of(sizeof(registry_layout))) {
        return fail("is larger than ulimit -f allows");
    }
    if (fresh && (ftruncate(m_fd, sizeof(registry_layout)) != 0)) {
        return fail(describe_failure(errno));
    }
    if (!fresh && (info.st_size != sizeof(registry_layout))) {
        return fail("has an unexpected size; remove it when no program uses the device");
    }

    // Memory that is not there when it is touched is a SIGBUS.
    if (create && (fallocate(m_fd, 0, 0, sizeof(registry_layout)) != 0)) {
        return fail(describe_failure(errno));
    }
    void *base = mmap(nullptr, sizeof(registry_layout), PROT_READ | PROT_WRITE,
                      MAP_SHARED, m_fd, 0);
    if (base == MAP_FAILED) {
        return fail(describe_failure(errno));
    }
    madvise(base, sizeof(registry_layout), MADV_DONTFORK);
    m_layout = static_cast<registry_layout *>(base);
    if (fresh) {
        m_layout->bytes = sizeof(registry_layout);
        m_layout->magic = registry_magic;
    }
    if ((m_layout->magic != registry_magic) ||
        (m_layout->bytes != sizeof(registry_layout))) {
        return fail("is not a registry of this version; remove it when no program uses "
                    "the device");
    }
    return true;
}

bool registry::claim(std::string &error)
{
    uint64_t started = process_start_time(getpid());
    if ((started == 0) || (started == unknown_start)) {
        error = "/proc/" + std::to_string(getpid()) +
                "/stat cannot be read: processes find each other in /proc, which must be "
                "mounted";
        return false;
    }
    file_lock lock(m_fd);
    for (uint32_t i = 1; i < limits::processes; ++i) {
        process_entry &entry = m_layout->entries[i];
        uint32_t pid         = entry.pid.load(std::memory_order_relaxed);
        uint64_t its_start   = (pid != 0) ? process_start_time(pid) : 0;
        if ((pid != 0) &&
            ((its_start == entry.start_time) || (its_start == unknown_start))) {
            continue;
        }
        if (pid != 0) {
            SOFTRDMA_LOG(debug, "slot %u of dead process %u reclaimed", i, pid);
        }

        entry.generation.store(0, std::memory_order_release);
        entry.holder.store(0, std::memory_order_release);
        for (guard_record &record : m_layout->guards[i]) {
            record.word.store(0, std::memory_order_relaxed);
        }
        for (uint32_t device = 0; device < limits::devices; ++device) {
            retire_port(port(i, device), departed(device));
            fabric().settings[port_key(i, device)].store({});
        }
        order_box &orders = m_layout->orders[i];
        orders.taken.store(orders.posted.load(std::memory_order_acquire),
                           std::memory_order_release);
        entry.start_time = started;
        entry.pid.store(getpid(), std::memory_order_release);
        if (i > high_slot()) {
            m_layout->high_slot.store(i, std::memory_order_seq_cst);
        }
        m_own        = i;
        m_generation = ++m_layout->last_generation;
        entry.holder.store(m_generation, std::memory_order_release);
        return true;
    }
    error = "all " + std::to_string(limits::processes - 1) + " process slots are in use";
    return false;
}

void registry::shape(uint32_t slot, uint32_t device, const fabric_settings &settings)
{
    fabric().settings[port_key(slot, device)].store(settings);
    std::atomic<uint32_t> &condition = port(slot, device).condition;
    if (settings.idle()) {
        condition.fetch_and(~uint32_t{port_modelled});
    } else {
        condition.fetch_or(port_modelled);
    }
}

void registry::publish(int segment_fd, int doorbell_fd, uint32_t devices, link_layer link)
{
    process_entry &entry = m_layout->entries[m_own];
    entry.segment_fd     = segment_fd;
    entry.doorbell_fd    = doorbell_fd;
    entry.devices        = devices;
    entry.link           = link;
    entry.generation.store(m_generation, std::memory_order_seq_cst);
}

pid_t registry::differently_linked(link_layer link)
{
    for (uint32_t slot = 1; slot <= high_slot(); ++slot) {
        process_entry &entry = m_layout->entries[slot];
        uint64_t generation  = entry.generation.load(std::memory_order_acquire);
        if ((generation != 0) && (entry.link != link) &&
            (entry.link != link_layer::unknown) && alive(slot, generation)) {
            return static_cast<pid_t>(entry.pid.load(std::memory_order_relaxed));
        }
    }
    return 0;
}

void registry::release()
{
    if ((m_own == 0) || m_released.exchange(true)) {
        return;
    }
    // The slot itself stays taken until the process is dead: its threads may still run.
    m_layout->entries[m_own].generation.store(0, std::memory_order_seq_cst);
}

bool registry::alive(uint32_t index, uint64_t generation)
{
    if ((index == 0) || (index >= limits::processes)) {
        return false;
    }
    process_entry &entry = m_layout->entries[index];
    if (entry.holder.load(std::memory_order_acquire) != generation) {
        return false;
    }
    uint64_t started = process_start_time(entry.pid.load(std::memory_order_acquire));
    // Looked at twice: what was read in between may be of a process that takes the slot of a dead one.
    return ((started == unknown_start) ||
            ((started != 0) && (started == entry.start_time))) &&
           (entry.holder.load(std::memory_order_acquire) == generation);
}

bool registry::alive(owner_token token)
{
    uint32_t index = token >> 22;
    if ((index == 0) || (index >= limits::processes)) {
        return false;
    }
    uint64_t generation = m_layout->entries[index].holder.load(std::memory_order_acquire);
    return (generation != 0) && (make_token(index, generation) == token) &&
           alive(index, generation);
}

} // namespace softrdma
