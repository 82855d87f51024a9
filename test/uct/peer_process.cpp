// SPDX-License-Identifier: BSD-3-Clause

#include "peer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern char **environ;

namespace uct_test {
namespace {

// uct_peer lies beside the program that runs.
std::string peer_program()
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    if (length < 0) {
        throw std::runtime_error("cannot find the folder of this program");
    }
    const std::string self(path, length);
    return self.substr(0, self.rfind('/')) + "/uct_peer";
}

} // namespace

std::string to_hex(const std::vector<uint8_t> &bytes)
{
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 0xf];
    }
    return text;
}

std::vector<uint8_t> from_hex(const std::string &text)
{
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

Peer::Peer(const Address *echo_to)
{
    const std::string program = peer_program();
    std::string argument      = (echo_to != nullptr) ? to_hex(echo_to->encode()) : "";
    char *arguments[]         = {const_cast<char *>(program.c_str()),
                         (echo_to != nullptr) ? argument.data() : nullptr, nullptr};
    int input[2], output[2];
    if ((pipe2(input, O_CLOEXEC) != 0) || (pipe2(output, O_CLOEXEC) != 0)) {
        throw std::runtime_error("pipe");
    }

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    const int error = posix_spawn(&m_pid, program.c_str(), &actions, nullptr, arguments,
                                  environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    m_input = input[1];
    if (error != 0) {
        close(output[0]);
        throw std::runtime_error("cannot start " + program);
    }

    FILE *stream = fdopen(output[0], "r");
    char address[1024], key[1024];
    unsigned long long remote;
    size_t length;
    const int fields = std::fscanf(stream, "%1023s %1023s %llx %zx", address, key,
                                   &remote, &length);
    std::fclose(stream);
    if (fields != 4) {
        kill();
        throw std::runtime_error("uct_peer said nothing");
    }
    m_address = Address::decode(from_hex(address));
    m_key     = from_hex(key);
    m_remote  = remote;
}

void Peer::signal(int number) const
{
    ::kill(m_pid, number);
}

void Peer::wait()
{
    if (m_pid > 0) {
        waitpid(m_pid, nullptr, 0);
        m_pid = -1;
    }
    if (m_input >= 0) {
        close(m_input);
        m_input = -1;
    }
}

void Peer::kill()
{
    if (m_pid > 0) {
        signal(SIGKILL);
        wait();
    }
}

void Peer::leave()
{
    close(m_input);
    m_input = -1;
    wait();
}

Peer::~Peer()
{
    kill();
}

} // namespace uct_test
