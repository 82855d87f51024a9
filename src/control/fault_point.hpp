// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of connecting, recovering and leaving at which a test lets the process die. Without BE_FAULT_POINTS, which only
// a test defines that compiles these files once more, nothing of it is left. The points are listed in
// test/fault/points.cpp.

#pragma once

#ifdef BE_FAULT_POINTS

#include <string_view>

namespace be::fault {

// Does not return if the process is to die here.
void pass(std::string_view step, std::string_view message = {});

// A message was put into the output; if the process is to die when it is sent, sent() does not return.
void sending(std::string_view message);
void sent();

} // namespace be::fault

#define BE_FAULT_POINT(...)     ::be::fault::pass(__VA_ARGS__)
#define BE_FAULT_SENDING(name)  ::be::fault::sending(name)
#define BE_FAULT_SENT(all_sent) ((all_sent) ? ::be::fault::sent() : static_cast<void>(0))

#else

#define BE_FAULT_POINT(...)     static_cast<void>(0)
#define BE_FAULT_SENDING(name)  static_cast<void>(0)
#define BE_FAULT_SENT(all_sent) static_cast<void>(0)

#endif
