// WebSockets, as functions of JavaScript.
#pragma once

#include "http.h"

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

/** Sends the kernel's reply to a message; false where JavaScript must handle it. */
inline bool answerMessage(size_t app, Socket *socket, std::string_view message) {
    Library &lib = *library;
    const SocketData &data = *socket->getUserData();
    AppAnswer &mounted = lib.answers[app];
    // A client that does not take its replies is bounded by JavaScript.
    if (data.token.empty() || mounted.answer == nullptr || message.length() > data.messageBytesMax ||
        socket->getBufferedAmount() > 0)
        return false;
    const char *reply = nullptr;
    size_t length = mounted.answer(mounted.data, data.token.data(), data.token.length(),
                                   message.data(), message.length(), &reply);
    if (length == 0) return false;
    mounted.messages++;
    if (socket->send({reply, length}, uWS::OpCode::TEXT) == Socket::SendStatus::SUCCESS) return true;
    Scope scope(lib.env);
    lib.onQueued.call({toNumber(lib.env, slotOf(socket)), toNumber(lib.env, (double) length)});
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
    behavior.maxBackpressure = (unsigned int) numberOf(env, options, "maxBackpressure");
    behavior.closeOnBackpressureLimit = numberOf(env, options, "closeOnBackpressureLimit") != 0;
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

/** Returns 1 where the frame was taken, 0 where it is buffered, 2 where it was dropped. */
inline napi_value sendFrame(napi_env env, napi_callback_info info) {
    SocketCall<4> call(env, info);
    Bytes frame;
    if (call.socket == nullptr) return nullptr;
    if (!frame.read(env, call.values[1])) return fail(env, "a frame is text or bytes");
    auto code = call.boolean(2) ? uWS::OpCode::BINARY : uWS::OpCode::TEXT;
    return toNumber(env, call.socket->send(frame.view(), code, call.boolean(3)));
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

/** Sends a close frame; calls `onClose` before it returns. */
inline napi_value endSocket(napi_env env, napi_callback_info info) {
    SocketCall<3> call(env, info);
    Bytes reason;
    if (call.socket == nullptr) return nullptr;
    if (!reason.read(env, call.values[2])) return fail(env, "a reason is text");
    call.socket->end((int) call.number(1), reason.view());
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
    if (call.socket->getBufferedAmount() == 0) call.socket->send({}, uWS::OpCode::PING);
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

inline napi_value getBufferedAmount(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket == nullptr) return nullptr;
    return toNumber(env, call.socket->getBufferedAmount());
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

inline napi_value isSubscribed(napi_env env, napi_callback_info info) {
    SocketCall<2> call(env, info);
    Bytes topic;
    if (call.socket == nullptr) return nullptr;
    if (!topic.read(env, call.values[1])) return fail(env, "a topic is text");
    return toBoolean(env, call.socket->isSubscribed(topic.view()));
}

inline napi_value getTopics(napi_env env, napi_callback_info info) {
    SocketCall<1> call(env, info);
    if (call.socket == nullptr) return nullptr;
    napi_value topics = nullptr;
    uint32_t count = 0;
    napi_create_array(env, &topics);
    call.socket->iterateTopics([&](std::string_view topic) {
        napi_set_element(env, topics, count++, toText(env, topic));
    });
    return topics;
}

} // namespace slotline
