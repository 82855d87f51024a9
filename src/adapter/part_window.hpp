// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of a stream that come: they arrive in any order, each once, and leave in order.
// Not more are there than the window has places, as nobody may send a part before it has
// credit. Nothing is allocated once it is made. Not thread-safe.
#pragma once

#include <byteexpress/body.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace be::adapter {

class PartWindow {
public:
    explicit PartWindow(std::size_t places) : m_places(places)
    {
    }

    // Parts that may have been sent altogether by now, as far as there is room.
    std::uint64_t limit() const noexcept
    {
        return m_next + m_places.size();
    }

    // A part with that number begins to arrive. Why it must not, or nullptr.
    const char *reserve(std::uint64_t number) noexcept
    {
        if (number >= (m_total ? *m_total : m_credit)) {
            return m_total ? "a part behind the last" : "a part without credit";
        }
        if ((number < m_next) || (place(number).state != State::empty)) {
            return "a part that has come before";
        }
        place(number).state = State::arriving;
        return nullptr;
    }

    // It is there.
    void put(std::uint64_t number, Body body) noexcept
    {
        place(number) = {State::there, std::move(body)};
        m_arrived++;
    }

    // There are so many altogether. Why that cannot be, or nullptr.
    const char *set_total(std::uint64_t total) noexcept
    {
        if (m_total) {
            return (total == *m_total) ? nullptr : "two numbers of parts";
        }
        if (total > m_credit) {
            return "more parts than credit";
        }
        for (std::uint64_t number = m_next; number < limit(); number++) {
            if ((place(number).state != State::empty) && (number >= total)) {
                return "fewer parts than have come";
            }
        }
        if (total < m_next) {
            return "fewer parts than have come";
        }
        m_total = total;
        return nullptr;
    }

    bool ready() const noexcept
    {
        return m_places[m_next % m_places.size()].state == State::there;
    }

    // The next one, which is ready.
    Body take() noexcept
    {
        Place &taken = place(m_next++);
        taken.state  = State::empty;
        return std::move(taken.body);
    }

    // How many there are is known, and all of them are there or have been taken.
    bool complete() const noexcept
    {
        return m_total && (m_arrived == *m_total);
    }
    bool at_end() const noexcept
    {
        return m_total && (m_next == *m_total);
    }

    // What the other side has been told.
    std::uint64_t credit() const noexcept
    {
        return m_credit;
    }

    // Gives it what there is room for: not for every part, unless there is but one place.
    bool credit_is_due() const noexcept
    {
        return !m_total && ((limit() - m_credit) * 2 >= m_places.size()) &&
               (limit() != m_credit);
    }
    void give_credit() noexcept
    {
        m_credit = limit();
    }

    // Nobody reads any more. Parts on their way are not put.
    void clear() noexcept
    {
        for (Place &each : m_places) {
            each.body = Body();
        }
    }

private:
    enum class State : std::uint8_t {
        empty,
        arriving,
        there
    };
    struct Place {
        State state = State::empty;
        Body body;
    };

    Place &place(std::uint64_t number) noexcept
    {
        return m_places[number % m_places.size()];
    }

    std::vector<Place> m_places;
    std::uint64_t m_next    = 0; // to be taken
    std::uint64_t m_arrived = 0;
    std::uint64_t m_credit  = 0;
    std::optional<std::uint64_t> m_total;
};

} // namespace be::adapter
