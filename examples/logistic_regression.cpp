// SPDX-License-Identifier: BSD-3-Clause
//
// Two parameter servers and four workers that learn to tell two clouds of points apart,
// each worker with points of its own.
//
//     be_run ./logistic_regression

#include <byteexpress/byteexpress.hpp>

#include <cmath>
#include <iostream>
#include <random>
#include <thread>

namespace {

constexpr unsigned servers    = 2;
constexpr unsigned workers    = 4;
constexpr unsigned dimensions = 16;
constexpr unsigned blocks     = 4; // the weights are kept under so many keys
constexpr unsigned points     = 500; // of a worker
constexpr unsigned rounds     = 60;

using Weights = std::vector<float>; // dimensions, then the bias in a block of its own

struct Point {
    float x[dimensions];
    float label; // 0 or 1
};

std::vector<Point> make_points(unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> noise;
    std::vector<Point> all(points);
    for (Point &point : all) {
        point.label = static_cast<float>(random() & 1);
        for (unsigned d = 0; d < dimensions; d++) {
            const float center = ((d % 2 == 0) ? 0.5f : -0.5f) * (2 * point.label - 1);
            point.x[d]         = center + noise(random);
        }
    }
    return all;
}

float predict(const Weights &weights, const Point &point)
{
    float sum = weights[dimensions];
    for (unsigned d = 0; d < dimensions; d++) {
        sum += weights[d] * point.x[d];
    }
    return 1 / (1 + std::exp(-sum));
}

std::vector<be::ps::Key> keys()
{
    std::vector<be::ps::Key> all;
    for (unsigned i = 0; i <= blocks; i++) {
        all.push_back(i);
    }
    return all;
}

Weights pull(be::ps::Worker &worker)
{
    const be::ps::Pulled pulled = worker.pull(keys());
    if (!pulled.ok()) {
        throw std::runtime_error(pulled.text);
    }
    Weights weights;
    for (unsigned i = 0; i <= blocks; i++) {
        const auto part = pulled.values[i].as<float>();
        weights.insert(weights.end(), part.begin(), part.end());
    }
    weights.resize(dimensions + 1); // before the first push there are none
    return weights;
}

void push(be::ps::Worker &worker, const Weights &gradient)
{
    constexpr unsigned block = dimensions / blocks;
    const auto bytes         = std::as_bytes(std::span(gradient));
    std::vector<std::span<const std::byte>> parts;
    for (unsigned i = 0; i < blocks; i++) {
        parts.push_back(bytes.subspan(i * block * sizeof(float), block * sizeof(float)));
    }
    parts.push_back(bytes.last(sizeof(float)));
    const be::ps::Pushed pushed = worker.push(be::ps::Rule::sgd, keys(), parts, 0.5f);
    if (!pushed.ok()) {
        throw std::runtime_error(pushed.text);
    }
}

void train(be::ps::Worker &worker, const std::vector<Point> &data)
{
    for (unsigned round = 0; round < rounds; round++) {
        const Weights weights = pull(worker);
        Weights gradient(dimensions + 1);
        for (const Point &point : data) {
            const float error = (predict(weights, point) - point.label) / points;
            for (unsigned d = 0; d < dimensions; d++) {
                gradient[d] += error * point.x[d];
            }
            gradient[dimensions] += error;
        }
        push(worker, gradient);
    }
}

} // namespace

int main()
{
    be::Runtime runtime;
    std::vector<std::unique_ptr<be::Server>> rpc;
    std::vector<std::unique_ptr<be::ps::Server>> tables;
    be::ps::WorkerOptions options;
    for (unsigned i = 0; i < servers; i++) {
        rpc.push_back(std::make_unique<be::Server>(runtime));
        tables.push_back(std::make_unique<be::ps::Server>(*rpc.back()));
        rpc.back()->start();
        options.servers.push_back({rpc.back()->address()});
    }

    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; i++) {
        threads.emplace_back([&, i] {
            be::ps::Worker worker(runtime, options);
            train(worker, make_points(i + 1));
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }

    be::ps::Worker worker(runtime, options);
    const Weights weights = pull(worker);
    unsigned right        = 0;
    for (const Point &point : make_points(1000)) { // that nobody has learned from
        right += (predict(weights, point) > 0.5f) == (point.label > 0.5f);
    }
    const float accuracy = static_cast<float>(right) / points;
    std::cout << "accuracy " << accuracy << "\n";
    return (accuracy > 0.9f) ? 0 : 1;
}
