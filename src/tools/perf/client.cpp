// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/roles.hpp"

#include "tools/perf/content.hpp"
#include "tools/perf/footprint.hpp"
#include "tools/perf/histogram.hpp"
#include "tools/perf/process.hpp"
#include "tools/perf/runtime.hpp"
#include "tools/perf/sizes.hpp"

#include <byteexpress/byteexpress.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <thread>

#include <time.h>

namespace be::tools {

namespace {

using Clock = std::chrono::steady_clock;

// Every so many operations the whole content is looked at, not only its ends.
constexpr uint64_t thorough_every = 32;

double thread_cpu_seconds()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One operation after the other; what is timed is apart from what is checked.
class Operation {
public:
    virtual ~Operation() = default;

    virtual void prepare(std::mt19937_64 &)
    {
    }
    // Bytes of bodies. Failed ones leave a text.
    virtual uint64_t run(std::string &problem) = 0;
    // Values with wrong content.
    virtual uint64_t check(bool)
    {
        return 0;
    }
};

class Fetch : public Operation {
public:
    Fetch(Runtime &runtime, const PerfOptions &options, const std::string &address) :
        m_table(options.table),
        m_keys(options.keys),
        m_worker(runtime, ps::WorkerOptions{.servers = {{address}}})
    {
    }
    void prepare(std::mt19937_64 &random) override
    {
        for (ps::Key &key : m_keys) {
            key = random() % m_table;
        }
    }
    uint64_t run(std::string &problem) override
    {
        m_pulled       = m_worker.pull(m_keys);
        problem        = m_pulled.text;
        uint64_t bytes = 0;
        for (const Body &body : m_pulled.bodies) {
            bytes += body.size();
        }
        return bytes;
    }
    uint64_t check(bool thorough) override
    {
        uint64_t wrong = 0;
        for (size_t i = 0; i < m_keys.size(); i++) {
            const ps::Value &value = m_pulled.values[i];
            wrong += !value.found || !intact(value.bytes, m_keys[i], thorough);
        }
        return wrong;
    }

private:
    const unsigned m_table;
    std::vector<ps::Key> m_keys;
    ps::Worker m_worker;
    ps::Pulled m_pulled;
};

// Each client pushes to keys of its own, so that they can be read back and checked.
class Push : public Operation {
public:
    Push(Runtime &runtime, const PerfOptions &options, unsigned number,
         const std::string &address, std::mt19937_64 &random) :
        m_worker(runtime, ps::WorkerOptions{.servers = {{address}}})
    {
        Sizes sizes(options.sizes);
        for (unsigned i = 0; i < options.keys; i++) {
            m_keys.push_back((uint64_t{number} << 32) + i);
            m_values.emplace_back(sizes.draw(random));
            fill(m_values.back(), m_keys.back());
            m_bytes += m_values.back().size();
        }
        m_spans.assign(m_values.begin(), m_values.end());
    }
    uint64_t run(std::string &problem) override
    {
        problem = m_worker.push(ps::Rule::assign, m_keys, m_spans).text;
        return m_bytes;
    }
    uint64_t check(bool thorough) override
    {
        if (!thorough) {
            return 0;
        }
        const ps::Pulled pulled = m_worker.pull(m_keys);
        uint64_t wrong          = 0;
        for (size_t i = 0; i < m_keys.size(); i++) {
            wrong += !pulled.ok() || !pulled.values[i].found ||
                     (pulled.values[i].bytes.size() != m_values[i].size()) ||
                     !intact(pulled.values[i].bytes, m_keys[i], true);
        }
        return wrong;
    }

private:
    std::vector<ps::Key> m_keys;
    std::vector<std::vector<std::byte>> m_values;
    std::vector<std::span<const std::byte>> m_spans;
    uint64_t m_bytes = 0;
    ps::Worker m_worker;
};

class Rpc : public Operation {
public:
    Rpc(Runtime &runtime, const PerfOptions &options, std::string method,
        const std::string &address, std::mt19937_64 &random) :
        m_method(std::move(method)),
        m_channel(runtime, to(address)),
        m_request(Sizes(options.sizes).draw(random))
    {
        fill(m_request, 0);
        m_response.resize(std::max<size_t>(m_request.size(), sizeof(uint64_t)));
        m_options.response = m_response;
    }
    uint64_t run(std::string &problem) override
    {
        m_reply = m_channel.call(m_method, Body::borrow(m_request), m_options);
        problem = m_reply.text;
        return m_request.size() + m_reply.body.size();
    }
    uint64_t check(bool thorough) override
    {
        if (m_method == "echo") {
            return (m_reply.body.size() != m_request.size()) ||
                   !intact(m_reply.body.bytes(), 0, thorough);
        }
        uint64_t size = 0;
        if (m_reply.body.size() == sizeof(size)) {
            std::memcpy(&size, m_reply.body.bytes().data(), sizeof(size));
        }
        return size != m_request.size();
    }

private:
    static ChannelOptions to(const std::string &address)
    {
        ChannelOptions options;
        options.addresses = {address};
        return options;
    }
    const std::string m_method;
    Channel m_channel;
    std::vector<std::byte> m_request;
    std::vector<std::byte> m_response;
    CallOptions m_options;
    Reply m_reply;
};

// Something else each time, at random.
class Soak : public Operation {
public:
    Soak(Runtime &runtime, const PerfOptions &options, unsigned number,
         const std::string &address, std::mt19937_64 &random)
    {
        PerfOptions small = options;
        PerfOptions large = options;
        small.sizes       = "64";
        large.sizes       = "1m";
        m_all.push_back(std::make_unique<Fetch>(runtime, options, address));
        m_all.push_back(
                std::make_unique<Push>(runtime, options, number, address, random));
        m_all.push_back(std::make_unique<Rpc>(runtime, small, "echo", address, random));
        m_all.push_back(std::make_unique<Rpc>(runtime, large, "echo", address, random));
        m_all.push_back(std::make_unique<Rpc>(runtime, large, "sink", address, random));
    }
    void prepare(std::mt19937_64 &random) override
    {
        m_now = random() % m_all.size();
        m_all[m_now]->prepare(random);
    }
    uint64_t run(std::string &problem) override
    {
        return m_all[m_now]->run(problem);
    }
    uint64_t check(bool thorough) override
    {
        return m_all[m_now]->check(thorough);
    }

private:
    std::vector<std::unique_ptr<Operation>> m_all;
    size_t m_now = 0;
};

// One line now and then, of the first client.
class Progress {
public:
    Progress(const PerfOptions &options, unsigned number) :
        m_pause((options.workload == "soak" && number == 0) ?
                        std::max(options.seconds / 20, 1.0) :
                        std::numeric_limits<double>::infinity())
    {
    }
    void look(double seconds, const Measured &measured, uint64_t operations)
    {
        if (seconds < m_due) {
            return;
        }
        if (m_due != 0) {
            const Footprint held = read_footprint();
            std::cerr << "soak: " << static_cast<uint64_t>(seconds) << " s, "
                      << operations << " operations, " << measured.failures << " failed, "
                      << measured.corrupted << " wrong, " << (held.resident >> 20)
                      << " MiB, " << held.descriptors << " descriptors" << std::endl;
        }
        m_due = seconds + m_pause;
    }

private:
    const double m_pause;
    double m_due = 0;
};

std::unique_ptr<Operation> make_operation(Runtime &runtime, const PerfOptions &options,
                                          unsigned number, const std::string &address,
                                          std::mt19937_64 &random)
{
    if (options.workload == "fetch") {
        return std::make_unique<Fetch>(runtime, options, address);
    }
    if (options.workload == "push") {
        return std::make_unique<Push>(runtime, options, number, address, random);
    }
    if (options.workload == "soak") {
        return std::make_unique<Soak>(runtime, options, number, address, random);
    }
    if ((options.workload == "incast") ||
        ((options.workload == "mixed") && (number != 0))) {
        return std::make_unique<Rpc>(runtime, options, "sink", address, random);
    }
    PerfOptions small = options;
    if (options.workload == "mixed") {
        small.sizes = "64"; // the victim
    }
    return std::make_unique<Rpc>(runtime, small, "echo", address, random);
}

class Loop {
public:
    Loop(const PerfOptions &options, unsigned number, Operation &operation,
         std::mt19937_64 &random) :
        m_options(options), m_number(number), m_operation(operation), m_random(random)
    {
    }

