#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A parameter server in Python: a linear model learnt by two workers.

    be_run python3 parameters.py
"""
import threading

import byteexpress
import numpy as np

FEATURES = 1000
WEIGHTS = 7  # the key


def train(address, truth, seed):
    """One worker: pulls the weights, pushes a gradient."""
    random = np.random.default_rng(seed)
    runtime = byteexpress.Runtime()
    worker = byteexpress.Worker(runtime, [[address]])
    for _ in range(200):
        (weights,) = worker.pull([WEIGHTS], timeout=10)
        inputs = random.standard_normal((64, FEATURES), dtype=np.float32)
        errors = inputs @ (weights - truth)
        gradient = (inputs.T @ errors / len(inputs)).astype(np.float32)
        worker.push("sgd", [WEIGHTS], [gradient], rate=0.02, timeout=10)


def main():
    truth = np.random.default_rng(0).standard_normal(FEATURES).astype(np.float32)
    runtime = byteexpress.Runtime()
    server = byteexpress.Server(runtime)
    parameters = byteexpress.ParameterServer(server)
    server.add("hello", lambda name: b"Hello, " + bytes(name))
    server.start()

    channel = byteexpress.Channel(runtime, [server.address])
    print(bytes(channel.call("hello", b"you", timeout=10)).decode())

    worker = byteexpress.Worker(runtime, [[server.address]])
    worker.push("assign", [WEIGHTS], [np.zeros(FEATURES, np.float32)])
    workers = [threading.Thread(target=train, args=(server.address, truth, seed))
               for seed in (1, 2)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    (weights,) = worker.pull([WEIGHTS])
    error = float(np.abs(weights - truth).max())
    print(f"{len(parameters)} value, largest error {error:.4f}")
    return 0 if error < 0.1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
