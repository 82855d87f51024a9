// SPDX-License-Identifier: BSD-3-Clause
#include "engine/traffic_plan.hpp"

#include "lib/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace be::test {
namespace {

constexpr std::size_t most_operations = 32; // under way

struct Packet {
    std::uint64_t header;
    std::uint64_t content;
    std::size_t length;
};

std::size_t pack_packet(void *to, void *arg)
{
    const auto *packet = static_cast<const Packet *>(arg);
    auto *bytes        = static_cast<std::uint8_t *>(to);
    std::memcpy(bytes, &packet->header, header_size);
    pattern_fill(bytes + header_size, packet->length, packet->content);
    return header_size + packet->length;
}

std::size_t pack_put(void *to, void *arg)
{
    const auto *put = static_cast<const Put *>(arg);
    std::memset(to, put->value, put->length);
    return put->length;
}

} // namespace

Traffic::Traffic(be_md_t *md, std::uint64_t seed, unsigned self, unsigned other) :
    m_md(md), m_seed(seed), m_self(self), m_other(other)
{
    if (const be_status_t status = be_mem_alloc(md, Field::size, &m_memory);
        status != BE_OK) {
        wrong(true, std::string("no memory: ") + be_status_string(status));
    }
    std::memset(m_memory.address, 0, Field::size);
    pattern_fill(at(Field::readable), Field::readable_end - Field::readable,
                 readable_content(seed, self));
    const std::uint64_t none = ~std::uint64_t{0};
    std::memcpy(at(Field::taken) + 8, &none, sizeof(none));
    for (std::size_t slot = 0; slot < Field::slots; ++slot) {
        m_next[slot] = slot;
    }
}

Traffic::~Traffic()
{
    if (m_memory.handle != nullptr) {
        be_mem_free(m_md, &m_memory);
    }
}

RemoteField Traffic::field() const noexcept
{
    return {reinterpret_cast<std::uint64_t>(m_memory.address), m_memory.rkey};
}

void Traffic::connect(be_peer_t *peer, const RemoteField &remote,
                      const be_fabric_attr_t &limits)
{
    m_peer   = peer;
    m_remote = remote;
    m_limits = limits;
}

std::string Traffic::direction(bool outgoing) const
{
    return std::to_string(outgoing ? m_self : m_other) + " -> " +
           std::to_string(outgoing ? m_other : m_self);
}

void Traffic::wrong(bool outgoing, const std::string &what) const
{
    throw std::runtime_error(direction(outgoing) + ": " + what + "; " + describe());
}

bool Traffic::act(std::mt19937_64 &random)
{
    if (m_operations.size() >= most_operations) {
        return false;
    }
    if (!m_asking && m_sent.puts >= m_taken_seen + Field::slots / 2 && get_taken()) {
        return true;
    }
    switch (random() % 10) {
    case 0:
    case 1:
    case 2:
    case 3:
        return send();
    case 4:
    case 5:
    case 6:
        return put();
    case 7:
    case 8:
        return get(random);
    default:
        return flush();
    }
}

Traffic::Operation *Traffic::find(const void *name) noexcept
{
    const auto found = m_operations.find(
            reinterpret_cast<std::uintptr_t>(name) / most_ends - 1);
    return found == m_operations.end() ? nullptr : &found->second;
}

Traffic::Operation &Traffic::begin(Kind kind)
{
    const std::uint64_t number = m_operation++;
    return m_operations.emplace(number, Operation{.number = number, .kind = kind})
            .first->second;
}

void Traffic::lend_buffer(Operation &operation, std::size_t buffer) noexcept
{
    operation.buffer = buffer;
    m_used[buffer]   = true;
}

bool Traffic::posted(Operation &operation, std::int64_t result, const char *what)
{
    if (result == BE_INPROGRESS) {
        return true;
    }
    finish(operation);
    return sent_at_once(result, what);
}

bool Traffic::sent_at_once(std::int64_t result, const char *what) const
{
    if (result >= 0) {
        return true;
    }
    if (result != BE_ERR_NO_RESOURCE) {
        wrong(true, std::string(what) + " returned \"" +
                            be_status_string(static_cast<be_status_t>(result)) + "\"");
    }
    return false;
}

void Traffic::finish(Operation &operation)
{
    if (operation.buffer != Field::buffers) {
        m_used[operation.buffer] = false;
    }
    m_operations.erase(operation.number);
}

std::optional<std::size_t> Traffic::free_buffer() const
{
    const auto found = std::find(m_used.begin(), m_used.end(), false);
    return found == m_used.end() ? std::nullopt :
                                   std::optional<std::size_t>(found - m_used.begin());
}

