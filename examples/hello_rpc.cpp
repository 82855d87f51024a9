// SPDX-License-Identifier: BSD-3-Clause
//
// A service that greets, and a client of it, in one program.
//
//     be_run ./hello_rpc [NAME]

#include <byteexpress/byteexpress.hpp>

#include <iostream>

int main(int argc, char **argv)
{
    const std::string name = (argc > 1) ? argv[1] : "world";

    be::Runtime runtime;
    be::Server server(runtime); // 127.0.0.1, any port
    server.add("greet", [](const be::Request &request) {
        return be::Body::take("Hello, " + std::string(request.body().text()) + "!");
    });
    server.start();

    be::ChannelOptions options;
    options.addresses = {server.address()};
    be::Channel channel(runtime, options);
    const be::Reply reply = channel.call("greet", be::Body::copy(name));
    if (!reply.ok()) {
        std::cerr << to_string(reply.status) << ": " << reply.text << "\n";
        return 1;
    }
    std::cout << reply.body.text() << "\n";
    return 0;
}
