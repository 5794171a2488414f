// Requests and responses, as functions of JavaScript.
#pragma once

#include "library.h"

namespace slotline {

inline constexpr const char *RESPONSE_IS_GONE =
    "uWS.HttpResponse must not be accessed after it was aborted or answered";

/** The arguments of a function of a response, and the response. */
template <size_t Count> struct ResponseCall : Arguments<Count> {
    double handle;
    Response *response;

    ResponseCall(napi_env env, napi_callback_info info) : Arguments<Count>(env, info) {
        handle = this->number(0);
        response = library->responses.find(handle);
        if (response == nullptr) fail(env, RESPONSE_IS_GONE);
    }
};

/**
 * The head of a request as one string, which costs less than one for each part: lines with method,
 * path, query and version, after which a `+` states that a part of the body has not come, then name
 * and value of each header in turn. None can contain a line feed.
 */
inline napi_value headOf(napi_env env, uWS::HttpRequest *request) {
    static thread_local std::string head;
    head.clear();
    head.append(request->getCaseSensitiveMethod()).push_back('\n');
    head.append(request->getUrl()).push_back('\n');
    head.append(request->getQuery()).push_back('\n');
    head.append(request->isAncient() ? "1.0" : "1.1");
    if (!request->hasAllOfBody()) head.push_back('+');
    for (auto [name, value] : *request) {
        head.push_back('\n');
        head.append(name).push_back('\n');
        head.append(value);
    }
    return toText(env, head);
}

/** Registers a response with JavaScript and returns its handle. */
inline double openResponse(Response *response) {
    double handle = library->responses.add(response);
    response->onAborted([handle]() {
        Library &lib = *library;
        if (lib.responses.find(handle) == nullptr) return;
        lib.responses.remove(handle);
        if (lib.isStopped) return;
        Scope scope(lib.env);
        lib.onAborted.call({toNumber(lib.env, Table<Response>::slotOf(handle))});
    });
    return handle;
}

/** Has JavaScript handle a request. */
inline void handleRequest(const Callback &handler, Response *response, uWS::HttpRequest *request) {
    Library &lib = *library;
    if (lib.isStopped) {
        response->close();
        return;
    }
    // `mountAnswer` sees only requests whose body came with the head.
    isKnown(response, request);
    Scope scope(lib.env);
    double handle = openResponse(response);
    handler.call({toNumber(lib.env, handle), headOf(lib.env, request)});
}

inline napi_value writeStatus(napi_env env, napi_callback_info info) {
    ResponseCall<2> call(env, info);
    Bytes status;
    if (call.response == nullptr) return nullptr;
    if (!status.read(env, call.values[1])) return fail(env, "a status is text");
    call.response->writeStatus(status.view());
    return nullptr;
}

inline napi_value writeHeader(napi_env env, napi_callback_info info) {
    ResponseCall<3> call(env, info);
    Bytes name, value;
    if (call.response == nullptr) return nullptr;
    if (!name.read(env, call.values[1]) || !value.read(env, call.values[2]))
        return fail(env, "a header is text");
    call.response->writeHeader(name.view(), value.view());
    return nullptr;
}

/** The connection ends after the response, whose head is not written yet. */
inline napi_value closeAfter(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response != nullptr) call.response->closeAfter();
    return nullptr;
}

inline napi_value end(napi_env env, napi_callback_info info) {
    ResponseCall<3> call(env, info);
    Bytes body;
    if (call.response == nullptr) return nullptr;
    if (!call.isUndefined(1) && !body.read(env, call.values[1]))
        return fail(env, "a body is text or bytes");
    library->responses.remove(call.handle);
    call.response->end(body.view(), call.boolean(2));
    return nullptr;
}

inline napi_value endWithoutBody(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    library->responses.remove(call.handle);
    call.response->endWithoutBody();
    return nullptr;
}

/** Returns 1 where the kernel or the buffer took everything, plus 2 where the response is whole. */
inline napi_value tryEnd(napi_env env, napi_callback_info info) {
    ResponseCall<3> call(env, info);
    Bytes body;
    if (call.response == nullptr) return nullptr;
    if (!body.read(env, call.values[1])) return fail(env, "a body is text or bytes");
    double total = call.number(2);
    if (!(total >= 0)) return fail(env, "a length is a number");
    auto [isTaken, isDone] = call.response->tryEnd(body.view(), (uintmax_t) total);
    if (isDone) library->responses.remove(call.handle);
    return toNumber(env, (isTaken ? 1 : 0) + (isDone ? 2 : 0));
}

