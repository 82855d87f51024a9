// SPDX-License-Identifier: BSD-3-Clause
//
// The client's side of an exchange.
#pragma once

#include "adapter/exchange/link.hpp"

namespace be::adapter::exchange {

class Dialer : public Link {
public:
    struct Events {
        // Loop's thread. `message` is a welcome; its address lasts as long as the call.
        // `features` are those of both sides.
        std::function<void(const Message &message, std::uint32_t features)> welcome;
        Down down;
    };

    // `connection` and `address` (of the worker) are what the server is told.
    Dialer(std::shared_ptr<Loop> loop, Secret secret, std::uint64_t connection,
           std::vector<std::byte> address);

    // Any thread, once.
    void start(const Address &to, Events events);

    // Any thread: the welcome's turn could not be taken; asks for another, not below
    // `turn`.
    void ask_again(std::uint32_t turn);

private:
    enum class Stage {
        greeted,
        joining,
        welcomed
    };

    void on_writable() override;
    const char *
    on_message(const Message &message, std::span<const std::byte> rest) override;
    void on_end() override;
    const char *on_challenge(const Message &message);
    void join(std::uint32_t turn);

    const std::uint64_t m_connection;
    const std::vector<std::byte> m_address;
    std::function<void(const Message &, std::uint32_t)> m_welcome;
    std::uint32_t m_features = 0;
    Stage m_stage            = Stage::greeted;
};

} // namespace be::adapter::exchange
