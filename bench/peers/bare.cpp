// The least that a server on uWebSockets does in C++: walk the headers, read the body, send bytes
// that are there already. The only argument is the reply; the port is printed.
#include "App.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <sys/prctl.h>

#include "clock.h"

/** Of the clock that libuv reads. */
uint64_t uv_hrtime() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/** Called where a connection cannot be accepted. */
extern "C" void slotline_on_accept_error(int) {}

int main(int, char **arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string reply = arguments[1];
    size_t headerBytes = 0;
    uWS::App()
        .post("/*", [&](auto *response, auto *request) {
            for (auto [name, value] : *request) headerBytes += name.length() + value.length();
            response->onAborted([]() {});
            response->onData([response, &reply](std::string_view, bool isLast) {
                if (isLast) response->writeHeader("content-type", "application/json")->end(reply);
            });
        })
        .listen("127.0.0.1", 0, [](us_listen_socket_t *listener) {
            std::printf("%d\n", us_socket_local_port(0, (us_socket_t *) listener));
            std::fflush(stdout);
        })
        .run();
    return (int) (headerBytes & 1);
}
