// SPDX-License-Identifier: BSD-3-Clause
//
// What the fabric does to the traffic of a port, as people write it ("rate=10G,delay=2us") and as ports
// share it. docs/softrdma-fabric.md has the formulas.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace softrdma {

struct fabric_settings {
    uint64_t rate     = 0; // of the port's line, either way, bits per second; 0: no limit
    uint64_t delay_ns = 0; // between port and switch, one way
    uint64_t jitter_ns = 0; // at most so much more, each message
    double loss        = 0; // share of the packets, either way
    double reorder     = 0; // share of the packets that arrive out of sequence
    uint64_t buffer = 0; // bytes of the switch for packets toward the port; 0: no limit
    bool pfc        = true; // pause the senders rather than drop
    uint64_t xoff   = 0; // bytes buffered that stop the senders; 0: half of the buffer
    uint64_t xon    = 0; // bytes buffered that let them go on; 0: half of xoff

    bool idle() const
    {
        return (rate == 0) && (delay_ns == 0) && (jitter_ns == 0) && (loss == 0) &&
               (reorder == 0) && (buffer == 0);
    }
};

// Changes what the words ("key=value", or "off" for all of it) say. False with a message in `error`, and
// `settings` as it was.
bool parse_fabric(const std::vector<std::string> &words, fabric_settings &settings,
                  std::string &error);

// The first half of that: reads the words, but does not ask whether the whole makes sense.
bool parse_fabric_words(const std::vector<std::string> &words, fabric_settings &settings,
                        std::string &error);

// The words that parse_fabric() makes this of; "off" for none.
std::string to_string(const fabric_settings &settings);

// In shared memory: changed without a lock, so that a mixture may be read for a moment, which does no harm.
class shared_fabric_settings {
public:
    void store(const fabric_settings &settings);
    fabric_settings load() const;

private:
    std::atomic<uint64_t> m_rate, m_delay, m_jitter, m_buffer, m_xoff, m_xon;
    std::atomic<double> m_loss, m_reorder;
    std::atomic<bool> m_pfc;
};

} // namespace softrdma
