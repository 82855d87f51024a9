// SPDX-License-Identifier: BSD-3-Clause

#include "result.hpp"

#include <algorithm>
#include <cstdio>

namespace be::sim {

Percentiles percentiles(std::vector<double> values)
{
    Percentiles result;

    result.count = values.size();
    if (!values.empty()) {
        std::sort(values.begin(), values.end());
        result.p50 = values[values.size() / 2];
        result.p99 = values[std::min(values.size() - 1,
                                     static_cast<std::size_t>(0.99 * values.size()))];
    }
    return result;
}

double jain(const std::vector<double> &values)
{
    double sum = 0, squares = 0;

    for (double value : values) {
        sum += value;
        squares += value * value;
    }
    return (squares == 0) ? unknown : sum * sum / (values.size() * squares);
}

namespace {

void require(std::string &text, bool good, const char *what, double value,
             const char *relation, double bound)
{
    char line[96];

    if (!good) {
        std::snprintf(line, sizeof(line), "%s%s %.4g, expected %s %.4g",
                      text.empty() ? "" : "; ", what, value, relation, bound);
        text += line;
    }
}

} // namespace

/* Written so that an unknown value misses its bound. */
std::string missed(const Result &result, const Bounds &bounds)
{
    std::string text;

    require(text, result.pauses == 0, "pauses", static_cast<double>(result.pauses), "=",
            0);
    require(text, result.rnr == 0, "RNR NAKs", static_cast<double>(result.rnr), "=", 0);
    require(text, result.finished, "finished", 0, "=", 1);
    if (bounds.goodput != 0) {
        require(text, result.goodput >= bounds.goodput, "goodput", result.goodput,
                ">=", bounds.goodput);
    }
    if (bounds.jain != 0) {
        require(text, result.jain >= bounds.jain, "Jain", result.jain, ">=", bounds.jain);
    }
    if (bounds.victim != 0) {
        require(text, result.victim_ratio() <= bounds.victim, "victim p99 / idle",
                result.victim_ratio(), "<=", bounds.victim);
    }
    return text;
}

} // namespace be::sim
