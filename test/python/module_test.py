# SPDX-License-Identifier: BSD-3-Clause
"""The module byteexpress: arrays in and out without a copy, errors, threads."""
import gc
import threading
import unittest

import byteexpress as be
import numpy as np


class Rpc(unittest.TestCase):
    def setUp(self):
        self.runtime = be.Runtime()
        self.server = be.Server(self.runtime)
        self.server.add("echo", lambda body: body)
        self.server.add("nothing", lambda body: None)
        self.server.add("wrong", lambda body: 5)
        self.server.add("fails", self.fail_on_purpose)
        self.server.start()
        self.clients = be.Runtime()
        self.channel = be.Channel(self.clients, [self.server.address])

    @staticmethod
    def fail_on_purpose(_):
        raise KeyError("on purpose")

    def test_bytes_and_arrays(self):
        for body in (b"", b"hello", bytearray(b"x" * 100000), memoryview(b"view")):
            self.assertEqual(bytes(self.channel.call("echo", body)), bytes(body))
        sent = np.arange(300000, dtype=np.float64).reshape(300, 1000)
        got = self.channel.call("echo", sent, dtype=np.float64)
        np.testing.assert_array_equal(got.reshape(300, 1000), sent)
        self.assertEqual(self.channel.call("nothing").size, 0)

    def test_results_are_of_the_network_and_stay(self):
        got = self.channel.call("echo", np.arange(1000000, dtype=np.uint8))
        self.assertFalse(got.flags.owndata)
        self.assertFalse(got.flags.writeable)
        part = got[10:20]
        del got
        gc.collect()
        self.channel.call("echo", np.zeros(1000000, np.uint8))
        np.testing.assert_array_equal(part, np.arange(10, 20, dtype=np.uint8))

    def test_the_answer_lies_in_out(self):
        out = np.zeros(1000, np.float32)
        sent = np.arange(600, dtype=np.float32)
        got = self.channel.call("echo", sent, out=out, dtype=np.float32)
        self.assertTrue(np.shares_memory(got, out))
        np.testing.assert_array_equal(out[:600], sent)
        with self.assertRaisesRegex(be.Error, "too_large.*4000"):
            self.channel.call("echo", np.zeros(1001, np.float32), out=out)

    def test_errors_say_what_is_wrong(self):
        with self.assertRaisesRegex(be.Error, "handler_failed: KeyError: 'on purpose'"):
            self.channel.call("fails")
        with self.assertRaisesRegex(be.Error, "result of a handler of type int"):
            self.channel.call("wrong")
        with self.assertRaisesRegex(be.Error, "no_such_method: no method 'none'"):
            self.channel.call("none")
        with self.assertRaisesRegex(ValueError, "body of type ndarray.*contiguous"):
            self.channel.call("echo", np.zeros((10, 10))[:, ::2])
        with self.assertRaisesRegex(ValueError, "out of type bytes.*written"):
            self.channel.call("echo", b"", out=b"fixed")
        with self.assertRaisesRegex(ValueError, "timeout -1"):
            self.channel.call("echo", b"", timeout=-1)
        with self.assertRaisesRegex(be.Error, "deadline_exceeded"):
            self.channel.call("echo", b"", timeout=0)
        with self.assertRaisesRegex(ValueError, "progress 'fast'"):
            be.Runtime(progress="fast")
        with self.assertRaisesRegex(be.Error, "threads 0"):
            be.Runtime(threads=0)
        with self.assertRaisesRegex(be.Error, "5 bytes: expected 16 to 1024"):
            be.Runtime(token="short")
        with self.assertRaisesRegex(be.Error, "'nowhere'"):
            be.Channel(self.runtime, ["nowhere"])

    def test_many_threads_and_handlers_that_call(self):
        bad = []

        def work(seed):
            channel = be.Channel(self.clients, [self.server.address])
            for i in range(100):
                sent = np.full(5000, seed * 1000 + i, np.int64)
                if not np.array_equal(channel.call("echo", sent, dtype=np.int64), sent):
                    bad.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(bad, [])

    def test_everything_may_end_in_any_order(self):
        del self.clients
        gc.collect()
        with self.assertRaisesRegex(be.Error, "closed"):
            self.channel.call("echo")
        self.assertTrue(self.server.drain(5))


class Parameters(unittest.TestCase):
    def setUp(self):
        self.runtime = be.Runtime()
        self.servers = [be.Server(self.runtime) for _ in range(2)]
        self.parameters = [be.ParameterServer(server) for server in self.servers]
        for server in self.servers:
            server.start()
        self.worker = be.Worker(self.runtime, [[s.address] for s in self.servers])

    def test_push_and_pull(self):
        keys = np.arange(100, dtype=np.uint64)
        values = [np.full(int(k) * 10 + 1, k, np.float32) for k in keys]
        self.assertEqual(self.worker.push("assign", keys, values), 0)
        self.assertEqual(self.worker.push("sum", keys, values), 0)
        self.assertEqual(sum(len(p) for p in self.parameters), 100)
        pulled = self.worker.pull(list(keys) + [1000])
        self.assertIsNone(pulled[100])
        for value, got in zip(values, pulled):
            self.assertFalse(got.flags.owndata)
            np.testing.assert_array_equal(got, 2 * value)
        one = pulled[50]
        del pulled
        gc.collect()
        np.testing.assert_array_equal(one, 2 * values[50])
        self.assertEqual(self.worker.push("sgd", [1], [np.ones(99, np.float32)]), 1)

    def test_errors_say_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "rule 'mean'"):
            self.worker.push("mean", [1], [b"1234"])
        with self.assertRaises(ValueError):
            self.worker.push("assign", [1, 2], [b"1234"])
        with self.assertRaisesRegex(ValueError, "2 dimensions"):
            self.worker.pull(np.zeros((2, 2), np.uint64))
        with self.assertRaises(RuntimeError):
            be.Worker(self.runtime, [])


if __name__ == "__main__":
    unittest.main()
