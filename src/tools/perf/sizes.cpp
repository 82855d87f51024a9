// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace be::tools {

namespace {

constexpr size_t largest_size = size_t{1} << 30;

// The 99th percentile of the standard normal distribution.
constexpr double z99 = 2.3263478740408408;

} // namespace

size_t parse_size(const std::string &text)
{
    size_t value       = 0;
    const char *end    = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    unsigned shift     = 0;

    if ((error == std::errc()) && (rest + 1 == end)) {
        const char unit = *rest++;
        shift = (unit == 'k' || unit == 'K') ? 10 : (unit == 'm' || unit == 'M') ? 20 : 0;
        if (shift == 0) {
            error = std::errc::invalid_argument;
        }
    }
    if ((error != std::errc()) || (rest != end) || (value > (largest_size >> shift))) {
        throw std::invalid_argument("size '" + text +
                                    "': expected bytes up to 1024m, as 100, 64k or 1m");
    }
    return value << shift;
}

Sizes::Sizes(const std::string &text)
{
    const size_t colon     = text.find(':');
    const std::string kind = (colon == std::string::npos) ? "" : text.substr(0, colon);
    const std::string rest = (colon == std::string::npos) ? text : text.substr(colon + 1);

    if (kind.empty()) {
        m_low = m_high = parse_size(rest);
        return;
    }
    if (kind == "trace") {
        std::ifstream file(rest);
        for (std::string line; std::getline(file, line);) {
            m_trace.push_back(parse_size(line));
        }
        if (m_trace.empty()) {
            throw std::invalid_argument("sizes '" + text + "': no sizes in that file");
        }
        m_kind = Kind::trace;
        m_high = *std::max_element(m_trace.begin(), m_trace.end());
        return;
    }
    const size_t dash = rest.find('-');
    const bool known  = (kind == "uniform") || (kind == "lognormal") || (kind == "zipf");
    if (!known || (dash == std::string::npos)) {
        throw std::invalid_argument("sizes '" + text +
                                    "': expected SIZE, uniform:LOW-HIGH, "
                                    "lognormal:LOW-HIGH, zipf:LOW-HIGH or trace:FILE");
    }
    m_kind = (kind == "uniform")   ? Kind::uniform :
             (kind == "lognormal") ? Kind::lognormal :
                                     Kind::zipf;
    m_low  = parse_size(rest.substr(0, dash));
    m_high = parse_size(rest.substr(dash + 1));
    if ((m_low < 1) || (m_low > m_high)) {
        throw std::invalid_argument("sizes '" + text + "': expected 1 <= LOW <= HIGH");
    }
}

size_t Sizes::draw(std::mt19937_64 &random)
{
    switch (m_kind) {
    case Kind::uniform:
        return std::uniform_int_distribution<size_t>(m_low, m_high)(random);
    case Kind::lognormal: {
        const double low  = std::log(static_cast<double>(m_low));
        const double high = std::log(static_cast<double>(m_high));
        std::normal_distribution<double> normal((low + high) / 2,
                                                (high - low) / (2 * z99));
        const auto size = static_cast<size_t>(std::exp(normal(random)));
        return std::clamp(size, m_low, m_high);
    }
    case Kind::zipf: {
        size_t size = m_low;
        while ((size * 2 <= m_high) && ((random() & 1) != 0)) {
            size *= 2;
        }
        return size;
    }
    case Kind::trace:
        return m_trace[m_at++ % m_trace.size()];
    }
    return m_low;
}

} // namespace be::tools
