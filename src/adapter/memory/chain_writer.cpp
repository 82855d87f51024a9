// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/chain_writer.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace be {

ChainWriter::ChainWriter(Allocator &memory, std::size_t first, std::size_t most,
                         Allocator::Owner owner) :
    m_memory(memory),
    m_owner(owner),
    m_first(std::max<std::size_t>(first, 1)),
    m_most(std::max(most, m_first)),
    m_next(m_first)
{
}

// What was written of the block goes to the chain; the block keeps the rest.
void ChainWriter::close_stretch()
{
    if (m_used > 0) {
        m_chain.append(m_block.slice(0, m_used));
        m_block.drop_front(m_used);
        m_used = 0;
    }
}

std::span<std::byte> ChainWriter::next()
{
    close_stretch();
    if (m_block.empty()) {
        m_block = Buffer::allocate(m_memory, m_next, m_owner);
        m_next  = std::min(m_next * 2, m_most);
    }
    m_used = m_block.size();
    return m_block.bytes();
}

void ChainWriter::back_up(std::size_t count) noexcept
{
    m_used -= std::min(count, m_used);
}

void ChainWriter::write(const void *data, std::size_t length)
{
    const auto *from = static_cast<const std::byte *>(data);
    while (length > 0) {
        const std::span<std::byte> stretch = next();
        const std::size_t taken            = std::min(stretch.size(), length);
        memcpy(stretch.data(), from, taken);
        back_up(stretch.size() - taken);
        from += taken;
        length -= taken;
    }
}

void ChainWriter::append(Buffer buffer)
{
    close_stretch();
    m_chain.append(std::move(buffer));
}

Chain ChainWriter::take()
{
    close_stretch();
    m_block = Buffer();
    m_next  = m_first;
    return std::exchange(m_chain, Chain());
}

} // namespace be
