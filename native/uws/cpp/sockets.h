// WebSockets, as functions of JavaScript.
#pragma once

#include "http.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <utility>

#include <poll.h>

namespace slotline {

/** The largest integer that is exact in JavaScript. */
constexpr double MAX_SAFE_INTEGER = 9007199254740991;

/** The arguments of a function of a WebSocket, and the socket. */
template <size_t Count> struct SocketCall : Arguments<Count> {
    double handle;
    Socket *socket;

    SocketCall(napi_env env, napi_callback_info info) : Arguments<Count>(env, info) {
        handle = this->number(0);
        socket = library->sockets.find(handle);
        if (socket == nullptr) fail(env, "uWS.WebSocket must not be accessed after it was closed");
    }
};

inline uint32_t slotOf(Socket *socket) {
    return Table<Socket>::slotOf(socket->getUserData()->handle);
}

/** Adds the context of a route to those that `upgrade` accepts, and returns its index. */
inline double contextIndex(us_socket_context_t *context) {
    std::vector<us_socket_context_t *> &contexts = library->socketContexts;
    for (size_t index = 0; index < contexts.size(); index++)
        if (contexts[index] == context) return (double) index;
    contexts.push_back(context);
    return (double) (contexts.size() - 1);
}

inline void onOpen(Socket *socket) {
    Library &lib = *library;
    double handle = lib.sockets.add(socket);
    socket->getUserData()->handle = handle;
    if (lib.isStopped) return;
    Scope scope(lib.env);
    lib.onOpen.call({toNumber(lib.env, handle)});
}

/** What is reported of a socket, by the number that JavaScript has for it. */
enum Exceeded { LAGGING, STALLED, SLOWEST };

/** Has JavaScript decide about a socket. Of one that was ended nothing is known there any more. */
inline void report(Socket *socket, Exceeded what) {
    Library &lib = *library;
    double handle = socket->getUserData()->handle;
    if (lib.isStopped || lib.sockets.find(handle) == nullptr) return;
    Scope scope(lib.env);
    lib.onExceeded.call({toNumber(lib.env, Table<Socket>::slotOf(handle)), toNumber(lib.env, what)});
}

/** Reports the sockets for which most waits, until the rest fits the bound of all. */
inline void reportSlowest(Outboxes &all) {
    if (all.bytes <= all.bytesMax) return;
    std::vector<std::pair<uint64_t, double>> slowest;
    for (Outbox *outbox = all.first; outbox != nullptr; outbox = outbox->following())
        slowest.emplace_back(outbox->length(), ((Socket *) outbox->socket)->getUserData()->handle);
    std::sort(slowest.begin(), slowest.end(), std::greater<>());
    for (auto [length, handle] : slowest) {
        if (all.bytes <= all.bytesMax) return;
        Socket *socket = library->sockets.find(handle);
        if (socket != nullptr) report(socket, SLOWEST);
    }
}

/** Sends a message. May report the socket, or others, and so close them. */
inline void sendMessage(Socket *socket, std::string_view message, uWS::OpCode code, bool isCompressed) {
    Outbox &outbox = socket->getOutbox();
    Outboxes &all = *outbox.all;
    if (message.length() > all.perSocketMax / 2 && outbox.length() == 0) outbox.allowance = message.length();
    if (socket->send(message, code, isCompressed) == Socket::SendStatus::SUCCESS) return;
    if (outbox.isOver()) report(socket, LAGGING);
    reportSlowest(all);
}

/** A turn checks outboxes for about this long: to close a socket takes much longer than to look at it. */
constexpr uint64_t CHECK_TURN_NS = 1'000'000;

/** Reports a socket that exceeds a bound, or closes it where its time is up. */
inline void checkOutbox(Outbox &outbox, uint64_t now) {
    Socket *socket = (Socket *) outbox.socket;
    if (outbox.closeAtNs != 0) {
        if (now >= outbox.closeAtNs) socket->close();
        return;
    }
    if (outbox.length() <= outbox.all->perSocketMax) outbox.allowance = 0;
    if (outbox.isOver()) report(socket, LAGGING);
    else if (outbox.isStalled(now)) report(socket, STALLED);
}

/** Checks the outboxes of an app: `(app)`. False where it must be called again in a later turn. */
inline napi_value checkSockets(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    if (library->appOf(call.number(0)) == nullptr) return fail(env, "no such app");
    Outboxes &all = *library->outboxes[(size_t) call.number(0)];
    uint64_t began = monotonicNs(), now = began;
    if (!all.isChecking) all.round++;
    all.isChecking = true;
    while (all.first != nullptr && all.first->round != all.round) {
        if (now - began > CHECK_TURN_NS) return toBoolean(env, false);
        Outbox &outbox = *all.first;
        outbox.moveToEnd();
        checkOutbox(outbox, now);
        now = monotonicNs();
    }
    all.isChecking = false;
    reportSlowest(all);
    return toBoolean(env, true);
}

/** Bytes in memory that clients of an app have not taken: `(app)`. */
inline napi_value queuedBytes(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    if (library->appOf(call.number(0)) == nullptr) return fail(env, "no such app");
    return toNumber(env, (double) library->outboxes[(size_t) call.number(0)]->bytes);
}

/** Sends the kernel's reply to a message; false where JavaScript must handle it. */
inline bool answerMessage(size_t app, Socket *socket, std::string_view message) {
    Library &lib = *library;
    const SocketData &data = *socket->getUserData();
    AppAnswer &mounted = lib.answers[app];
    // A client that does not take its replies is bounded by JavaScript.
    if (data.token.empty() || mounted.answer == nullptr || message.length() > data.messageBytesMax ||
        socket->getOutbox().length() > 0)
        return false;
    const char *reply = nullptr;
    size_t length = mounted.answer(mounted.data, data.token.data(), data.token.length(),
                                   message.data(), message.length(), &reply);
    if (length == 0) return false;
    mounted.messages++;
    sendMessage(socket, {reply, length}, uWS::OpCode::TEXT, false);
    return true;
}

inline void onMessage(size_t app, Socket *socket, std::string_view message, uWS::OpCode code) {
    Library &lib = *library;
    if (lib.isStopped || answerMessage(app, socket, message)) return;
    Scope scope(lib.env);
    Received bytes(lib, message);
    if (bytes.value == nullptr) return;
    lib.onMessage.call({toNumber(lib.env, slotOf(socket)), bytes.value,
                        toBoolean(lib.env, code == uWS::OpCode::BINARY)});
}

inline void onDrain(Socket *socket) {
    Library &lib = *library;
    if (lib.isStopped) return;
    Scope scope(lib.env);
    lib.onDrain.call({toNumber(lib.env, slotOf(socket))});
}

inline void onIdleFrames(Socket *socket, unsigned int count) {
    Library &lib = *library;
    if (lib.isStopped) return;
    Scope scope(lib.env);
    lib.onIdleFrames.call({toNumber(lib.env, slotOf(socket)), toNumber(lib.env, count)});
}

inline void onClose(Socket *socket, int code) {
    Library &lib = *library;
    double handle = socket->getUserData()->handle;
    if (lib.sockets.find(handle) == nullptr) return;
    lib.sockets.remove(handle);
    if (lib.isStopped) return;
    Scope scope(lib.env);
    lib.onClose.call({toNumber(lib.env, Table<Socket>::slotOf(handle)), toNumber(lib.env, code)});
}

/** Mounts WebSockets at a pattern: `(app, pattern, options, upgrade)`. */
inline napi_value mountSockets(napi_env env, napi_callback_info info) {
    Arguments<4> call(env, info);
    Bytes pattern;
    uWS::App *app = library->appOf(call.number(0));
    if (app == nullptr || !pattern.read(env, call.values[1])) return fail(env, "no such app");
    napi_value options = call.values[2];
    double idleSeconds = numberOf(env, options, "idleTimeout");
    // uWebSockets ends the process at other values.
    if (!(idleSeconds == 0 || (idleSeconds >= 8 && idleSeconds <= 960)))
        return fail(env, "idleTimeout must be 0, or from 8 to 960 seconds");
    uWS::App::WebSocketBehavior<SocketData> behavior;
    behavior.compression = (uWS::CompressOptions) numberOf(env, options, "compression");
    behavior.idleTimeout = (unsigned short) idleSeconds;
    behavior.maxPayloadLength = (unsigned int) numberOf(env, options, "maxPayloadLength");
    behavior.outboxes = library->outboxes[(size_t) call.number(0)].get();
    // Never reached: sockets are reported before.
    behavior.maxBackpressure = INT_MAX;
    behavior.closeOnBackpressureLimit = true;
    behavior.sendPingsAutomatically = true;
    behavior.upgrade = [handler = Callback(env, call.values[3])](auto *response, auto *request,
                                                                 auto *context) {
        Library &lib = *library;
        if (lib.isStopped) {
            response->close();
            return;
        }
        Scope scope(lib.env);
        double handle = openResponse(response);
        handler.call({toNumber(lib.env, handle), headOf(lib.env, request),
                      toNumber(lib.env, contextIndex(context))});
    };
    behavior.open = [](auto *socket) { onOpen(socket); };
    behavior.message = [index = (size_t) call.number(0)](auto *socket, std::string_view message,
                                                         uWS::OpCode code) {
        onMessage(index, socket, message, code);
    };
    behavior.drain = [](auto *socket) { onDrain(socket); };
    behavior.idleFrames = [](auto *socket, unsigned int count) { onIdleFrames(socket, count); };
    behavior.close = [index = (size_t) call.number(0)](auto *socket, int code, std::string_view) {
        library->connections[index]->removeSocket(socket->getUserData()->peer);
        onClose(socket, code);
    };
    app->ws<SocketData>(std::string(pattern.view()), std::move(behavior));
    return nullptr;
}

/** What the client does not take waits. May call `onExceeded`. */
inline napi_value sendFrame(napi_env env, napi_callback_info info) {
    SocketCall<4> call(env, info);
    Bytes frame;
    if (call.socket == nullptr) return nullptr;
    if (!frame.read(env, call.values[1])) return fail(env, "a frame is text or bytes");
    auto code = call.boolean(2) ? uWS::OpCode::BINARY : uWS::OpCode::TEXT;
    sendMessage(call.socket, frame.view(), code, call.boolean(3));
    return nullptr;
}

/**
 * Begins a frame whose payload, of so many bytes, follows by `writeFrame`; no other frame is sent
 * before its end: `(socket, byteLength, isBinary)`.
 */
inline napi_value beginFrame(napi_env env, napi_callback_info info) {
    SocketCall<3> call(env, info);
    double length = call.number(1);
    if (call.socket == nullptr) return nullptr;
    if (!(length >= 1 && length <= MAX_SAFE_INTEGER)) return fail(env, "a frame in pieces has bytes");
    call.socket->beginFrame((uint64_t) length, call.boolean(2) ? uWS::OpCode::BINARY : uWS::OpCode::TEXT);
    return nullptr;
}

/** Gives up a frame of which nothing was written. */
inline napi_value cancelFrame(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket != nullptr) call.socket->cancelFrame();
    return nullptr;
}

