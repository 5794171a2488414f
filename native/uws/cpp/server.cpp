// The functions of uWebSockets that JavaScript uses, over Node-API: one binary for every version of
// Node.js. JavaScript refers to responses and sockets by number, never by pointer.

#include "answers.h"
#include "closed.h"
#include "descriptors.h"
#include "sockets.h"

#include <cerrno>
#include <iterator>

#include <uv.h>

namespace slotline {

/** A property that is text. */
static std::string textOf(napi_env env, napi_value object, const char *name) {
    napi_value value = nullptr;
    Bytes text;
    napi_get_named_property(env, object, name, &value);
    return text.read(env, value) ? std::string(text.view()) : std::string();
}

/** Creates an app and returns its index: `(options)`. */
static napi_value createApp(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    napi_value given = call.values[0];
    double idleSeconds = numberOf(env, given, "idleSeconds");
    double connectionsMax = numberOf(env, given, "connectionsMax");
    double perAddressMax = numberOf(env, given, "connectionsPerAddressMax");
    if (!(connectionsMax >= 1 && perAddressMax >= 1))
        return fail(env, "a limit of connections must be at least 1");
    // The timers of uSockets have 240 steps of 4 s.
    if (!(idleSeconds >= 1 && idleSeconds <= 900))
        return fail(env, "idleSeconds must be from 1 to 900");
    library->apps.push_back(std::make_unique<uWS::App>());
    library->answers.emplace_back();
    library->outboxes.push_back(std::make_unique<Outboxes>());
    Outboxes &outboxes = *library->outboxes.back();
    outboxes.perSocketMax = (uint64_t) numberOf(env, given, "socketQueueBytesMax");
    outboxes.bytesMax = (uint64_t) numberOf(env, given, "socketsQueuedBytesMax");
    outboxes.stallNs = (uint64_t) numberOf(env, given, "socketStallMs") * 1'000'000;
    outboxes.closeNs = (uint64_t) numberOf(env, given, "socketCloseMs") * 1'000'000;
    library->connections.push_back(std::make_unique<Connections>());
    Connections *connections = library->connections.back().get();
    connections->max = (size_t) connectionsMax;
    connections->perPeerMax = (size_t) perAddressMax;
    connections->isProxy = [callback = callbackOf(env, given, "isProxy")](std::string_view address) {
        Library &lib = *library;
        if (lib.isStopped) return false;
        Scope scope(lib.env);
        napi_value result = callback.call({toArrayBuffer(lib.env, address)});
        bool isProxy = false;
        if (result != nullptr) napi_get_value_bool(lib.env, result, &isProxy);
        return isProxy;
    };
    library->apps.back()->filter([connections](Response *response, int change) {
        if (change > 0) connections->add(response);
        else connections->remove(response);
    });
    uWS::HttpOptions &options = library->apps.back()->httpOptions();
    options.idleSeconds = (unsigned int) idleSeconds;
    options.keepAlive = textOf(env, given, "keepAlive");
    options.lingerBytesMax = (uint64_t) numberOf(env, given, "lingerBytesMax");
    options.errorReplies[uWS::HTTP_ERROR_414_URI_TOO_LONG] = textOf(env, given, "urlTooLong");
    options.errorReplies[uWS::HTTP_ERROR_400_BAD_REQUEST] = textOf(env, given, "badRequest");
    options.errorReplies[uWS::HTTP_ERROR_431_REQUEST_HEADER_FIELDS_TOO_LARGE] =
        textOf(env, given, "headTooLarge");
    options.errorReplies[uWS::HTTP_ERROR_505_HTTP_VERSION_NOT_SUPPORTED] =
        textOf(env, given, "versionUnsupported");
    return toNumber(env, (double) (library->apps.size() - 1));
}

/** Mounts a handler: `(app, method, pattern, handler)`. Method `*` is any. */
static napi_value mount(napi_env env, napi_callback_info info) {
    Arguments<4> call(env, info);
    Bytes method, pattern;
    uWS::App *app = library->appOf(call.number(0));
    if (app == nullptr || !method.read(env, call.values[1]) || !pattern.read(env, call.values[2]))
        return fail(env, "no such app");
    auto handler = [callback = Callback(env, call.values[3])](auto *response, auto *request) {
        handleRequest(callback, response, request);
    };
    std::string path(pattern.view());
    std::string_view name = method.view();
    if (name == "GET") app->get(path, std::move(handler));
    else if (name == "HEAD") app->head(path, std::move(handler));
    else if (name == "POST") app->post(path, std::move(handler));
    else if (name == "OPTIONS") app->options(path, std::move(handler));
    else if (name == "*") app->any(path, std::move(handler));
    else return fail(env, "no such method");
    return nullptr;
}

/** Calls a function with 1 for each connection that opens, and -1 for each that closes. */
static napi_value filter(napi_env env, napi_callback_info info) {
    Arguments<2> call(env, info);
    uWS::App *app = library->appOf(call.number(0));
    if (app == nullptr) return fail(env, "no such app");
    app->filter([callback = Callback(env, call.values[1])](auto *, int change) {
        Library &lib = *library;
        if (lib.isStopped) return;
        Scope scope(lib.env);
        callback.call({toNumber(lib.env, change)});
    });
    return nullptr;
}

/**
 * Listens and returns the handle of the listening socket, or -1: `(app, host, port, isInherited)`. An
 * inherited socket listens already, and its descriptor is given in place of the port.
 */
static napi_value listen(napi_env env, napi_callback_info info) {
    Arguments<4> call(env, info);
    Bytes host;
    uWS::App *app = library->appOf(call.number(0));
    double port = call.number(2);
    if (app == nullptr || !host.read(env, call.values[1])) return fail(env, "no such app");
    if (!(port >= 0 && port <= 65535)) return fail(env, "no such port");
    double handle = -1;
    int options = call.boolean(3) ? LIBUS_LISTEN_INHERITED : LIBUS_LISTEN_DEFAULT;
    app->listen(std::string(host.view()), (int) port, options, [&handle](us_listen_socket_t *listener) {
        if (listener != nullptr) handle = library->listeners.add(listener);
    });
    return toNumber(env, handle);
}

static napi_value localPort(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    us_listen_socket_t *listener = library->listeners.find(call.number(0));
    if (listener == nullptr) return fail(env, "not listening");
    return toNumber(env, us_socket_local_port(0, (us_socket_t *) listener));
}

static napi_value closeListener(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    us_listen_socket_t *listener = library->listeners.find(call.number(0));
    if (listener == nullptr) return nullptr;
    library->listeners.remove(call.number(0));
    library->tlsListeners.erase(listener);
    us_listen_socket_close(0, listener);
    return nullptr;
}

/**
 * Has a listener speak TLS, with this as its certificate number `index` for the next connections;
 * throws where it cannot serve, and then changes nothing: `(listener, index, chain, key,
 * plainReply)`, both in PEM.
 */
static napi_value setCertificate(napi_env env, napi_callback_info info) {
    Arguments<5> call(env, info);
    us_listen_socket_t *listener = library->listeners.find(call.number(0));
    Bytes chain, key, plainReply;
    if (listener == nullptr) return fail(env, "not listening");
    if (!chain.read(env, call.values[2]) || !key.read(env, call.values[3]) ||
        !plainReply.read(env, call.values[4]))
        return fail(env, "certificates are bytes");
    std::unique_ptr<slotline_tls_listener> &tls = library->tlsListeners[listener];
    if (tls == nullptr) tls = std::make_unique<slotline_tls_listener>();
    // Connections that have begun keep the set that they have.
    CertificateSet set = tls->certificates == nullptr ? CertificateSet() : *tls->certificates;
    double index = call.number(1);
    if (!(index >= 0 && index <= (double) set.contexts.size())) return fail(env, "no such index");
    std::string reason;
    Context context = createContext(chain.view(), key.view(), reason);
    if (context == nullptr) return fail(env, reason.c_str());
    if (index == (double) set.contexts.size()) set.contexts.emplace_back();
    set.contexts[(size_t) index] = std::move(context);
    set.plainReply = plainReply.view();
    tls->certificates = std::make_shared<const CertificateSet>(std::move(set));
    us_listen_socket_tls(listener, tls.get());
    return nullptr;
}

/** Connections that were closed because of a limit since the start, by limit. */
static uint64_t closedConnections[SLOTLINE_LIMITS];

/** The names that JavaScript has for `slotline_limit`, in its order. */
static constexpr const char *LIMITS[] = {"address", "total",   "descriptors", "handshake", "records",
                                         "idle",    "request", "response",    "linger"};
static_assert(std::size(LIMITS) == SLOTLINE_LIMITS);

/** Connections that were closed because of a limit, by its name. */
static napi_value countClosed(napi_env env, napi_callback_info) {
    napi_value result = nullptr;
    napi_create_object(env, &result);
    for (size_t limit = 0; limit < SLOTLINE_LIMITS; limit++)
        napi_set_named_property(env, result, LIMITS[limit],
                                toNumber(env, (double) closedConnections[limit]));
    return result;
}

static napi_value publish(napi_env env, napi_callback_info info) {
    Arguments<5> call(env, info);
    Bytes topic, frame;
    uWS::App *app = library->appOf(call.number(0));
    if (app == nullptr || app->topicTree == nullptr) return nullptr;
    if (!topic.read(env, call.values[1]) || !frame.read(env, call.values[2]))
        return fail(env, "a frame is text or bytes");
    auto code = call.boolean(3) ? uWS::OpCode::BINARY : uWS::OpCode::TEXT;
    app->publish(topic.view(), frame.view(), code, call.boolean(4));
    reportSlowest(*library->outboxes[(size_t) call.number(0)]);
    return nullptr;
}

/** Messages of WebSockets of an app that were answered before JavaScript: `(app)`. */
static napi_value answeredMessages(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    if (library->appOf(call.number(0)) == nullptr) return fail(env, "no such app");
    return toNumber(env, (double) library->answers[(size_t) call.number(0)].messages);
}

/** Measures the turns of the event loop from now on: `(upperSeconds)`; see `Turns`. */
static napi_value measureTurns(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    napi_typedarray_type type = napi_uint8_array;
    size_t length = 0;
    void *data = nullptr;
    napi_get_typedarray_info(env, call.values[0], &type, &length, &data, nullptr, nullptr);
    if (type != napi_float64_array) return fail(env, "bounds are a Float64Array");
    const double *bounds = static_cast<const double *>(data);
    uv_loop_t *loop = nullptr;
    napi_get_uv_event_loop(env, &loop);
    library->turns.start(loop, {bounds, bounds + length});
    return nullptr;
}

/** What was measured since the last call; see `Turns::take`. */
static napi_value takeTurns(napi_env env, napi_callback_info) {
    std::vector<double> taken = library->turns.take();
    napi_value result = nullptr;
    napi_create_array_with_length(env, taken.size(), &result);
    for (uint32_t index = 0; index < taken.size(); index++)
        napi_set_element(env, result, index, toNumber(env, taken[index]));
    return result;
}

/** Closes every connection of an app. Its listeners must be closed before. */
static napi_value closeApp(napi_env env, napi_callback_info info) {
    Arguments<1> call(env, info);
    uWS::App *app = library->appOf(call.number(0));
    if (app == nullptr) return fail(env, "no such app");
    app->close();
    return nullptr;
}

/** Names the functions that are called with events: `(handlers, received)`. */
static napi_value setHandlers(napi_env env, napi_callback_info info) {
    Arguments<2> call(env, info);
    Library &lib = *library;
    void *received = nullptr;
    napi_ref kept = nullptr;
    if (napi_get_arraybuffer_info(env, call.values[1], &received, &lib.receivedLength) != napi_ok ||
        napi_create_reference(env, call.values[1], 1, &kept) != napi_ok)
        return fail(env, "received bytes need an ArrayBuffer");
    lib.received = static_cast<char *>(received);
    lib.onData = callbackOf(env, call.values[0], "onData");
    lib.onAborted = callbackOf(env, call.values[0], "onAborted");
    lib.onWritable = callbackOf(env, call.values[0], "onWritable");
    lib.onOpen = callbackOf(env, call.values[0], "onOpen");
    lib.onMessage = callbackOf(env, call.values[0], "onMessage");
    lib.onDrain = callbackOf(env, call.values[0], "onDrain");
    lib.onExceeded = callbackOf(env, call.values[0], "onExceeded");
    lib.onIdleFrames = callbackOf(env, call.values[0], "onIdleFrames");
    lib.onClose = callbackOf(env, call.values[0], "onClose");
    return nullptr;
}

static const struct {
    const char *name;
    napi_callback function;
} FUNCTIONS[] = {
    {"setHandlers", setHandlers},
    {"createApp", createApp},
    {"mount", mount},
    {"mountSockets", mountSockets},
    {"filter", filter},
    {"listen", listen},
    {"localPort", localPort},
    {"closeListener", closeListener},
    {"setCertificate", setCertificate},
    {"publish", publish},
    {"answeredMessages", answeredMessages},
    {"checkSockets", checkSockets},
    {"queuedBytes", queuedBytes},
    {"closedConnections", countClosed},
    {"closeApp", closeApp},
    {"measureTurns", measureTurns},
    {"takeTurns", takeTurns},
    {"writeStatus", writeStatus},
    {"writeHeader", writeHeader},
    {"closeAfter", closeAfter},
    {"end", end},
    {"endWithoutBody", endWithoutBody},
    {"tryEnd", tryEnd},
    {"write", write},
    {"cork", cork},
    {"close", closeResponse},
    {"getWriteOffset", getWriteOffset},
    {"getRemoteAddress", getRemoteAddress},
    {"setAuthenticated", setAuthenticated},
    {"readBody", readBody},
    {"watchWritable", watchWritable},
    {"upgrade", upgrade},
    {"sendFrame", sendFrame},
    {"beginFrame", beginFrame},
    {"cancelFrame", cancelFrame},
    {"writeFrame", writeFrame},
    {"setSocketToken", setSocketToken},
    {"endSocket", endSocket},
    {"pauseSocket", pauseSocket},
    {"resumeSocket", resumeSocket},
    {"closeSocket", closeSocket},
    {"getBufferedAmount", getBufferedAmount},
    {"subscribe", subscribe},
    {"unsubscribe", unsubscribe},
};

} // namespace slotline

