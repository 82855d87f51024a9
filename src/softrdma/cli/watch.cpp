// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/watch.h"

#include "softrdma/cli/report.h"
#include "softrdma/clock.h"
#include "softrdma/counters.h"

#include <csignal>
#include <iomanip>
#include <iostream>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace softrdma::cli {
namespace {

volatile sig_atomic_t interrupted = 0;

using json   = nlohmann::ordered_json;
using sample = std::map<std::string, uint64_t>;
// Process and device; the generation tells a slot's next process.
using port_key = std::pair<uint64_t, uint32_t>;

sample take_sample(port_shared &port)
{
    sample result;
    for (const counter_view &entry : list_counters(port)) {
        result[shown_name(entry.name, entry.unit)] = entry.source->value();
    }
    return result;
}

struct rates {
    const sample &before;
    const sample &now;
    double seconds;

    double operator()(const std::string &name) const
    {
        auto old = before.find(name);
        return double(now.at(name) - ((old == before.end()) ? 0 : old->second)) / seconds;
    }

    double paused_ms() const
    {
        double ns = 0;
        for (uint32_t priority = 0; priority < priorities; ++priority) {
            ns += (*this)("rx_prio" + std::to_string(priority) + "_pause_ns");
        }
        return ns * 1e-6;
    }
};

void print_header()
{
    std::cout << std::left << std::setw(9) << "Process" << std::setw(18) << "Command"
              << std::setw(11) << "Device" << std::right << std::setw(10) << "send MB/s"
              << std::setw(11) << "packet/s" << std::setw(10) << "recv MB/s"
              << std::setw(11) << "packet/s" << std::setw(9) << "pause%" << std::setw(9)
              << "drop/s" << std::setw(9) << "retry/s" << std::setw(9) << "RNR/s"
              << "\n";
}

void print_row(const port_view &view, const rates &rate)
{
    constexpr double mega = 1e6;
    std::cout << std::left << std::setw(9) << view.owner->pid << std::setw(18)
              << view.owner->command << std::setw(11) << device_name(view.device)
              << std::right << std::fixed << std::setprecision(1) << std::setw(10)
              << rate("port_xmit_bytes") / mega << std::setprecision(0) << std::setw(11)
              << rate("port_xmit_packets") << std::setprecision(1) << std::setw(10)
              << rate("port_rcv_bytes") / mega << std::setprecision(0) << std::setw(11)
              << rate("port_rcv_packets") << std::setprecision(1) << std::setw(9)
              << rate.paused_ms() / 10 << std::setprecision(0) << std::setw(9)
              << rate("dropped_packets") << std::setw(9)
              << rate("local_ack_timeout_err") + rate("packet_seq_err") << std::setw(9)
              << rate("rnr_nak_retry_err") << "\n";
}

json json_row(const port_view &view, const rates &rate)
{
    json row{{"pid", view.owner->pid},
             {"command", view.owner->command},
             {"device", device_name(view.device)}};
    json &per_second = row["per_second"];
    for (const auto &[name, value] : rate.now) {
        per_second[name] = rate(name);
    }
    return row;
}

// Until then or until interrupted.
void sleep_until(uint64_t when)
{
    timespec at{static_cast<time_t>(when / 1'000'000'000),
                static_cast<long>(when % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

} // namespace

void watch(domain &where, const watch_options &options)
{
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);

    std::map<port_key, sample> before;
    for (const port_view &view : where.ports(options.wanted)) {
        before[{view.owner->generation, view.device}] = take_sample(*view.port);
    }
    uint64_t last = now_ns();
    for (uint64_t round = 0; (options.rounds == 0) || (round < options.rounds); ++round) {
        sleep_until(last + options.interval_ns);
        if (interrupted != 0) {
            return;
        }
        where.refresh();
        uint64_t now = now_ns();
        std::map<port_key, sample> samples;
        json line{{"schema_version", schema_version}, {"ports", json::array()}};
        if (!options.json && (round % 20 == 0)) {
            print_header();
        }
        for (const port_view &view : where.ports(options.wanted)) {
            port_key key{view.owner->generation, view.device};
            samples[key] = take_sample(*view.port);
            rates rate{before[key], samples[key], double(now - last) * 1e-9};
            if (options.json) {
                line["ports"].push_back(json_row(view, rate));
            } else {
                print_row(view, rate);
            }
        }
        if (options.json) {
            std::cout << line.dump() << "\n";
        }
        std::cout.flush();
        if (!options.folder.empty()) {
            export_counters(where, options.folder);
        }
        before.swap(samples);
        last = now;
    }
}

} // namespace softrdma::cli
