// State of the server in one JavaScript environment.
#pragma once

#include "certificates.h"
#include "connections.h"
#include "outbox.h"
#include "table.h"
#include "turns.h"
#include "values.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace slotline {

/**
 * Answers a request: returns the length of the whole reply and where it is, valid until the next
 * call; 0 where JavaScript must handle the request.
 */
using Answer = size_t (*)(void *data, const char *token, size_t tokenLength, const char *body,
                          size_t bodyLength, const char **reply);

/** What answers requests of an app before any JavaScript runs. */
struct AppAnswer {
    Answer answer = nullptr;
    void *data = nullptr;
    /** Messages of WebSockets that were answered. */
    uint64_t messages = 0;
};

/** What each WebSocket carries. */
struct SocketData {
    double handle = -1;
    /** Messages up to this size may be answered by this token before JavaScript; empty: none. */
    std::string token;
    size_t messageBytesMax = 0;
    /** See `Connections::detach`. */
    Peers::value_type *peer = nullptr;
};

using Socket = uWS::WebSocket<false, true, SocketData>;

struct Library {
    napi_env env = nullptr;
    Table<Response> responses;
    Table<Socket> sockets;
    /** Never freed before the process ends, as their event loop. */
    std::vector<std::unique_ptr<uWS::App>> apps;
    /** By the index of the app, as the next. */
    std::vector<AppAnswer> answers;
    std::vector<std::unique_ptr<Connections>> connections;
    std::vector<std::unique_ptr<Outboxes>> outboxes;
    Table<us_listen_socket_t> listeners;
    /** Of the listeners that speak TLS. */
    std::unordered_map<us_listen_socket_t *, std::unique_ptr<slotline_tls_listener>> tlsListeners;
    Turns turns;
    std::vector<us_socket_context_t *> socketContexts;
    /** Functions of JavaScript that handle events of responses and sockets. */
    Callback onData, onAborted, onWritable, onOpen, onMessage, onDrain, onExceeded,
        onIdleFrames, onClose;
    /**
     * Memory of JavaScript for what is received, one message or chunk of a body after another: an
     * ArrayBuffer for each would be garbage by the byte, which has V8 mark the heap for milliseconds.
     */
    char *received = nullptr;
    size_t receivedLength = 0;
    bool isReceiving = false;
    /** The environment ends: JavaScript must not be called any more. */
    bool isStopped = false;

    /** The connections of the app that a connection is of. */
    Connections *connectionsOf(Response *connection) const {
        for (const auto &known : connections)
            if (known->has(connection)) return known.get();
        return nullptr;
    }

    uWS::App *appOf(double index) const {
        return index >= 0 && index < (double) apps.size() ? apps[(size_t) index].get() : nullptr;
    }
};

/**
 * Received bytes as JavaScript gets them while this lives: their length where they are in
 * `Library::received`; an ArrayBuffer where they do not fit, or it is in use.
 */
class Received {
public:
    Received(Library &lib, std::string_view bytes)
        : lib(lib), isShared(!lib.isReceiving && bytes.length() <= lib.receivedLength) {
        if (!isShared) {
            value = toArrayBuffer(lib.env, bytes);
            return;
        }
        lib.isReceiving = true;
        if (!bytes.empty()) memcpy(lib.received, bytes.data(), bytes.length());
        value = toNumber(lib.env, (double) bytes.length());
    }
    ~Received() {
        if (isShared) lib.isReceiving = false;
    }
    Received(const Received &) = delete;
    Received &operator=(const Received &) = delete;

    /** Null where there is no memory. */
    napi_value value = nullptr;

private:
    Library &lib;
    const bool isShared;
};

/** One library per thread, because there is one event loop per thread. */
inline thread_local Library *library = nullptr;

} // namespace slotline
