// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A parameter server: values of any size under 64-bit keys, kept by one or more servers,
 * pulled and pushed in batches.
 */
#pragma once

#include <byteexpress/channel.hpp>
#include <byteexpress/server.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace be::ps {

/** Names a value. */
using Key = std::uint64_t;

/** What a push does to a value. The numbers are part of the protocol. */
enum class Rule : std::uint32_t {
    assign = 0, //< value = pushed bytes
    sum    = 1, //< value += pushed, both arrays of float
    sgd    = 2, //< value -= rate * pushed, both arrays of float
    user   = 3, //< ServerOptions::update
};

/** What one server of parameters is made with. */
struct ServerOptions {
    /**
     * For Rule::user; runs with the value's part of the table locked. `value` is a copy, of
     * any length afterwards, that takes the value's place when it returns.
     */
    std::function<void(Key key, std::vector<std::byte> &value,
                       std::span<const std::byte> pushed, float rate)>
            update = {};

    /** Workers that push, of all time: at least 1. Their records are never dropped. */
    std::size_t max_workers = 65536;
};

/**
 * One server's part of the parameters. Adds the methods "be.ps.pull" and "be.ps.push" to
 * an RPC server, which is started afterwards.
 *
 * Threads: any function from any thread.
 */
class BE_API Server {
public:
    /** @throws Error when `server` was started, or has these methods. */
    explicit Server(be::Server &server, const ServerOptions &options = {});
    ~Server();
    Server(const Server &)            = delete;
    Server &operator=(const Server &) = delete;

    /** Keys that have a value. */
    std::size_t size() const;

    /** False: no such key. `value` is replaced. */
    bool get(Key key, std::vector<std::byte> &value) const;

    /** As a push with Rule::assign. */
    void set(Key key, std::span<const std::byte> value);

    /** Pushes that came again, after their first answer was lost, and changed nothing. */
    std::uint64_t repeated() const noexcept;

    /**
     * Writes all values to `path`, replacing a file there only when all is written. Pushes
     * go on meanwhile; each value is of one moment, all of them need not be.
     *
     * @throws std::system_error naming the file.
     */
    void save(const std::string &path) const;

    /**
     * Adds the values of a file that save() wrote.
     *
     * @throws std::runtime_error naming the file and what is wrong with it; then nothing
     *         was changed.
     */
    void load(const std::string &path);

private:
    class Impl;
    std::shared_ptr<Impl> m_impl;
};

/** Where a worker finds the parameters. */
struct WorkerOptions {
    /**
     * The servers, each with the addresses that it can be reached at. The same list, in
     * the same order, for all workers: a key belongs to a server by its place there.
     */
    std::vector<std::vector<std::string>> servers;

    /** Of each server's channel; addresses is ignored. */
    ChannelOptions channel = {};
};

/** A value that was pulled. */
struct Value {
    bool found            = false; //< the key has a value
    std::uint64_t version = 0; //< pushes that have changed it
    std::span<const std::byte> bytes; //< valid as long as the Pulled lives

    /** The bytes as numbers; too short a rest is left out. */
    template<class T>
    std::span<const T> as() const noexcept
    {
        return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
    }
};

/** What a pull gives. */
struct Pulled {
    Status status = Status::ok; //< not ok: of the first server that failed
    std::string text; //< why it is not ok, for people
    std::vector<Value> values; //< in the order of the keys; empty unless ok
    std::vector<Body> bodies; //< what the values lie in

    /** It succeeded on every server. */
    bool ok() const noexcept
    {
        return status == Status::ok;
    }
};

/** What a push gives. */
struct Pushed {
    Status status = Status::ok; //< not ok: of the first server that failed
    std::string text; //< why it is not ok, for people

    /** Keys that were left as they are, because sum or sgd found another length. */
    std::uint64_t mismatched = 0;

    /** It succeeded on every server. */
    bool ok() const noexcept
    {
        return status == Status::ok;
    }
};

/**
 * Pulls and pushes. A key is looked after by one server (jump consistent hashing: a
 * further server at the end of the list takes over its share of the keys and moves no
 * others).
 *
 * A push is applied exactly once by each server while that server lives: it carries a
 * number of this worker, which is tried again until it is answered, and the server leaves
 * out what it has applied.
 *
 * Threads: any function from any thread.
 */
class BE_API Worker {
public:
    /** Does not connect. @throws Error naming the option. */
    Worker(Runtime &runtime, const WorkerOptions &options);
    ~Worker();
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    /** The values of `keys`. Of `options`, idempotent and response are ignored. */
    Pulled pull(std::span<const Key> keys, const CallOptions &options = {});

    /**
     * @param rule     What becomes of the values there.
     * @param keys     Which values.
     * @param values   One for each key; sent from where they are.
     * @param rate     For Rule::sgd and Rule::user.
     * @param options  idempotent and response are ignored.
     *
     * @throws std::invalid_argument when there are not as many values as keys.
     */
    Pushed push(Rule rule, std::span<const Key> keys,
                std::span<const std::span<const std::byte>> values, float rate = 1,
                const CallOptions &options = {});

    /** Place in the list of servers of the one that keeps `key`. */
    std::size_t server_of(Key key) const noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace be::ps
