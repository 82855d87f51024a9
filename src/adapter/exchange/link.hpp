// SPDX-License-Identifier: BSD-3-Clause
//
// One TCP connection between a client and a server: the handshake's messages, and after it
// nothing but a goodbye. As long as both live it stays open, so its end tells of a peer's
// death at once, whatever the transport below UCP notices.
//
// Belongs to the loop's thread, except where it says otherwise.
#pragma once

#include "adapter/exchange/loop.hpp"
#include "adapter/exchange/message.hpp"
#include "adapter/exchange/secret.hpp"
#include "adapter/exchange/socket.hpp"

#include <string>

namespace be::adapter::exchange {

class Link : public Loop::Watcher, public std::enable_shared_from_this<Link> {
public:
    // It has ended, other than by close(): why, and whether that was in order, which is when
    // the other side said goodbye without a reason.
    using Down = std::function<void(const std::string &why, bool in_order)>;

    Link(std::shared_ptr<Loop> loop, Secret secret);
    Link(const Link &)            = delete;
    Link &operator=(const Link &) = delete;

    // Any thread: says goodbye for that reason and closes. Nothing is heard of it any more.
    void close(std::string text);

    void on_events(std::uint32_t events) override;

protected:
    // Takes the socket over and watches it. `down` is called at most once.
    void begin(Socket socket, std::uint32_t events, Down down);

    // The socket is connected.
    virtual void on_writable()
    {
    }

    // A message of the handshake; `rest` is what it was decoded from. Why it is not what
    // was due, or nullptr.
    virtual const char *
    on_message(const Message &message, std::span<const std::byte> rest) = 0;

    // It is closed, whoever did it; before Down is called.
    virtual void on_end()
    {
    }

    // Takes what fits into the socket's buffer, which no handshake fills: else it ends.
    void send(const std::vector<std::byte> &bytes);

    // Ends it with a goodbye, and tells.
    void fail(const std::string &why);


    // Proves `message`, a join or a welcome, and sends it.
    void send_proven(const Message &message);
    bool proves(const Message &message, std::span<const std::byte> rest) const noexcept;

    const std::shared_ptr<Loop> m_loop;
    const Secret m_secret;
    Socket m_socket;
    Nonce m_client_nonce{};
    Nonce m_server_nonce{};
    bool m_is_server = false;

private:
    bool read_some();
    const char *take();
    void down(const std::string &why, bool in_order);
    void end() noexcept;

    Down m_down;
    std::uint64_t m_key = 0;
    std::vector<std::byte> m_in;
    std::size_t m_have = 0; // bytes of m_in
    Head m_head;
    bool m_head_known = false;
};

} // namespace be::adapter::exchange
