// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/report_stats.hpp"

#include "tools/run/execute.hpp"
#include "tools/stats/stats.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace be::tools {

namespace {

namespace fs = std::filesystem;

// For the handler.
volatile sig_atomic_t child = 0;

void hand_on(int signal)
{
    if (child > 0) {
        kill(static_cast<pid_t>(child), signal);
    }
}

// Removed with what is in it.
class Folder {
public:
    Folder()
    {
        const char *parent = std::getenv("TMPDIR");
        std::string path   = std::string(parent != nullptr ? parent : "/tmp") +
                           "/be-stats.XXXXXX";
        if (mkdtemp(path.data()) == nullptr) {
            throw std::system_error(errno, std::system_category(), path);
        }
        m_path = path;
    }
    ~Folder()
    {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    Folder(const Folder &)            = delete;
    Folder &operator=(const Folder &) = delete;
    const fs::path &path() const noexcept
    {
        return m_path;
    }

private:
    fs::path m_path;
};

int wait_for(pid_t process)
{
    int status = 0;
    while ((waitpid(process, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

int run_and_report(const Plan &plan)
{
    const Folder folder;
    struct sigaction act {};
    struct sigaction old_int {};
    struct sigaction old_quit {};

    act.sa_handler = SIG_IGN;
    sigaction(SIGINT, &act, &old_int);
    sigaction(SIGQUIT, &act, &old_quit);
    const pid_t process = fork();
    if (process < 0) {
        throw std::system_error(errno, std::system_category(), "fork");
    }
    if (process == 0) {
        sigaction(SIGINT, &old_int, nullptr);
        sigaction(SIGQUIT, &old_quit, nullptr);
        setenv("UCX_BE_STATS", folder.path().c_str(), 1);
        execute(plan);
    }
    child          = process;
    act.sa_handler = hand_on;
    sigaction(SIGTERM, &act, nullptr);
    sigaction(SIGHUP, &act, nullptr);
    const int status = wait_for(process);
    child            = 0;

    const auto stats = read_left_stats(folder.path());
    if (stats.empty()) {
        std::cerr << "be_run: no process of this command on this machine has used be\n";
    } else {
        std::cerr << to_text(stats, false);
    }
    return status;
}

} // namespace be::tools