/** Returns how many bytes of the piece were taken; `onDrain` follows where it is not all of them. */
inline napi_value writeFrame(napi_env env, napi_callback_info info) {
    SocketCall<2> call(env, info);
    Bytes piece;
    if (call.socket == nullptr) return nullptr;
    if (!piece.read(env, call.values[1])) return fail(env, "a piece is text or bytes");
    return toNumber(env, (double) call.socket->writeFrame(piece.view()));
}

/**
 * Has point reads of this token answered before JavaScript, in messages up to a size; an empty
 * token ends it: `(socket, token, messageBytesMax)`.
 */
inline napi_value setSocketToken(napi_env env, napi_callback_info info) {
    SocketCall<3> call(env, info);
    Bytes token;
    if (call.socket == nullptr) return nullptr;
    double bytesMax = call.number(2);
    if (!token.read(env, call.values[1]) || !(bytesMax >= 0))
        return fail(env, "a token is text, and a bound a number");
    SocketData &data = *call.socket->getUserData();
    data.token = token.view();
    data.messageBytesMax = (size_t) bytesMax;
    return nullptr;
}

/**
 * Sends a close frame once all before it was taken, and nothing else. Calls `onClose` then, or before
 * it returns where nothing waits.
 */
inline napi_value endSocket(napi_env env, napi_callback_info info) {
    SocketCall<3> call(env, info);
    Bytes reason;
    if (call.socket == nullptr) return nullptr;
    if (!reason.read(env, call.values[2])) return fail(env, "a reason is text");
    call.socket->endOnceTaken((int) call.number(1), reason.view());
    return nullptr;
}

