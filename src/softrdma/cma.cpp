// SPDX-License-Identifier: BSD-3-Clause
#include "cma.h"

#include "log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/uio.h>
#include <unistd.h>

namespace softrdma {
namespace {

// Yama's rule for who may look into whom, '0' to '3'; '0' also without Yama.
char ptrace_scope()
{
    char scope = '0';
    int fd     = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, &scope, 1) != 1) {
            scope = '0';
        }
        close(fd);
    }
    return scope;
}

// A process may always look into itself, unless the calls as such are forbidden.
bool calls_work()
{
    uint64_t from = 0x5eed, to = 0;
    return (try_access(getpid(), reinterpret_cast<uint64_t>(&from), &to, sizeof(to)) ==
            0) &&
           (to == from);
}

std::string reason_of(int failure)
{
    if (failure == ENOSYS) {
        return "the kernel, or a seccomp filter, has no process_vm_readv and "
               "process_vm_writev";
    }
    if (!calls_work()) {
        return "a seccomp filter forbids process_vm_readv and process_vm_writev; in a "
               "container allow them by --cap-add SYS_PTRACE or another seccomp profile";
    }
    char scope = ptrace_scope();
    if (scope >= '2') {
        return std::string("Yama forbids it; set kernel.yama.ptrace_scope to 0 or 1, it "
                           "is ") +
               scope + ", or give the processes CAP_SYS_PTRACE";
    }
    return "it runs with other privileges or in another user namespace, or is not "
           "dumpable; in a container try --cap-add SYS_PTRACE";
}

} // namespace

bool is_refusal(int failure)
{
    return (failure == EPERM) || (failure == EACCES) || (failure == ENOSYS);
}

int try_access(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    iovec mine{to, bytes};
    iovec theirs{reinterpret_cast<void *>(address), bytes};
    ssize_t done = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
    if (done < 0) {
        return errno;
    }
    return (static_cast<size_t>(done) == bytes) ? 0 : EFAULT;
}

void say_refused(int failure, pid_t pid)
{
    SOFTRDMA_LOG_ONCE(warn,
                      "no direct access to the memory of process %d (%s): %s. Data goes "
                      "through shared memory, copied by both processes: slower, and not "
                      "while one is stopped",
                      pid, strerror(failure), reason_of(failure).c_str());
}

} // namespace softrdma
