// SPDX-License-Identifier: BSD-3-Clause
/*
 * Result lines and totals of a test program, kept in memory that forked processes share.
 *
 * "ok NAME", "FAIL NAME: why" and "skip NAME: why" go to stdout as they come; finish() prints
 * "N passed, M failed, K skipped" and returns the exit status (0, 1, or 77 when all was skipped).
 * Any process may report; one does so at a time.
 */
#ifndef BE_TEST_LIB_REPORT_HPP
#define BE_TEST_LIB_REPORT_HPP

#include <string>

namespace be::test {

class Report {
public:
    Report();
    ~Report();
    Report(const Report &)            = delete;
    Report &operator=(const Report &) = delete;

    /* The case that runs now: what a crash or a hang is charged to. */
    void begin(const std::string &name);
    void pass(const std::string &note = {});
    void fail(const std::string &why);
    void skip(const std::string &name, const std::string &why);
    /* A case begun and not ended is open. */
    bool open() const;
    int finish() const;

private:
    struct Shared {
        unsigned passed;
        unsigned failed;
        unsigned skipped;
        bool open;
        char name[240];
    };

    Shared *m_shared;
};

} // namespace be::test

#endif
