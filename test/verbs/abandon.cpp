// SPDX-License-Identifier: BSD-3-Clause
#include "abandon.hpp"

#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// In place of the C library's, which reads the clock without a system call: it begins again when the kernel
// brings its time up to date meanwhile, and to a process that is stepped through it that happens nearly always.
extern "C" [[gnu::visibility("default")]] int
clock_gettime(clockid_t clock, timespec *time) noexcept
{
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

namespace softtest {
namespace {

int wait_for(pid_t pid)
{
    int status = 0;
    return (waitpid(pid, &status, 0) == pid) ? status : 0;
}

// This process's device memory, opened once more. (That of its peers is mapped, but not open.)
int open_device_memory()
{
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (target.starts_with("/memfd:softrdma")) {
            return open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
        }
    }
    return -1;
}

} // namespace

stepped_process::stepped_process(const std::function<void(int socket)> &body)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fatal("socketpair");
    }
    m_pid = fork();
    if (m_pid < 0) {
        fatal("fork");
    }
    if (m_pid == 0) {
        close(ends[0]);
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        body(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    m_socket = ends[0];
}

stepped_process::~stepped_process()
{
    kill();
    reap();
    close(m_socket);
}

bool stepped_process::allowed()
{
    pid_t child = fork();
    if (child == 0) {
        _exit((ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) ? 0 : 1);
    }
    int status = wait_for(child);
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0);
}

void stepped_process::halt()
{
    raise(SIGSTOP);
}

bool stepped_process::wait_until_halted()
{
    int status = wait_for(m_pid);
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        m_pid = -1;
    }
    return WIFSTOPPED(status) && (WSTOPSIG(status) == SIGSTOP);
}

bool stepped_process::step()
{
    if (ptrace(PTRACE_SINGLESTEP, m_pid, nullptr, nullptr) != 0) {
        fatal("PTRACE_SINGLESTEP");
    }
    int status = wait_for(m_pid);
    if (!WIFSTOPPED(status)) {
        m_pid = -1;
        return false;
    }
    return WSTOPSIG(status) == SIGTRAP;
}

void stepped_process::kill()
{
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
    }
}

void stepped_process::reap()
{
    while (m_pid > 0) {
        int status = wait_for(m_pid);
        if (!WIFSTOPPED(status)) {
            m_pid = -1;
        }
    }
}

held_thread::held_thread(pid_t pid, const char *name)
{
    std::string folder = "/proc/" + std::to_string(pid) + "/task";
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        std::string its_name;
        std::getline(std::ifstream(entry.path() / "comm"), its_name);
        if (its_name == name) {
            m_thread = std::stoi(entry.path().filename().string());
        }
    }
    if ((m_thread < 0) || (ptrace(PTRACE_SEIZE, m_thread, nullptr, nullptr) != 0) ||
        (ptrace(PTRACE_INTERRUPT, m_thread, nullptr, nullptr) != 0) ||
        (waitpid(m_thread, nullptr, __WALL) != m_thread)) {
        fatal("holding a thread");
    }
}

held_thread::~held_thread()
{
    if (ptrace(PTRACE_DETACH, m_thread, nullptr, nullptr) != 0) {
        waitpid(m_thread, nullptr, __WALL); // it died, and stays until it is waited for
    }
}

device_memory::device_memory()
{
    int file   = open_device_memory();
    off_t size = lseek(file, 0, SEEK_END);
    m_bytes    = static_cast<size_t>(size);
    void *base = mmap(nullptr, m_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
    if ((file < 0) || (size < 0) || (base == MAP_FAILED)) {
        fatal("device memory");
    }
    m_base   = static_cast<const char *>(base);
    off_t at = lseek(file, 0, SEEK_DATA);
    while (at >= 0) {
        off_t end = lseek(file, at, SEEK_HOLE);
        m_parts.push_back({static_cast<size_t>(at), static_cast<size_t>(end - at)});
        at = lseek(file, end, SEEK_DATA);
    }
    close(file);
}

device_memory::~device_memory()
{
    munmap(const_cast<char *>(m_base), m_bytes);
}

uint64_t device_memory::fingerprint() const
{
    uint64_t sum = 0;
    for (const part &each : m_parts) {
        auto words = reinterpret_cast<const uint64_t *>(m_base + each.offset);
        for (size_t i = 0; i < each.bytes / sizeof(uint64_t); ++i) {
            sum = sum * 3 + __atomic_load_n(words + i, __ATOMIC_RELAXED);
        }
    }
    return sum;
}

} // namespace softtest
