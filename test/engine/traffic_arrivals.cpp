// SPDX-License-Identifier: BSD-3-Clause
//
// Messages, puts and completions, verified.

#include "engine/traffic_plan.hpp"

#include "lib/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace be::test {

unsigned Traffic::sender(const void *data, std::size_t length)
{
    std::uint64_t header = 0;
    if (length < header_size) {
        throw std::runtime_error("a message of " + std::to_string(length) +
                                 " bytes arrived, all have 8 at least");
    }
    std::memcpy(&header, data, header_size);
    return static_cast<unsigned>(header >> 56);
}

void Traffic::receive(unsigned id, const void *data, std::size_t length)
{
    Message message        = message_of(m_seed, m_other, m_self, m_received);
    const std::string name = "message " + std::to_string(m_received);
    const auto *bytes      = static_cast<const std::uint8_t *>(data);
    std::uint64_t header   = 0;
    std::memcpy(&header, bytes, header_size);
    if (const std::uint64_t number = header << 8 >> 8; number != m_received) {
        wrong(false, name + " was expected, " + std::to_string(number) + " came");
    }
    if (message.id == id_short) {
        message.length = std::min(message.length, m_limits.max_short - header_size);
    }
    if (id != message.id || length != header_size + message.length) {
        wrong(false, name + " has id " + std::to_string(id) + " and " +
                             std::to_string(length) + " bytes instead of " +
                             std::to_string(message.id) + " and " +
                             std::to_string(header_size + message.length));
    }
    if (id != id_fenced) {
        pattern_check(bytes + header_size, message.length, message.content,
                      direction(false) + ": " + name);
    } else {
        std::uint64_t puts = 0;
        std::memcpy(&puts, bytes + header_size, sizeof(puts));
        (void)take_puts();
        if (m_taken < puts) {
            wrong(false, name + " behind a fence came when put " +
                                 std::to_string(m_taken) + " of the " +
                                 std::to_string(puts) + " before it was not there");
        }
    }
    ++m_received;
}

bool Traffic::take_puts()
{
    bool any = false;
    for (std::size_t slot = 0; slot < Field::slots; ++slot) {
        any = take_put(slot) || any;
    }
    if (any) {
        while (m_next[m_taken % Field::slots] > m_taken) {
            ++m_taken;
        }
        __atomic_store_n(reinterpret_cast<std::uint64_t *>(at(Field::taken)), m_taken,
                         __ATOMIC_RELEASE);
        __atomic_store_n(reinterpret_cast<std::uint64_t *>(at(Field::taken) + 8),
                         ~m_taken, __ATOMIC_RELEASE);
    }
    return any;
}

// The source's device may be writing.
bool Traffic::take_put(std::size_t slot)
{
    const std::uint8_t *data = at(slot * Field::slot);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    const std::uint8_t first = __atomic_load_n(data, __ATOMIC_ACQUIRE);
    if (first == 0) {
        return false;
    }
    Put put = put_of(m_seed, m_other, m_self, m_next[slot]);
    if (put.kind == 0) {
        put.length = std::min(put.length, m_limits.max_short);
    }
    std::size_t written = 0;
    std::uint8_t byte   = first;
    while (byte == put.value && ++written < put.length) {
        byte = __atomic_load_n(data + written, __ATOMIC_RELAXED);
    }
    if (written != put.length && byte == 0) {
        return false; // more is to come
    }
    const std::uint8_t *rest = std::find_if(data + written, data + Field::slot,
                                            [](std::uint8_t more) { return more != 0; });
    if (written != put.length || rest != data + Field::slot) {
        const std::uint8_t *odd = written != put.length ? data + written : rest;
        wrong(false, "put " + std::to_string(m_next[slot]) + " is " +
                             std::to_string(put.length) + " bytes " +
                             std::to_string(put.value) + ", but byte " +
                             std::to_string(odd - data) + " is " + std::to_string(*odd));
    }
    std::memset(at(slot * Field::slot), 0, put.length);
    m_next[slot] += Field::slots;
    return true;
}

void Traffic::unpack(const void *name, const void *data, std::size_t length)
{
    Operation *operation = find(name);
    if (operation == nullptr || operation->unpacked || operation->length != length) {
        wrong(true, "a get_bcopy was unpacked twice, or has " + std::to_string(length) +
                            " bytes");
    }
    operation->unpacked = true;
    if (operation->kind == Kind::taken_get) {
        learn_taken(data);
    } else {
        pattern_check(data, length, readable_content(m_seed, m_other),
                      direction(true) + ": get_bcopy", operation->offset);
    }
}

// It may have been read while it was written: then the two words differ.
void Traffic::learn_taken(const void *data)
{
    std::uint64_t words[2];
    std::memcpy(words, data, sizeof(words));
    if (words[0] != ~words[1]) {
        return;
    }
    if (words[0] < m_taken_seen || words[0] > m_sent.puts) {
        wrong(true, "says " + std::to_string(words[0]) + " puts are taken, of " +
                            std::to_string(m_sent.puts) + ", and said " +
                            std::to_string(m_taken_seen) + " before");
    }
    m_taken_seen = words[0];
}

void Traffic::complete(const void *name, be_status_t status)
{
    Operation *const found = find(name);
    if (found == nullptr) {
        wrong(true, "an operation has completed twice");
    }
    Operation &operation        = *found;
    const std::string described = "operation " + std::to_string(operation.number);
    if (status != BE_OK) {
        wrong(true, described + " completed with \"" + be_status_string(status) + "\"");
    }
    switch (operation.kind) {
    case Kind::get:
        pattern_check(buffer_at(operation.buffer), operation.length,
                      readable_content(m_seed, m_other),
                      direction(true) + ": get_zcopy, " + described, operation.offset);
        break;
    case Kind::packed_get:
    case Kind::taken_get:
        if (!operation.unpacked) {
            wrong(true, described + " completed before its data came");
        }
        m_asking = m_asking && operation.kind != Kind::taken_get;
        break;
    case Kind::flush:
        if (m_operations.begin()->first != operation.number) {
            wrong(true, described + ", a flush, completed before operation " +
                                std::to_string(m_operations.begin()->first));
        }
        break;
    default:
        break;
    }
    ++m_completed;
    finish(operation);
}

void Traffic::check_quiet() const
{
    if (!m_operations.empty()) {
        wrong(true, "operations are under way");
    }
    const std::uint8_t *end     = at(Field::taken);
    const std::uint8_t *written = std::find_if(static_cast<const std::uint8_t *>(at(0)),
                                               end, [](std::uint8_t byte) {
                                                   return byte != 0;
                                               });
    if (written != end) {
        wrong(false, "a put was written twice: byte " +
                             std::to_string((written - at(0)) % Field::slot) +
                             " of slot " +
                             std::to_string((written - at(0)) / Field::slot));
    }
}

} // namespace be::test
