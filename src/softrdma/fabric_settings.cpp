// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_settings.h"

#include "key_values.h"
#include "quantity.h"

#include <sstream>

namespace softrdma {
namespace {

constexpr const char *known_keys = "rate, delay, jitter, loss, reorder, buffer, pfc, "
                                   "xoff, xon";

template<class T, class U>
bool take(const std::optional<T> &value, U &result, const key_value &word,
          const char *expected, std::string &error)
{
    if (!value.has_value()) {
        error = word.key + "=" + word.value + ": expected " + expected;
        return false;
    }
    result = *value;
    return true;
}

std::optional<bool> parse_switch(const std::string &text)
{
    return (text == "on")  ? std::optional(true) :
           (text == "off") ? std::optional(false) :
                             std::nullopt;
}

bool apply(const key_value &word, fabric_settings &to, std::string &error)
{
    const std::string &key   = word.key;
    const std::string &value = word.value;
    if (key == "rate") {
        return take(parse_rate(value), to.rate, word, expected_rate, error);
    }
    if (key == "delay") {
        return take(parse_duration(value), to.delay_ns, word, expected_duration, error);
    }
    if (key == "jitter") {
        return take(parse_duration(value), to.jitter_ns, word, expected_duration, error);
    }
    if (key == "loss") {
        return take(parse_probability(value), to.loss, word, expected_probability, error);
    }
    if (key == "reorder") {
        return take(parse_probability(value), to.reorder, word, expected_probability,
                    error);
    }
    if (key == "buffer") {
        return take(parse_bytes(value), to.buffer, word, expected_bytes, error);
    }
    if (key == "xoff") {
        return take(parse_bytes(value), to.xoff, word, expected_bytes, error);
    }
    if (key == "xon") {
        return take(parse_bytes(value), to.xon, word, expected_bytes, error);
    }
    if (key == "pfc") {
        return take(parse_switch(value), to.pfc, word, "on or off", error);
    }
    error = "\"" + key + "\": expected off, or KEY=VALUE with one of " + known_keys;
    return false;
}

// Fills in what depends on other values, and refuses what contradicts them.
bool complete(fabric_settings &to, std::string &error)
{
    constexpr uint64_t smallest_buffer = 16384;
    if (to.buffer == 0) {
        if ((to.xoff != 0) || (to.xon != 0)) {
            error = "xoff and xon: expected buffer=BYTES as well";
            return false;
        }
        return true;
    }
    if (to.rate == 0) {
        error = "buffer=" + std::to_string(to.buffer) +
                ": expected rate=BITS as well: nothing fills it otherwise";
        return false;
    }
    if (to.buffer < smallest_buffer) {
        error = "buffer=" + std::to_string(to.buffer) + ": expected at least " +
                std::to_string(smallest_buffer) + " bytes, four packets";
        return false;
    }
    if (!to.pfc) {
        to.xoff = to.xon = 0;
        return true;
    }
    to.xoff = (to.xoff == 0) ? to.buffer / 2 : to.xoff;
    to.xon  = (to.xon == 0) ? to.xoff / 2 : to.xon;
    if ((to.xon >= to.xoff) || (to.xoff > to.buffer)) {
        error = "xon=" + std::to_string(to.xon) + ", xoff=" + std::to_string(to.xoff) +
                ", buffer=" + std::to_string(to.buffer) +
                ": expected xon below xoff, and xoff not above the buffer";
        return false;
    }
    return true;
}

} // namespace

bool parse_fabric_words(const std::vector<std::string> &words, fabric_settings &settings,
                        std::string &error)
{
    if (words.empty()) {
        error = std::string("nothing is set: expected off, or KEY=VALUE with one of ") +
                known_keys;
        return false;
    }
    bool thresholds = false;
    for (const std::string &text : words) {
        key_value word = to_key_value(text);
        if (text == "off") {
            settings = {};
            continue;
        }
        if ((word.key == "buffer") && !thresholds) {
            settings.xoff = settings.xon = 0; // they follow the new size
        }
        thresholds |= (word.key == "xoff") || (word.key == "xon");
        if (!apply(word, settings, error)) {
            return false;
        }
    }
    return true;
}

bool parse_fabric(const std::vector<std::string> &words, fabric_settings &settings,
                  std::string &error)
{
    fabric_settings result = settings;
    if (!parse_fabric_words(words, result, error) || !complete(result, error)) {
        return false;
    }
    settings = result;
    return true;
}

std::string to_string(const fabric_settings &settings)
{
    if (settings.idle()) {
        return "off";
    }
    std::ostringstream out;
    auto add = [&, first = true](const char *key, auto value, const char *unit) mutable {
        if (value != 0) {
            out << (first ? "" : ",") << key << "=" << value << unit;
            first = false;
        }
    };
    add("rate", double(settings.rate) / 1e6, "M");
    add("delay", settings.delay_ns, "ns");
    add("jitter", settings.jitter_ns, "ns");
    add("loss", settings.loss, "");
    add("reorder", settings.reorder, "");
    add("buffer", settings.buffer, "");
    if (settings.buffer != 0) {
        out << ",pfc=" << (settings.pfc ? "on" : "off");
        add("xoff", settings.xoff, "");
        add("xon", settings.xon, "");
    }
    return out.str();
}

void shared_fabric_settings::store(const fabric_settings &settings)
{
    constexpr auto order = std::memory_order_relaxed;
    m_rate.store(settings.rate, order);
    m_delay.store(settings.delay_ns, order);
    m_jitter.store(settings.jitter_ns, order);
    m_loss.store(settings.loss, order);
    m_reorder.store(settings.reorder, order);
    m_buffer.store(settings.buffer, order);
    m_pfc.store(settings.pfc, order);
    m_xoff.store(settings.xoff, order);
    m_xon.store(settings.xon, order);
}

fabric_settings shared_fabric_settings::load() const
{
    constexpr auto order = std::memory_order_relaxed;
    fabric_settings result;
    result.rate      = m_rate.load(order);
    result.delay_ns  = m_delay.load(order);
    result.jitter_ns = m_jitter.load(order);
    result.loss      = m_loss.load(order);
    result.reorder   = m_reorder.load(order);
    result.buffer    = m_buffer.load(order);
    result.pfc       = m_pfc.load(order);
    result.xoff      = m_xoff.load(order);
    result.xon       = m_xon.load(order);
    return result;
}

} // namespace softrdma
