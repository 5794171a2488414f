// The limits of connections of an app.
#pragma once

#include "App.h"
#include "closed.h"

#include <functional>
#include <list>
#include <string>
#include <unordered_map>

namespace slotline {

using Response = uWS::HttpResponse<false>;

/** Connections that were not authenticated, oldest first. */
using Unknown = std::list<Response *>;

/** Connections and WebSockets of one address. */
struct Peer {
    size_t count = 0;
    Unknown unknown;
};

/** By address; of IPv6 by its first 64 bits, because one client has all addresses behind them. */
using Peers = std::unordered_map<std::string, Peer>;

/**
 * Connections of one app. One that opens over a limit has the oldest closed that idles and was
 * never authenticated, of its address or of all, which is itself where there is no other.
 */
class Connections {
public:
    size_t max = SIZE_MAX;
    size_t perPeerMax = SIZE_MAX;
    /** Whether an address is of a proxy, whose connections carry many clients. */
    std::function<bool(std::string_view)> isProxy = [](std::string_view) { return false; };

    /** Whether a connection is of this app. */
    bool has(Response *connection) const { return contextOf(connection) == context; }

    void add(Response *connection) {
        context = contextOf(connection);
        std::string_view address = connection->getRemoteAddress();
        Peers::value_type *peer = &*peers.try_emplace(std::string(keyOf(address))).first;
        Unknown &ofPeer = peer->second.unknown;
        places[connection] = {peer, unknown.insert(unknown.end(), connection),
                              ofPeer.insert(ofPeer.end(), connection)};
        count++;
        peer->second.count++;
        if (peer->second.count > perPeerMax && !isProxy(address))
            closeOldest(ofPeer, SLOTLINE_ADDRESS);
        else if (count > max) closeOldest(unknown, SLOTLINE_TOTAL);
    }

    /** A connection has closed. */
    void remove(Response *connection) { removeSocket(detach(connection)); }

    /** A connection becomes a WebSocket: what `removeSocket` must be given when that has closed. */
    Peers::value_type *detach(Response *connection) {
        authenticate(connection);
        auto place = places.find(connection);
        if (place == places.end()) return nullptr;
        Peers::value_type *peer = place->second.peer;
        places.erase(place);
        return peer;
    }

    void removeSocket(Peers::value_type *peer) {
        if (peer == nullptr) return;
        count--;
        if (--peer->second.count == 0) peers.erase(peers.find(peer->first));
    }

    /** A request of the connection was authenticated. */
    void authenticate(Response *connection) {
        if (connection->isAuthenticated()) return;
        connection->isAuthenticated() = true;
        auto place = places.find(connection);
        if (place == places.end()) return;
        unknown.erase(place->second.inAll);
        place->second.peer->second.unknown.erase(place->second.inPeer);
    }

private:
    /** Where a connection is; the iterators are valid until it is authenticated. */
    struct Place {
        Peers::value_type *peer;
        Unknown::iterator inAll, inPeer;
    };

    us_socket_context_t *context = nullptr;
    size_t count = 0;
    Unknown unknown;
    Peers peers;
    std::unordered_map<Response *, Place> places;

    static us_socket_context_t *contextOf(Response *connection) {
        return us_socket_context(0, (us_socket_t *) connection);
    }

    static std::string_view keyOf(std::string_view address) {
        static constexpr std::string_view MAPPED("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
        if (address.length() != 16) return address;
        return address.substr(0, 12) == MAPPED ? address.substr(12) : address.substr(0, 8);
    }

    static void closeOldest(const Unknown &connections, slotline_limit limit) {
        for (Response *oldest : connections) {
            if (!oldest->hasResponded()) continue;
            slotline_count_closed(limit);
            oldest->close();
            return;
        }
    }
};

/** The first part of a path that is shorter is the name of a route. */
constexpr size_t TOKEN_LENGTH_MIN = 32;

/** Whether the last token on the connection is that of the request, and was authenticated there. */
inline bool isKnown(Response *response, uWS::HttpRequest *request) {
    auto &client = response->client();
    std::string_view token = request->getFullUrl();
    if (!token.empty()) token.remove_prefix(1);
    token = token.substr(0, token.find_first_of("/?"));
    if (token.length() < TOKEN_LENGTH_MIN) token = request->getHeader("x-token");
    size_t id = std::hash<std::string_view>{}(token);
    if (client.id != id || token.empty()) client = {id, false};
    return client.isKnown;
}

} // namespace slotline
