// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/ps.hpp>

#include "adapter/ps/messages.hpp"
#include "adapter/random.hpp"

#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

namespace be::ps {

namespace {

// Lamping and Veach, "A fast, minimal memory, consistent hash algorithm".
size_t jump_hash(uint64_t key, size_t buckets) noexcept
{
    int64_t bucket = -1;
    int64_t next   = 0;

    key *= 0x9E3779B97F4A7C15u; // neighbouring keys differ in few bits
    key ^= key >> 32;
    while (next < static_cast<int64_t>(buckets)) {
        bucket = next;
        key    = key * 2862933555777941757u + 1;
        next   = static_cast<int64_t>(
                static_cast<double>(bucket + 1) *
                (2147483648.0 / static_cast<double>((key >> 33) + 1)));
    }
    return static_cast<size_t>(bucket);
}

// The numbers of pushes to one server, and which of them are unanswered.
class Sequence {
public:
    void begin(uint64_t &sequence, uint64_t &floor)
    {
        std::lock_guard lock(m_mutex);
        sequence = ++m_last;
        m_open.insert(sequence);
        floor = *m_open.begin();
    }
    void end(uint64_t sequence)
    {
        std::lock_guard lock(m_mutex);
        m_open.erase(sequence);
    }

private:
    std::mutex m_mutex;
    uint64_t m_last = 0;
    std::set<uint64_t> m_open;
};

} // namespace

class Worker::Impl {
public:
    struct Remote {
        std::unique_ptr<Channel> channel;
        Sequence sequence;
    };

    // The part of a batch that goes to one server.
    struct Share {
        std::vector<size_t> places; // of its keys, in the batch
        Body request;
        uint64_t sequence = 0;
    };

    Impl(Runtime &runtime, const WorkerOptions &options) : remotes(options.servers.size())
    {
        for (size_t i = 0; i < remotes.size(); i++) {
            ChannelOptions of_server = options.channel;
            of_server.addresses      = options.servers[i];
            remotes[i].channel       = std::make_unique<Channel>(runtime, of_server);
        }
    }

    std::vector<Share> divide(std::span<const Key> keys) const
    {
        std::vector<Share> shares(remotes.size());
        for (size_t i = 0; i < keys.size(); i++) {
            shares[jump_hash(keys[i], remotes.size())].places.push_back(i);
        }
        return shares;
    }

    // Calls all servers that have a share; `answer(server, reply)` for each.
    template<class Answer>
    void call(const char *method, std::vector<Share> &shares, CallOptions options,
              Answer &&answer)
    {
        std::vector<std::pair<size_t, Call>> calls;
        size_t last = shares.size();

        options.idempotent = true; // a push because of its number
        options.response   = {};
        for (size_t i = 0; i < shares.size(); i++) {
            if (shares[i].places.empty()) {
                continue;
            }
            if (last != shares.size()) {
                calls.emplace_back(last, remotes[last].channel->start(
                                                 method, std::move(shares[last].request),
                                                 options));
            }
            last = i;
        }
        if (last != shares.size()) { // the one that is waited for in the fastest way
            answer(last,
                   remotes[last].channel->call(method, std::move(shares[last].request),
                                               options));
        }
        for (auto &[server, call] : calls) {
            answer(server, call.get());
        }
    }

    std::vector<Remote> remotes;
    const uint64_t id = adapter::random_number();
};

Worker::Worker(Runtime &runtime, const WorkerOptions &options)
{
    if (options.servers.empty()) {
        throw Error(Status::closed,
                    "ps::WorkerOptions::servers is empty: expected at least one server");
    }
    m_impl = std::make_unique<Impl>(runtime, options);
}

Worker::~Worker() = default;

size_t Worker::server_of(Key key) const noexcept
{
    return jump_hash(key, m_impl->remotes.size());
}

namespace {

// Fills in the values of one server's answer. False: malformed.
bool read_answer(const Body &body, const std::vector<size_t> &places,
                 std::vector<Value> &values)
{
    Reader reader(body.bytes());
    uint64_t count = 0;
    std::span<const std::byte> entries;

    if (!reader.read(count) || (count != places.size()) ||
        !reader.take(count, sizeof(Entry), entries) ||
        !lengths_match(entries, count, reader.rest().size())) {
        return false;
    }
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        const Entry entry = at<Entry>(entries, i);
        Value &value      = values[places[i]];
        value.found       = entry.length != absent;
        value.version     = entry.key;
        if (value.found) {
            value.bytes = reader.rest().subspan(offset, entry.length);
            offset += entry.length;
        }
    }
    return true;
}

} // namespace

