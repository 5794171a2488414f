// Requests that the kernel answers before any JavaScript runs.
#pragma once

#include "library.h"

namespace slotline {

/** Content types of canonical requests; others go the ordinary way, which may refuse them. */
inline bool isJson(std::string_view type) {
    return type == "application/json" || type == "application/json; charset=utf-8";
}

/** The token of a request that may be answered: the path, or a header at the root. */
inline std::string_view tokenOf(uWS::HttpRequest *request) {
    if (request->getCaseSensitiveMethod() != "POST" || request->isAncient()) return {};
    std::string_view token = request->getFullUrl().substr(1);
    // As for the routes of JavaScript, a slash at the end makes no difference.
    if (token.length() > 1 && token.back() == '/') token.remove_suffix(1);
    for (auto [name, value] : *request) {
        bool isDeclined = (name == "content-type" && !isJson(value)) ||
                          (name == "connection" && value != "keep-alive" && value != "Keep-Alive") ||
                          name == "expect" || name == "upgrade";
        if (isDeclined) return {};
    }
    return token.empty() ? request->getHeader("x-token") : token;
}

/** Has `answer` try every request of an app whose whole body came with its head. */
inline void mountAnswer(uWS::App &app, Answer answer, void *data, std::string_view typeLines,
                        size_t bodyBytesMax) {
    app.onWholeRequest([answer, data, typeLines = std::string(typeLines),
                        bodyBytesMax](auto *response, auto *request) {
        std::string_view body = request->getWholeBody();
        std::string_view token = tokenOf(request);
        // JavaScript learns the address of each token on a connection from its first request.
        if (!isKnown(response, request)) return false;
        // A client that does not take its replies is bounded by JavaScript.
        if (token.empty() || body.length() > bodyBytesMax || response->getBufferedAmount() > 0)
            return false;
        const char *reply = nullptr;
        size_t length =
            answer(data, token.data(), token.length(), body.data(), body.length(), &reply);
        if (length == 0) return false;
        response->writeHeader("Content-Type", typeLines)->end({reply, length});
        return true;
    });
}

} // namespace slotline