/**
 * Does not read the socket until it is resumed. A client that has left answers the ping with a reset:
 * the end of its connection may be megabytes behind, which nothing reads meanwhile.
 */
inline napi_value pauseSocket(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket == nullptr) return nullptr;
    us_socket_pause_reading(0, (us_socket_t *) call.socket);
    if (call.socket->getOutbox().length() == 0) call.socket->send({}, uWS::OpCode::PING);
    return nullptr;
}

/** Whether the peer has ended its side of the connection. */
inline bool hasLeft(Socket *socket) {
    pollfd state = {us_poll_fd((us_poll_t *) socket), POLLRDHUP, 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/** What a client sent before it left is not read after a pause: its messages are too many already. */
inline napi_value resumeSocket(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket == nullptr) return nullptr;
    if (hasLeft(call.socket)) call.socket->close();
    us_socket_resume_reading(0, (us_socket_t *) call.socket);
    return nullptr;
}

/** Closes the connection; calls `onClose` before it returns. */
inline napi_value closeSocket(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket != nullptr) call.socket->close();
    return nullptr;
}

/** Bytes that the client has not taken yet. */
inline napi_value getBufferedAmount(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket == nullptr) return nullptr;
    return toNumber(env, (double) call.socket->getOutbox().length());
}

inline napi_value subscribe(napi_env env, napi_callback_info info) {
    SocketCall<2> call(env, info);
    Bytes topic;
    if (call.socket == nullptr) return nullptr;
    if (!topic.read(env, call.values[1])) return fail(env, "a topic is text");
    return toBoolean(env, call.socket->subscribe(topic.view()));
}

inline napi_value unsubscribe(napi_env env, napi_callback_info info) {
    SocketCall<2> call(env, info);
    Bytes topic;
    if (call.socket == nullptr) return nullptr;
    if (!topic.read(env, call.values[1])) return fail(env, "a topic is text");
    return toBoolean(env, call.socket->unsubscribe(topic.view()));
}

} // namespace slotline
