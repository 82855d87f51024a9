// SPDX-License-Identifier: BSD-3-Clause
//
// A file of any size goes to a service in parts, which stores it as they come: at most some
// MiB of it are in memory, on either side.
//
//     be_run ./upload FILE COPY

#include <byteexpress/byteexpress.hpp>

#include <fstream>
#include <iostream>

namespace {

constexpr std::size_t part_size = std::size_t{1} << 20; // StreamOptions::max_part

be::Task<be::Body> store(be::Request request, be::Stream parts)
{
    std::ofstream to(std::string(request.body().text()), std::ios::binary);
    std::size_t bytes = 0;
    std::size_t count = 0;
    be::Part part;
    while ((part = co_await parts.start_read())) {
        to << part.body.text();
        bytes += part.body.size();
        count++;
    }
    if (!part.last || !to.flush()) {
        throw std::runtime_error("the copy is not whole");
    }
    co_return be::Body::take(std::to_string(bytes) + " bytes in " +
                             std::to_string(count) + " parts");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::cerr << "usage: " << argv[0] << " FILE COPY\n";
        return 2;
    }
    std::ifstream from(argv[1], std::ios::binary);
    if (!from) {
        std::cerr << argv[1] << ": cannot be read\n";
        return 1;
    }
    be::Runtime runtime;
    be::Server server(runtime);
    server.add_stream_task("store", store);
    server.start();

    be::ChannelOptions options;
    options.addresses = {server.address()};
    be::Channel channel(runtime, options);
    auto [parts, call] = channel.open("store", be::Body::copy(argv[2]));
    while (from) {
        std::string part(part_size, '\0');
        from.read(part.data(), static_cast<std::streamsize>(part.size()));
        part.resize(static_cast<std::size_t>(from.gcount()));
        if (!part.empty() &&
            (parts.write(be::Body::take(std::move(part))) != be::Status::ok)) {
            break; // the reply says why
        }
    }
    parts.finish();
    const be::Reply reply = call.get();
    if (!reply.ok()) {
        std::cerr << to_string(reply.status) << ": " << reply.text << "\n";
        return 1;
    }
    std::cout << reply.body.text() << "\n";
    return 0;
}
