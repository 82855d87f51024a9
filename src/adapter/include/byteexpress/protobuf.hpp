// SPDX-License-Identifier: BSD-3-Clause
//
// Protocol Buffers that are serialised where the device reads them.
//
//     be::ChainWriter writer(allocator);
//     be::ProtobufOutput output(writer);
//     message.SerializeToZeroCopyStream(&output);
//     be::Chain chain = writer.take();            // no byte is copied
//
// Header only: needs Protocol Buffers where it is included, and nowhere else.
#pragma once

#include <byteexpress/chain_writer.hpp>

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace be {

// Threads: one at a time. The writer outlives it.
class ProtobufOutput final : public google::protobuf::io::ZeroCopyOutputStream {
public:
    // Goes on where `writer` is.
    explicit ProtobufOutput(ChainWriter &writer) :
        m_writer(&writer), m_before(writer.size())
    {
    }

    // The next stretch to write to, or false: no memory.
    bool Next(void **data, int *size) override
    {
        try {
            const std::span<std::byte> stretch = m_writer->next();
            const size_t length = std::min<size_t>(stretch.size(), INT_MAX);
            m_writer->back_up(stretch.size() - length);
            *data = stretch.data();
            *size = static_cast<int>(length);
            return true;
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    // The last `count` bytes of the last stretch were not written.
    void BackUp(int count) override
    {
        m_writer->back_up(static_cast<size_t>(count));
    }

    // Bytes written through this.
    int64_t ByteCount() const override
    {
        return static_cast<int64_t>(m_writer->size() - m_before);
    }

private:
    ChainWriter *m_writer;
    size_t m_before; // bytes that others wrote
};

} // namespace be
