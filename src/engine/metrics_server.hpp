// SPDX-License-Identifier: BSD-3-Clause
//
// Pages of statistics over HTTP, where UCX_BE_METRICS says. The library that does it is loaded with the first page and
// stays; it is another one because of the HTTP server that it brings along, which nobody is to have who did not ask.
//
// What goes wrong is warned of once in a process: it works on without. Threads: any.

#pragma once

#include "core/stats_page.hpp"

#include <string>

namespace be::engine {

// A page that is served as long as this lives; where it cannot be, nothing.
class ServedPage {
public:
    ServedPage(core::StatsPage *page, const std::string &where) noexcept;
    ~ServedPage();
    ServedPage(const ServedPage &)            = delete;
    ServedPage &operator=(const ServedPage &) = delete;

private:
    core::StatsPage *m_page = nullptr;
};

} // namespace be::engine
