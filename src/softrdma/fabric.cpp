// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.h"

#include "clock.h"
#include "log.h"
#include "process.h"

namespace softrdma {

template<class F>
auto fabric::with_model(F call)
{
    fabric_state &state = m_owner.reg.fabric();
    fabric_model model(state, &m_owner.reg.port(0, 0));
    if (state.lock.lock(m_owner.token())) {
        SOFTRDMA_LOG(debug, "a process died inside the fabric model");
        model.recover(now_ns());
    }
    struct unlocker {
        fabric_state &state;
        ~unlocker()
        {
            state.lock.unlock();
        }
    } unlock{state};
    return call(model);
}

void fabric::start()
{
    if (m_owner.reg.fabric().high_flow != 0) {
        with_model([&](fabric_model &model) {
            model.close_flows_of(m_owner.reg.own_slot());
        });
    }
}

uint32_t fabric::open_flow(uint32_t from)
{
    return with_model([&](fabric_model &model) {
        return model.open_flow(from, m_owner.reg.own_slot());
    });
}

void fabric::close_flow(uint32_t flow)
{
    with_model([&](fabric_model &model) { model.close_flow(flow); });
}

uint32_t fabric::send(const message_request &request)
{
    return with_model([&](fabric_model &model) { return model.send(request, now_ns()); });
}

message_fate fabric::look(uint32_t message)
{
    return with_model([&](fabric_model &model) { return model.look(message, now_ns()); });
}

void fabric::release(uint32_t message)
{
    with_model([&](fabric_model &model) { model.release(message); });
}

uint64_t fabric::return_ns(uint32_t from, uint32_t to)
{
    return fabric_model(m_owner.reg.fabric(), nullptr).return_ns(from, to);
}

} // namespace softrdma