    Measured run(double seconds)
    {
        const auto start = Clock::now();
        const auto end   = start + to_duration(seconds);
        const double cpu = cpu_seconds();
        double check_cpu = 0;
        auto intended    = start;
        Histogram latency;
        Measured measured;
        Progress progress(m_options, m_number);

        for (auto now = start; now < end; now = Clock::now()) {
            progress.look(std::chrono::duration<double>(now - start).count(), measured,
                          latency.count());
            m_operation.prepare(m_random);
            // Open loop: late because the one before was slow counts as latency, too.
            auto begin = now;
            if (m_options.rate > 0) {
                intended += to_duration(1 / m_options.rate);
                std::this_thread::sleep_until(intended);
                begin = intended;
            } else {
                begin = Clock::now();
            }
            std::string problem;
            const uint64_t bytes = m_operation.run(problem);
            const auto took      = Clock::now() - begin;
            if (!problem.empty()) {
                measured.failures++;
                measured.problem = problem;
                continue;
            }
            latency.add(static_cast<uint64_t>(took.count()));
            measured.bytes += bytes;
            if (m_options.verify) {
                const double before = thread_cpu_seconds();
                measured.corrupted += m_operation.check(
                        latency.count() % thorough_every == 0);
                check_cpu += thread_cpu_seconds() - before;
            }
        }
        measured.operations = latency.count();
        measured.latency    = latency.dump();
        measured.seconds    = std::chrono::duration<double>(Clock::now() - start).count();
        measured.cpu_seconds = cpu_seconds() - cpu - check_cpu;
        return measured;
    }

private:
    static Clock::duration to_duration(double seconds)
    {
        return std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double>(seconds));
    }

    const PerfOptions &m_options;
    const unsigned m_number;
    Operation &m_operation;
    std::mt19937_64 &m_random;
};

} // namespace

int run_client(const PerfOptions &options, unsigned number, const std::string &address)
{
    ParentProcess parent;
    std::mt19937_64 random(options.seed + 1000 + number);
    Runtime runtime(runtime_options(options));
    const auto operation = make_operation(runtime, options, number, address, random);
    Loop loop(options, number, *operation, random);

    loop.run(options.warm_up);
    const TransportCounters counted = read_transport();
    const Footprint held            = read_footprint();
    parent.write_line("ready");
    parent.read_line();
    Measured measured          = loop.run(options.seconds);
    measured.transport         = read_transport().since(counted);
    const Footprint more       = growth(held, read_footprint());
    measured.memory_growth     = more.resident;
    measured.descriptor_growth = more.descriptors;
    if ((options.workload == "mixed") && (number != 0)) {
        measured.latency.clear(); // the victim's is what counts
        measured.operations = 0;
    }
    parent.write_line(nlohmann::json(measured).dump());
    return 0;
}

} // namespace be::tools
