// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/ps/snapshot.hpp"

#include "adapter/ps/messages.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace be::ps {

namespace {

struct Head {
    char magic[4]   = {'B', 'E', 'P', 'S'};
    uint32_t format = 1;
};

struct Tail {
    uint64_t count = 0;
    uint64_t check = 0;
};

uint64_t fnv(uint64_t hash, const void *bytes, size_t length)
{
    const auto *at = static_cast<const unsigned char *>(bytes);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * 0x100000001B3;
    }
    return hash;
}

constexpr uint64_t fnv_start = 0xCBF29CE484222325;

// A file that is not there unless it was written to the end.
class Writer {
public:
    explicit Writer(const std::string &path) :
        m_path(path), m_temporary(path + ".new"), m_file(fopen(m_temporary.c_str(), "wb"))
    {
        if (m_file == nullptr) {
            fail();
        }
    }
    ~Writer()
    {
        if (m_file != nullptr) {
            fclose(m_file);
            unlink(m_temporary.c_str());
        }
    }
    Writer(const Writer &)            = delete;
    Writer &operator=(const Writer &) = delete;

    void write(const void *bytes, size_t length)
    {
        m_check = fnv(m_check, bytes, length);
        if (fwrite(bytes, 1, length, m_file) != length) {
            fail();
        }
    }
    void finish(uint64_t count)
    {
        write(&count, sizeof(count));
        const uint64_t check = m_check;
        write(&check, sizeof(check));
        if ((fflush(m_file) != 0) || (fsync(fileno(m_file)) != 0)) {
            fail();
        }
        const bool closed = fclose(std::exchange(m_file, nullptr)) == 0;
        if (!closed || (rename(m_temporary.c_str(), m_path.c_str()) != 0)) {
            fail();
        }
    }

private:
    [[noreturn]] void fail()
    {
        throw std::system_error(errno, std::generic_category(),
                                "snapshot '" + m_path + "': cannot write");
    }

    const std::string m_path;
    const std::string m_temporary;
    FILE *m_file;
    uint64_t m_check = fnv_start;
};

std::vector<std::byte> read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) {
        throw std::runtime_error("snapshot '" + path + "': cannot be opened");
    }
    std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
    file.seekg(0);
    file.read(reinterpret_cast<char *>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!file) {
        throw std::runtime_error("snapshot '" + path + "': cannot be read");
    }
    return bytes;
}

} // namespace

void save_table(const Table &table, const std::string &path)
{
    Writer writer(path);
    const Head head;
    uint64_t count = 0;

    writer.write(&head, sizeof(head));
    table.for_each([&](Key key, const Stored &value) {
        const Entry entry{key, value.size()};
        writer.write(&entry, sizeof(entry));
        writer.write(value.bytes().data(), value.size());
        count++;
    });
    writer.finish(count);
}

void load_table(Table &table, const std::string &path)
{
    const std::vector<std::byte> bytes = read_file(path);
    const auto bad                     = [&path](const std::string &what) {
        throw std::runtime_error("snapshot '" + path + "': " + what);
    };
    const Head expected;
    Head head;
    Tail tail;

    Reader reader(bytes);
    if (!reader.read(head) || (std::memcmp(head.magic, expected.magic, 4) != 0)) {
        bad("not a snapshot");
    }
    if (head.format != expected.format) {
        bad("of format " + std::to_string(head.format) + ", expected 1");
    }
    if (reader.rest().size() < sizeof(tail)) {
        bad("cut off");
    }
    std::memcpy(&tail, bytes.data() + bytes.size() - sizeof(tail), sizeof(tail));
    if (fnv(fnv_start, bytes.data(), bytes.size() - sizeof(tail.check)) != tail.check) {
        bad("damaged or cut off: its check sum is another");
    }
    Reader values(reader.rest().first(reader.rest().size() - sizeof(tail)));
    std::vector<std::pair<Key, std::span<const std::byte>>> all;
    while (!values.rest().empty()) {
        Entry entry{};
        std::span<const std::byte> value;
        if (!values.read(entry) || !values.take(entry.length, 1, value)) {
            bad("a value is longer than the file");
        }
        all.emplace_back(entry.key, value);
    }
    if (all.size() != tail.count) {
        bad("holds " + std::to_string(all.size()) + " values, says " +
            std::to_string(tail.count));
    }
    for (const auto &[key, value] : all) {
        table.apply(key, Rule::assign, 0, value);
    }
}

} // namespace be::ps