Pulled Worker::pull(std::span<const Key> keys, const CallOptions &options)
{
    Pulled pulled;
    auto shares = m_impl->divide(keys);

    for (Impl::Share &share : shares) {
        std::vector<std::byte> request(sizeof(uint64_t) * (1 + share.places.size()));
        const uint64_t count = share.places.size();
        std::memcpy(request.data(), &count, sizeof(count));
        for (size_t i = 0; i < share.places.size(); i++) {
            std::memcpy(request.data() + sizeof(uint64_t) * (i + 1),
                        &keys[share.places[i]], sizeof(Key));
        }
        share.request = Body::take(std::move(request));
    }
    pulled.values.resize(keys.size());
    m_impl->call(pull_method, shares, options, [&](size_t server, Reply reply) {
        if (reply.ok() &&
            !read_answer(reply.body, shares[server].places, pulled.values)) {
            reply.status = Status::protocol_error;
            reply.text   = "malformed answer to a pull";
        }
        if (!reply.ok() && pulled.ok()) {
            pulled.status = reply.status;
            pulled.text   = "server " + std::to_string(server) + ": " + reply.text;
        }
        pulled.bodies.push_back(std::move(reply.body));
    });
    if (!pulled.ok()) {
        pulled.values.clear();
    }
    return pulled;
}

Pushed Worker::push(Rule rule, std::span<const Key> keys,
                    std::span<const std::span<const std::byte>> values, float rate,
                    const CallOptions &options)
{
    if (keys.size() != values.size()) {
        throw std::invalid_argument(
                "be::ps::Worker::push: " + std::to_string(keys.size()) + " keys and " +
                std::to_string(values.size()) + " values");
    }
    Pushed pushed;
    auto shares = m_impl->divide(keys);

    for (size_t server = 0; server < shares.size(); server++) {
        Impl::Share &share = shares[server];
        if (share.places.empty()) {
            continue;
        }
        PushHeader header{.worker   = m_impl->id,
                          .sequence = 0,
                          .floor    = 0,
                          .rule     = static_cast<uint32_t>(rule),
                          .rate     = rate,
                          .count    = share.places.size()};
        m_impl->remotes[server].sequence.begin(header.sequence, header.floor);
        share.sequence = header.sequence;
        std::vector<std::byte> front(sizeof(header) + header.count * sizeof(Entry));
        std::memcpy(front.data(), &header, sizeof(header));
        for (size_t i = 0; i < header.count; i++) {
            const size_t place = share.places[i];
            const Entry entry{keys[place], values[place].size()};
            std::memcpy(front.data() + sizeof(header) + i * sizeof(Entry), &entry,
                        sizeof(entry));
        }
        share.request = Body::take(std::move(front));
        for (const size_t place : share.places) {
            share.request.append(Body::borrow(values[place]));
        }
        share.request = share.request.flat();
    }
    m_impl->call(push_method, shares, options, [&](size_t server, Reply reply) {
        m_impl->remotes[server].sequence.end(shares[server].sequence);
        uint64_t mismatched = 0;
        if (reply.ok()) {
            Reader reader(reply.body.bytes());
            if (!reader.read(mismatched)) {
                reply.status = Status::protocol_error;
                reply.text   = "malformed answer to a push";
            }
        }
        pushed.mismatched += mismatched;
        if (!reply.ok() && pushed.ok()) {
            pushed.status = reply.status;
            pushed.text   = "server " + std::to_string(server) + ": " + reply.text;
        }
    });
    return pushed;
}

} // namespace be::ps