inline napi_value write(napi_env env, napi_callback_info info) {
    ResponseCall<2> call(env, info);
    Bytes chunk;
    if (call.response == nullptr) return nullptr;
    if (!chunk.read(env, call.values[1])) return fail(env, "a body is text or bytes");
    return toBoolean(env, call.response->write(chunk.view()));
}

inline napi_value cork(napi_env env, napi_callback_info info) {
    ResponseCall<2> call(env, info);
    if (call.response == nullptr) return nullptr;
    call.response->cork([&call, env]() {
        napi_value receiver = nullptr;
        napi_get_global(env, &receiver);
        // Called from JavaScript: what it throws stays pending and is thrown to the caller.
        napi_call_function(env, receiver, call.values[1], 0, nullptr, nullptr);
    });
    return nullptr;
}

/** Closes the connection. Calls `onAborted`. */
inline napi_value closeResponse(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response != nullptr) call.response->close();
    return nullptr;
}

inline napi_value getWriteOffset(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    return toNumber(env, (double) call.response->getWriteOffset());
}

inline napi_value getRemoteAddress(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    return toArrayBuffer(env, call.response->getRemoteAddress());
}

/**
 * The request was authenticated: its connection is not closed for others. Returns whether it is the
 * first one of its connection since another token came.
 */
inline napi_value setAuthenticated(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    Connections *known = library->connectionsOf(call.response);
    if (known != nullptr) known->authenticate(call.response);
    return toBoolean(env, !std::exchange(call.response->client().isKnown, true));
}

/** Has `onData` called with each chunk of the body. */
inline napi_value readBody(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    call.response->onData([handle = call.handle](std::string_view chunk, bool isLast) {
        Library &lib = *library;
        if (lib.isStopped || lib.responses.find(handle) == nullptr) return;
        Scope scope(lib.env);
        Received bytes(lib, chunk);
        if (bytes.value == nullptr) return;
        lib.onData.call({toNumber(lib.env, Table<Response>::slotOf(handle)), bytes.value,
                         toBoolean(lib.env, isLast)});
    });
    return nullptr;
}

/** Has `onWritable` called when the client has taken what was written. */
inline napi_value watchWritable(napi_env env, napi_callback_info info) {
    ResponseCall<1> call(env, info);
    if (call.response == nullptr) return nullptr;
    call.response->onWritable([handle = call.handle](uintmax_t offset) {
        Library &lib = *library;
        if (lib.isStopped || lib.responses.find(handle) == nullptr) return true;
        Scope scope(lib.env);
        napi_value result = lib.onWritable.call(
            {toNumber(lib.env, Table<Response>::slotOf(handle)), toNumber(lib.env, (double) offset)});
        bool isWritten = true;
        if (result != nullptr) napi_get_value_bool(lib.env, result, &isWritten);
        return isWritten;
    });
    return nullptr;
}

/** Turns a request into a WebSocket; calls `onOpen` before it returns. */
inline napi_value upgrade(napi_env env, napi_callback_info info) {
    ResponseCall<5> call(env, info);
    Bytes key, protocol, extensions;
    if (call.response == nullptr) return nullptr;
    if (!key.read(env, call.values[1]) || !protocol.read(env, call.values[2]) ||
        !extensions.read(env, call.values[3]))
        return fail(env, "a header is text");
    Library &lib = *library;
    double context = call.number(4);
    if (key.view().length() != 24 || !(context >= 0 && context < (double) lib.socketContexts.size()))
        return fail(env, "not a handshake");
    lib.responses.remove(call.handle);
    SocketData data;
    if (Connections *known = lib.connectionsOf(call.response)) data.peer = known->detach(call.response);
    call.response->upgrade<SocketData>(std::move(data), key.view(), protocol.view(), extensions.view(),
                                       lib.socketContexts[(size_t) context]);
    return nullptr;
}

} // namespace slotline
