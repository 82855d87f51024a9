// SPDX-License-Identifier: BSD-3-Clause
//
// A process that is to be watched: prints its id, and calls itself some hundred times at the
// start and for each line that it reads. Ends with its input.
#include <byteexpress/byteexpress.hpp>

#include <iostream>
#include <string>

#include <unistd.h>

int main()
{
    be::Runtime server_runtime;
    be::Server server(server_runtime);
    server.add("echo", [](const be::Request &request) { return request.body(); });
    server.start();
    be::Runtime runtime;
    be::ChannelOptions options;
    options.addresses = {server.address()};
    be::Channel channel(runtime, options);

    std::string line;
    do {
        for (unsigned i = 0; i < 200; i++) {
            channel.call("echo", be::Body::copy("x")).value();
        }
        std::cout << getpid() << std::endl;
    } while (std::getline(std::cin, line));
    return 0;
}
