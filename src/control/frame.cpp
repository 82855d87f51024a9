// SPDX-License-Identifier: BSD-3-Clause

#include "control/frame.hpp"

#include <algorithm>

namespace be::control {

FrameReader::Status FrameReader::read(std::span<const std::uint8_t> &input)
{
    // The previous call has handed out a complete frame: begin the next one.
    if ((m_header_bytes == frame_header_size) && (m_body.size() == m_length)) {
        m_header_bytes = 0;
        m_length       = 0;
        m_body.clear();
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
            m_body.reserve(m_length);
        }
    }

    auto take = std::min<std::size_t>(input.size(), m_length - m_body.size());
    m_body.insert(m_body.end(), input.begin(), input.begin() + take);
    input = input.subspan(take);
    return (m_body.size() == m_length) ? Status::complete : Status::incomplete;
}

} // namespace be::control
