// SPDX-License-Identifier: BSD-3-Clause

#include "session_pair.hpp"

#include <stdexcept>

namespace be::control::test {

End::End()
{
    initialize_auth();
    fabric.identity = random_identity();
}

void End::collect()
{
    while (auto event = session->next_event()) {
        events.push_back(std::move(*event));
    }
}

std::vector<Message> End::output()
{
    collect();
    auto output = session->take_output();
    session->sent(output.size());
    return decoded(output.bytes);
}

const SessionEvent &End::last(Kind kind)
{
    collect();
    if (events.empty() || (events.back().kind != kind)) {
        throw std::runtime_error("the expected event is not the last one");
    }
    return events.back();
}

bool End::has(Kind kind) const
{
    for (const auto &event : events) {
        if (event.kind == kind) {
            return true;
        }
    }
    return false;
}

Reason End::closed_for()
{
    auto reason = last(Kind::closed).reason;
    events.pop_back();
    if (has(Kind::closed)) {
        throw std::runtime_error("closed twice");
    }
    if (!session->finished()) {
        throw std::runtime_error("closed, but not finished");
    }
    return reason;
}

SessionPair::SessionPair()
{
    asked                           = server.fabric.identity;
    server.fabric.settings.features = all_features;
    client.fabric.settings.features = all_features;
}

void SessionPair::start()
{
    auto directory = [this](std::uint64_t id) -> std::optional<LocalFabric> {
        if (id == server.fabric.identity.fabric_id) {
            return server.fabric;
        }
        return std::nullopt;
    };

    server.session = std::make_unique<Session>(
            Session::server(directory, random_nonce(), now, now + handshake_timeout));
    client.session = std::make_unique<Session>(
            Session::client(client.fabric, asked,
                            sample_info(client.fabric.identity.fabric_id), random_nonce(),
                            now, now + handshake_timeout));
}

void SessionPair::exchange()
{
    for (bool busy = true; busy;) {
        busy = false;
        for (auto [from, to] :
             {std::pair(&server, &client), std::pair(&client, &server)}) {
            auto output = from->session->take_output();
            from->session->sent(output.size());
            to->session->receive(output.bytes, now);
            from->collect();
            to->collect();
            busy |= !output.empty();
        }
    }
}

void SessionPair::advance_to(State state)
{
    start();
    if ((state == State::hello_wait) || (state == State::challenge_wait)) {
        return;
    }

    auto challenge = server.output();
    deliver(client, challenge.at(0));
    if (state == State::welcome_wait) {
        return;
    }

    auto hello = client.output();
    deliver(server, hello.at(0));
    if (state == State::connect_wait) {
        return;
    }

    auto welcome = server.output();
    deliver(client, welcome.at(0));
    if (state == State::accept_wait) {
        return;
    }

    auto connect = client.output();
    deliver(server, connect.at(0));
    if (state == State::deciding) {
        return;
    }

    server.session->accept(sample_info(server.fabric.identity.fabric_id));
    if (state == State::ready_wait) {
        return;
    }

    auto accept = server.output();
    deliver(client, accept.at(0));
    if (state == State::confirming) {
        return;
    }

    client.session->ready();
    exchange();
}

void SessionPair::deliver(End &end, const Message &message)
{
    end.session->receive(encoded(message), now);
    end.collect();
}

} // namespace be::control::test
