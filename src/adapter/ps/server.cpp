// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/ps.hpp>

#include "adapter/block_pool.hpp"
#include "adapter/ps/messages.hpp"
#include "adapter/ps/push_log.hpp"
#include "adapter/ps/snapshot.hpp"
#include "adapter/ps/table.hpp"

#include <atomic>
#include <stdexcept>

namespace be::ps {

class Server::Impl {
public:
    explicit Impl(const ServerOptions &options) :
        table(options.update), m_options(options)
    {
    }

    Body pull(const Request &request);
    Body push(const Request &request);

    Table table;
    std::atomic<uint64_t> repeated = 0;

private:
    std::shared_ptr<PushLog> log_of(uint64_t worker);

    const ServerOptions m_options;
    std::mutex m_mutex;
    std::unordered_map<uint64_t, std::shared_ptr<PushLog>> m_logs;
};

// Several values are copied side by side: one transfer of much memory that is already known
// to the network is faster than many small pieces. One goes as it lies in the table.
Body Server::Impl::pull(const Request &request)
{
    Reader reader(request.body().bytes());
    uint64_t count = 0;
    std::span<const std::byte> keys;

    if (!reader.read(count) || !reader.take(count, sizeof(Key), keys) ||
        !reader.rest().empty()) {
        throw std::invalid_argument("malformed pull");
    }
    std::vector<Stored> values;
    values.reserve(count);
    size_t size = sizeof(uint64_t) + count * sizeof(Entry);
    for (size_t i = 0; i < count; i++) {
        values.push_back(table.find(at<Key>(keys, i)));
        size += values.back().size();
    }
    if ((count == 1) && values[0]) {
        return {values[0].owner(), values[0].answer()};
    }
    auto memory    = adapter::pooled(size);
    std::byte *to  = memory.get();
    const auto put = [&to](const void *from, size_t length) {
        if (length != 0) {
            std::memcpy(to, from, length);
            to += length;
        }
    };
    put(&count, sizeof(count));
    for (const Stored &value : values) {
        const Entry entry{value.version(), value ? value.size() : absent};
        put(&entry, sizeof(entry));
    }
    for (const Stored &value : values) {
        put(value.bytes().data(), value.size());
    }
    return {memory, {memory.get(), size}};
}

std::shared_ptr<PushLog> Server::Impl::log_of(uint64_t worker)
{
    std::lock_guard lock(m_mutex);
    const auto at = m_logs.find(worker);
    if (at != m_logs.end()) {
        return at->second;
    }
    if (m_logs.size() >= m_options.max_workers) {
        throw std::length_error("max_workers of " +
                                std::to_string(m_options.max_workers) + " reached");
    }
    return m_logs.emplace(worker, std::make_shared<PushLog>()).first->second;
}

Body Server::Impl::push(const Request &request)
{
    Reader reader(request.body().bytes());
    PushHeader header{};
    std::span<const std::byte> entries;

    // All is checked before the first value is changed.
    if (!reader.read(header) || !reader.take(header.count, sizeof(Entry), entries) ||
        !lengths_match(entries, header.count, reader.rest().size()) ||
        (header.rule > static_cast<uint32_t>(Rule::user))) {
        throw std::invalid_argument("malformed push");
    }
    const auto rule = static_cast<Rule>(header.rule);
    if ((rule == Rule::user) && !m_options.update) {
        throw std::invalid_argument("this server has no update function");
    }
    const auto log      = log_of(header.worker);
    uint64_t mismatched = 0;
    std::lock_guard lock(log->mutex);
    switch (log->look(header.sequence, header.floor, &mismatched)) {
    case PushLog::Verdict::fresh: {
        size_t offset = 0;
        for (size_t i = 0; i < header.count; i++) {
            const Entry entry = at<Entry>(entries, i);
            if (entry.length == absent) {
                continue;
            }
            mismatched += !table.apply(entry.key, rule, header.rate,
                                       reader.rest().subspan(offset, entry.length));
            offset += entry.length;
        }
        log->note(header.sequence, mismatched);
        break;
    }
    case PushLog::Verdict::repeated:
        repeated.fetch_add(1, std::memory_order_relaxed);
        break;
    case PushLog::Verdict::refused:
        throw std::invalid_argument("a push that was answered before, or more than " +
                                    std::to_string(PushLog::window) +
                                    " unanswered ones of a worker");
    }
    return Body::copy(std::as_bytes(std::span(&mismatched, 1)));
}

Server::Server(be::Server &server, const ServerOptions &options) :
    m_impl(std::make_shared<Impl>(options))
{
    if (options.max_workers == 0) {
        throw Error(Status::closed,
                    "ps::ServerOptions::max_workers 0: expected at least 1");
    }
    server.add(pull_method,
               [impl = m_impl](const Request &request) { return impl->pull(request); });
    server.add(push_method,
               [impl = m_impl](const Request &request) { return impl->push(request); });
}

Server::~Server() = default;

size_t Server::size() const
{
    return m_impl->table.size();
}

bool Server::get(Key key, std::vector<std::byte> &value) const
{
    const Stored stored = m_impl->table.find(key);
    if (stored) {
        value.assign(stored.bytes().begin(), stored.bytes().end());
    }
    return static_cast<bool>(stored);
}

void Server::set(Key key, std::span<const std::byte> value)
{
    m_impl->table.apply(key, Rule::assign, 0, value);
}

uint64_t Server::repeated() const noexcept
{
    return m_impl->repeated;
}

void Server::save(const std::string &path) const
{
    save_table(m_impl->table, path);
}

void Server::load(const std::string &path)
{
    load_table(m_impl->table, path);
}

} // namespace be::ps