/**
 * Creates the object with the functions of the server for this environment and its event loop.
 * Returns nullptr where the environment has no event loop.
 */
extern "C" napi_value slotline_server_functions(napi_env env) noexcept {
    using namespace slotline;
    uv_loop_t *loop = nullptr;
    if (napi_get_uv_event_loop(env, &loop) != napi_ok || loop == nullptr) return nullptr;
    if (library == nullptr) {
        uWS::Loop *uwsLoop = uWS::Loop::get(loop);
        uwsLoop->integrate();
        uwsLoop->setSilent(true);
        library = new Library();
        library->env = env;
        openSpareDescriptor();
        napi_add_env_cleanup_hook(
            env, [](void *stopped) { static_cast<Library *>(stopped)->isStopped = true; }, library);
    }
    napi_value functions = nullptr;
    napi_create_object(env, &functions);
    for (const auto &[name, callback] : FUNCTIONS) {
        napi_value function = nullptr;
        napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
        napi_set_named_property(env, functions, name, function);
    }
    return functions;
}

extern "C" void slotline_count_closed(slotline_limit limit) {
    slotline::closedConnections[limit]++;
}

/** Called by uSockets where a connection cannot be accepted. */
extern "C" void slotline_on_accept_error(int listener) noexcept {
    if (errno == EMFILE || errno == ENFILE) slotline::refuseConnections(listener);
}

/**
 * See `mountAnswer`. False where there is no such app. `data` must live as long as the process.
 */
extern "C" bool slotline_mount_answer(double app, slotline::Answer answer, void *data, const char *typeLines,
                                      size_t typeLinesLength, size_t bodyBytesMax) noexcept {
    using namespace slotline;
    uWS::App *known = library == nullptr ? nullptr : library->appOf(app);
    if (known == nullptr) return false;
    library->answers[(size_t) app] = {answer, data};
    mountAnswer(*known, answer, data, {typeLines, typeLinesLength}, bodyBytesMax);
    return true;
}