bool Traffic::send()
{
    const Message message      = message_of(m_seed, m_self, m_other, m_sent.messages);
    const std::uint64_t header = std::uint64_t{m_self} << 56 | m_sent.messages;
    bool sent                  = false;
    if (message.id == id_fenced) {
        sent = send_behind_fence(header);
    } else if (message.id == id_short) {
        std::uint8_t payload[100];
        const std::size_t length = std::min(message.length,
                                            m_limits.max_short - header_size);
        pattern_fill(payload, length, message.content);
        sent = sent_at_once(be_am_short(m_peer, id_short, header, payload,
                                        static_cast<unsigned>(length)),
                            "am_short");
    } else if (message.id == id_packed) {
        Packet packet{header, message.content, message.length};
        sent = sent_at_once(be_am_bcopy(m_peer, id_packed, pack_packet, &packet),
                            "am_bcopy");
    } else {
        const auto buffer = free_buffer();
        if (!buffer) {
            return false;
        }
        std::uint8_t *data = buffer_at(*buffer);
        pattern_fill(data, message.length, message.content);
        const std::size_t half = message.length / 2;
        const be_sge_t parts[] = {{data, half, m_memory.lkey},
                                  {data + half, message.length - half, m_memory.lkey}};
        Operation &operation   = begin(Kind::message);
        lend_buffer(operation, *buffer);
        sent = posted(operation,
                      be_am_zcopy(m_peer, id_memory, &header, header_size, parts, 2,
                                  name(operation)),
                      "am_zcopy");
    }
    m_sent.messages += sent;
    return sent;
}

// The fence is said once, whenever that is; its message goes as soon as it can.
bool Traffic::send_behind_fence(std::uint64_t header)
{
    if (!m_fenced) {
        be_peer_fence(m_peer);
        m_fenced = m_sent.puts;
    }
    const bool sent = sent_at_once(be_am_short(m_peer, id_fenced, header, &*m_fenced,
                                               sizeof(*m_fenced)),
                                   "am_short behind a fence");
    if (sent) {
        m_fenced.reset();
    }
    return sent;
}

bool Traffic::put()
{
    if (m_sent.puts >= m_taken_seen + Field::slots) {
        return false;
    }
    Put put                    = put_of(m_seed, m_self, m_other, m_sent.puts);
    const std::uint64_t remote = m_remote.address +
                                 m_sent.puts % Field::slots * Field::slot;
    bool sent = false;
    if (put.kind == 0) {
        std::uint8_t data[128];
        put.length = std::min(put.length, m_limits.max_short);
        std::memset(data, put.value, put.length);
        sent = sent_at_once(be_put_short(m_peer, data, static_cast<unsigned>(put.length),
                                         remote, m_remote.rkey),
                            "put_short");
    } else if (put.kind == 1) {
        sent = sent_at_once(be_put_bcopy(m_peer, pack_put, &put, remote, m_remote.rkey),
                            "put_bcopy");
    } else {
        const auto buffer = free_buffer();
        if (!buffer) {
            return false;
        }
        (void)pack_put(buffer_at(*buffer), &put);
        const be_sge_t part{buffer_at(*buffer), put.length, m_memory.lkey};
        Operation &operation = begin(Kind::put);
        lend_buffer(operation, *buffer);
        sent = posted(operation,
                      be_put_zcopy(m_peer, &part, 1, remote, m_remote.rkey,
                                   name(operation)),
                      "put_zcopy");
    }
    m_sent.puts += sent;
    return sent;
}

bool Traffic::get(std::mt19937_64 &random)
{
    const bool packed = random() % 2 == 0;
    const auto buffer = free_buffer();
    if (!packed && !buffer) {
        return false;
    }
    Operation &operation = begin(packed ? Kind::packed_get : Kind::get);
    operation.length     = 1 + random() % (packed ? 7900 : Field::buffer);
    operation.offset     = random() %
                       (Field::readable_end - Field::readable - operation.length);
    const auto remote = m_remote.address + Field::readable + operation.offset;
    if (packed) {
        return posted(operation,
                      be_get_bcopy(m_peer, nullptr, name(operation), operation.length,
                                   remote, m_remote.rkey, name(operation)),
                      "get_bcopy");
    }
    lend_buffer(operation, *buffer);
    std::memset(buffer_at(*buffer), 0, operation.length);
    const be_sge_t part{buffer_at(*buffer), operation.length, m_memory.lkey};
    return posted(operation,
                  be_get_zcopy(m_peer, &part, 1, remote, m_remote.rkey, name(operation)),
                  "get_zcopy");
}

bool Traffic::get_taken()
{
    Operation &operation = begin(Kind::taken_get);
    operation.length     = 2 * sizeof(std::uint64_t);
    m_asking             = posted(operation,
                                  be_get_bcopy(m_peer, nullptr, name(operation), operation.length,
                                               m_remote.address + Field::taken, m_remote.rkey,
                                               name(operation)),
                                  "get_bcopy of a number");
    return m_asking;
}

bool Traffic::flush()
{
    Operation &operation     = begin(Kind::flush);
    const be_status_t result = be_peer_flush(m_peer, name(operation));
    if (result == BE_OK && m_operations.size() != 1) {
        wrong(true, "flush found nothing outstanding");
    }
    return posted(operation, result, "flush");
}

std::string Traffic::describe() const
{
    return "sent " + std::to_string(m_sent.messages) + " messages and " +
           std::to_string(m_sent.puts) + " puts (" + std::to_string(m_taken_seen) +
           " known to be taken), " + std::to_string(m_operations.size()) +
           " operations under way" +
           (m_operations.empty() ?
                    std::string() :
                    " from number " + std::to_string(m_operations.begin()->first) +
                            " of kind " +
                            std::to_string(static_cast<unsigned>(
                                    m_operations.begin()->second.kind))) +
           ", " + std::to_string(m_completed) + " complete; received " +
           std::to_string(m_received) + " messages and " + std::to_string(m_taken) +
           " puts";
}

} // namespace be::test
