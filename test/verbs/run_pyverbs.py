#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_pyverbs.py FOLDER LIST LINK - run rdma-core's tests of verbs on the device that is there.

FOLDER/tests holds them. LIST names those that cannot apply, one pattern a line with the link
layer (ib, eth or any) in front and the reason behind it. A test that is skipped and not listed
fails, and so does an entry of the list whose tests all ran: it claims too little of the device.
Prints a line for each test and the totals.
"""
import fnmatch
import sys
import unittest


class Entry:
    def __init__(self, link, pattern, reason):
        self.link, self.pattern, self.reason = link, pattern, reason
        self.used = False


def read_list(name, link):
    entries = []
    with open(name, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split(None, 2)
            if len(fields) != 3 or fields[0] not in ("ib", "eth", "any"):
                sys.exit(f"{name}:{number}: expected 'ib|eth|any PATTERN REASON'")
            if fields[0] in (link, "any"):
                entries.append(Entry(*fields))
    return entries


class Result(unittest.TestResult):
    def __init__(self, entries):
        super().__init__()
        self.entries = entries
        self.passed = self.failed = self.skips = 0

    def say(self, word, test, more=""):
        print(f"{word} {test.id()}{more}", flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self.say("ok", test)

    def fail(self, test, text):
        self.failed += 1
        self.say("FAIL", test)
        for line in text.rstrip().splitlines()[-25:]:
            print("    |", line)

    def addFailure(self, test, err):
        self.fail(test, self._exc_info_to_string(err, test))

    addError = addFailure

    def addSkip(self, test, reason):
        for entry in self.entries:
            if fnmatch.fnmatchcase(test.id(), "tests." + entry.pattern):
                entry.used = True
                self.skips += 1
                return
        self.fail(test, f"skipped, and not in the list: {reason}")

    def finish(self):
        for entry in self.entries:
            if not entry.used:
                self.failed += 1
                print(f"FAIL list: no test was skipped as '{entry.pattern}'")
        print(f"{self.passed} passed, {self.failed} failed, {self.skips} skipped", flush=True)
        return 0 if self.failed == 0 and self.passed != 0 else 1


def main():
    folder, listed, link = sys.argv[1:]
    sys.argv[1:] = []
    sys.path[0:0] = [folder, folder + "/tests"]
    from args_parser import parser  # pylint: disable=import-error

    parser.parse_args()
    import tests  # pylint: disable=import-error

    result = Result(read_list(listed, link))
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(result)
    return result.finish()


if __name__ == "__main__":
    sys.exit(main())
