// SPDX-License-Identifier: BSD-3-Clause
//
// What an established session carries for its fabrics, each kind of message only
// between fabrics that have agreed on its feature.

#include "control/session.hpp"

namespace be::control {

bool Session::carries(std::uint64_t feature) const noexcept
{
    return (m_state == State::established) &&
           ((m_transcript.agreed_features & feature) != 0);
}

bool Session::recover(const RecoverInfo &mine)
{
    if (!carries(feature_recovery)) {
        return false;
    }

    send(Recover{mine});
    return true;
}

bool Session::recovered(std::uint32_t epoch)
{
    if (!carries(feature_recovery)) {
        return false;
    }

    send(Recovered{epoch});
    return true;
}

bool Session::data(Chunk frame)
{
    if (!carries(feature_tcp_path)) {
        return false;
    }

    send(std::move(frame));
    return true;
}

void Session::on(const Data &message)
{
    emit({.kind = SessionEvent::Kind::data, .data = message.view});
}

void Session::on(const Recover &message)
{
    if (!is_of_peer(message.info.connect)) {
        return;
    }

    auto event                     = SessionEvent{.kind    = SessionEvent::Kind::recover,
                                                  .recover = message.info};
    event.recover.connect.features = m_transcript.agreed_features;
    emit(std::move(event));
}

void Session::on(const Recovered &message)
{
    SessionEvent event{.kind = SessionEvent::Kind::recovered};

    event.recover.epoch = message.epoch;
    emit(std::move(event));
}

} // namespace be::control
