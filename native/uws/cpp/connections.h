// The limit of connections of an app.
#pragma once

#include "App.h"

#include <list>
#include <unordered_map>

namespace slotline {

using Response = uWS::HttpResponse<false>;

/**
 * Connections of one app. One that opens over the limit has the oldest closed that idles and was
 * never authenticated, which is itself where there is no other.
 */
class Connections {
public:
    size_t max = SIZE_MAX;

    /** Whether a connection is of this app. */
    bool has(Response *connection) const { return contextOf(connection) == context; }

    void add(Response *connection) {
        context = contextOf(connection);
        count++;
        unknown.push_back(connection);
        places[connection] = std::prev(unknown.end());
        if (count <= max) return;
        for (Response *oldest : unknown) {
            if (!oldest->hasResponded()) continue;
            oldest->close();
            return;
        }
    }

    /** A connection has closed. */
    void remove(Response *connection) {
        count--;
        forget(connection);
    }

    /** A WebSocket has closed that `authenticate` was called for before the upgrade. */
    void removeSocket() { count--; }

    void authenticate(Response *connection) {
        if (connection->isAuthenticated()) return;
        connection->isAuthenticated() = true;
        forget(connection);
    }

private:
    us_socket_context_t *context = nullptr;
    size_t count = 0;
    /** Those that were not authenticated, oldest first. */
    std::list<Response *> unknown;
    std::unordered_map<Response *, std::list<Response *>::iterator> places;

    static us_socket_context_t *contextOf(Response *connection) {
        return us_socket_context(0, (us_socket_t *) connection);
    }

    void forget(Response *connection) {
        auto place = places.find(connection);
        if (place == places.end()) return;
        unknown.erase(place->second);
        places.erase(place);
    }
};

} // namespace slotline
