// The least that a server on uWebSockets does in C++: walk the headers, read the body, send bytes
// that are there already. The only argument is the reply; the port is printed.
#include "App.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/prctl.h>

#include "clock.h"
#include "closed.h"
#include "tls.h"

/** Of the clock that libuv reads. */
uint64_t uv_hrtime() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/** Called where a connection cannot be accepted. */
extern "C" void slotline_on_accept_error(int) {}

/** Called where a connection is closed for a limit. */
void slotline_count_closed(slotline_limit) {}

// TLS of sockets, which this server does not have.
slotline_tls *slotline_tls_accept(slotline_tls_listener *, int) { std::abort(); }
int slotline_tls_read(slotline_tls *, char *, int) { std::abort(); }
int slotline_tls_has_unread(const slotline_tls *) { std::abort(); }
int slotline_tls_is_established(const slotline_tls *) { std::abort(); }
int slotline_tls_write(slotline_tls *, const char *, int) { std::abort(); }
int slotline_tls_has_unsent(const slotline_tls *) { std::abort(); }
int slotline_tls_flush(slotline_tls *) { std::abort(); }
int slotline_tls_end(slotline_tls *) { std::abort(); }
void slotline_tls_free(slotline_tls *) { std::abort(); }

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
