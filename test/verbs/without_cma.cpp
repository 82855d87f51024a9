// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a program where the system refuses process_vm_readv and process_vm_writev, as the profiles of some
// containers do.
//
//   without_cma EPERM|ENOSYS PROGRAM ARGUMENT...
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// All calls go, the two fail. Other architectures' numbers do not matter: nothing here uses them.
bool install_filter(unsigned failure)
{
    constexpr auto load     = static_cast<unsigned short>(BPF_LD | BPF_W | BPF_ABS);
    constexpr auto is_equal = static_cast<unsigned short>(BPF_JMP | BPF_JEQ | BPF_K);
    constexpr auto end      = static_cast<unsigned short>(BPF_RET | BPF_K);
    sock_filter steps[]     = {
                {load, 0, 0, offsetof(seccomp_data, nr)},
                {is_equal, 2, 0, SYS_process_vm_readv},
                {is_equal, 1, 0, SYS_process_vm_writev},
                {end, 0, 0, SECCOMP_RET_ALLOW},
                {end, 0, 0, SECCOMP_RET_ERRNO | failure},
    };
    sock_fprog program{sizeof(steps) / sizeof(steps[0]), steps};
    return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) &&
           (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

} // namespace

int main(int argc, char **argv)
{
    unsigned failure = 0;
    if (argc > 2) {
        failure = (strcmp(argv[1], "EPERM") == 0)  ? EPERM :
                  (strcmp(argv[1], "ENOSYS") == 0) ? ENOSYS :
                                                     0;
    }
    if (failure == 0) {
        fprintf(stderr, "usage: without_cma EPERM|ENOSYS PROGRAM ARGUMENT...\n");
        return 2;
    }
    if (!install_filter(failure)) {
        perror("without_cma: seccomp filter");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
