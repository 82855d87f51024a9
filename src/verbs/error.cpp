// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/error.hpp"

#include "verbs/lockable.hpp"

#include <cerrno>

namespace be::verbs {
namespace {

// std::system_error appends ": " and the words for the error number.
std::string compose(const std::string &device, const std::string &call,
                    const std::string &arguments, int error_number,
                    const std::string &hint)
{
    std::string text = device + ": " + call + "(" + arguments + ") failed with errno " +
                       std::to_string(error_number);
    if (!hint.empty()) {
        text += " (" + hint + ")";
    }
    return text;
}

} // namespace

Error::Error(const std::string &device, const std::string &call,
             const std::string &arguments, int error_number, const std::string &hint) :
    std::system_error(error_number, std::generic_category(),
                      compose(device, call, arguments, error_number, hint)),
    m_device(device),
    m_call(call)
{
}

int error_of(int result) noexcept
{
    if (result >= 0) {
        return result;
    }
    return (errno != 0) ? errno : -result;
}

std::string registration_hint(int error_number, bool soft)
{
    switch (error_number) {
    case ENOMEM: {
        const std::uint64_t limit = lockable_memory(soft);
        if (limit != no_limit) {
            return std::string("the limit on locked memory, ") +
                   (soft ? "SOFTRDMA_LOCKED" : "RLIMIT_MEMLOCK") + ", is " +
                   std::to_string(limit) + " bytes" +
                   (soft ? "" : ": raise it with ulimit -l or in limits.conf");
        }
        return "locked memory is not limited: the system or the device is out of memory "
               "for "
               "registrations";
    }
    case EFAULT:
        return "the range is not mapped, or is read-only and was to be registered for "
               "writing";
    default:
        return {};
    }
}

} // namespace be::verbs
