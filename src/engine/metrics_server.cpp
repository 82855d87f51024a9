// SPDX-License-Identifier: BSD-3-Clause

#include "engine/metrics_server.hpp"

#include "engine/log.hpp"
#include "metrics/api.hpp"

#include <array>
#include <mutex>

#include <dlfcn.h>
#include <unistd.h>

namespace be::engine {
namespace {

struct Server {
    std::mutex mutex;
    const metrics::Api *api = nullptr; // null: not started
    unsigned pages          = 0;
    bool failed             = false; // it was said
    pid_t process           = 0;
};

Server &the_server()
{
    static auto *server = new Server; // interfaces may close while the process ends
    return *server;
}

// Beside this library, else where the loader looks.
void *load_library() noexcept
{
    Dl_info self{};
    if (::dladdr(reinterpret_cast<void *>(&load_library), &self) != 0 &&
        self.dli_fname != nullptr) {
        std::string path = self.dli_fname;
        path.resize(path.rfind('/') + 1);
        path += metrics::library;
        if (void *found = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
            return found;
        }
    }
    return ::dlopen(metrics::library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

const metrics::Api *load(std::string &why)
{
    void *library = load_library();
    auto *entry   = library == nullptr ? nullptr :
                                         reinterpret_cast<metrics::Entry *>(
                                               ::dlsym(library, metrics::entry));
    if (entry == nullptr) {
        const char *text = ::dlerror();
        why              = text == nullptr ? "cannot load it" : text;
        return nullptr;
    }
    const metrics::Api *api = entry();
    if (api->layout != core::StatsPage::current_magic) {
        why = std::string(metrics::library) + " is of another release";
        return nullptr;
    }
    return api;
}

void start(Server &server, const std::string &where)
{
    std::string why;
    if (const metrics::Api *api = load(why); api != nullptr) {
        std::array<char, 256> text{};
        if (api->start(where.c_str(), text.data(), text.size())) {
            log(BE_LOG_INFO, "metrics are served at {}", text.data());
            server.api     = api;
            server.process = ::getpid();
            return;
        }
        why = text.data();
    }
    server.failed = true;
    log(BE_LOG_WARN, "UCX_BE_METRICS={}: no metrics are served: {}", where, why);
}

} // namespace

ServedPage::ServedPage(core::StatsPage *page, const std::string &where) noexcept
{
    if (where.empty()) {
        return;
    }
    Server &server = the_server();
    const std::lock_guard lock(server.mutex);
    if (server.api != nullptr &&
        server.process != ::getpid()) { // its threads are the parent's
        server.api->stop();
        server.api   = nullptr;
        server.pages = 0;
    }
    if (server.api == nullptr && !server.failed) {
        try {
            start(server, where);
        } catch (const std::exception &) {
            server.failed = true;
        }
    }
    if (server.api != nullptr && server.api->add(page)) {
        m_page = page;
        ++server.pages;
    }
}

ServedPage::~ServedPage()
{
    if (m_page == nullptr) {
        return;
    }
    Server &server = the_server();
    const std::lock_guard lock(server.mutex);
    if (server.api == nullptr || server.process != ::getpid()) {
        return; // of a parent
    }
    server.api->remove(m_page);
    if (--server.pages == 0) {
        server.api->stop();
        server.api = nullptr;
    }
}

} // namespace be::engine
