// SPDX-License-Identifier: BSD-3-Clause
//
// The exception of every failed verbs call on a set-up path. Post and poll never throw.
#pragma once

#include <string>
#include <system_error>

namespace be::verbs {

// what(): "mlx5_0: ibv_reg_mr(address 0x7f.., length 4194304, access 0xf) failed with
// errno 12 (the limit on locked memory, RLIMIT_MEMLOCK, is 65536 bytes: raise it with
// ulimit -l or in limits.conf): Cannot allocate memory".
class Error : public std::system_error {
public:
    Error(const std::string &device, const std::string &call,
          const std::string &arguments, int error_number, const std::string &hint = {});

    const std::string &device() const noexcept
    {
        return m_device;
    }

    // The verbs function, "ibv_reg_mr".
    const std::string &call() const noexcept
    {
        return m_call;
    }

private:
    std::string m_device;
    std::string m_call;
};

// The errno value behind the result of a verbs call that returns an int: providers return
// it, or -1 and errno.
int error_of(int result) noexcept;

// What to do about an ENOMEM of ibv_reg_mr (`soft`: on the software device): the limit on
// locked memory and how to raise it, or nothing; of others, what may be wrong.
std::string registration_hint(int error_number, bool soft);

} // namespace be::verbs
