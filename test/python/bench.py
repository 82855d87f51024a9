# SPDX-License-Identifier: BSD-3-Clause
"""Microseconds that a pull of 1 MiB takes, from ADDRESS: the median of some hundred."""
import sys
import time

import byteexpress
import numpy as np

runtime = byteexpress.Runtime()
worker = byteexpress.Worker(runtime, [[sys.argv[1]]])
worker.push("assign", [1], [np.ones(1 << 18, np.float32)])
times = []
for _ in range(500):
    begin = time.perf_counter()
    (value,) = worker.pull([1])
    times.append(time.perf_counter() - begin)
    assert value.size == 1 << 18
print(f"{sorted(times)[len(times) // 2] * 1e6:.1f}")
