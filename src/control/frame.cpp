// SPDX-License-Identifier: BSD-3-Clause

#include "control/frame.hpp"

#include <algorithm>

namespace be::control {

FrameReader::Status FrameReader::read(std::span<const std::uint8_t> &input)
{
    // The previous call has handed out a complete frame: begin the next one.
    if (m_handed_out) {
        m_handed_out   = false;
        m_header_bytes = 0;
        m_length       = 0;
        m_filled       = 0;
    }

    while (m_header_bytes < frame_header_size) {
        if (input.empty()) {
            return Status::incomplete;
        }
        m_length |= static_cast<std::uint32_t>(input.front()) << (8 * m_header_bytes);
        input = input.subspan(1);
        if (++m_header_bytes == frame_header_size) {
            if ((m_length < min_frame) || (m_length > m_limit)) {
                return Status::bad_length;
            }
            make_room();
        }
    }

    auto take = std::min<std::size_t>(input.size(), m_length - m_filled);
    std::copy_n(input.begin(), take, bytes() + m_filled);
    m_filled += take;
    input        = input.subspan(take);
    m_handed_out = (m_filled == m_length);
    return m_handed_out ? Status::complete : Status::incomplete;
}

void FrameReader::make_room()
{
    if (!m_body || (m_capacity < m_length)) {
        m_body     = take_block(m_length);
        m_capacity = m_length;
    }
}

std::span<std::uint8_t> FrameReader::space() const noexcept
{
    if (m_handed_out || (m_header_bytes < frame_header_size)) {
        return {};
    }
    return {bytes() + m_filled, m_length - m_filled};
}

} // namespace be::control
