// Feeds the HTTP parser with mutated requests, as a whole and split into packets, under
// AddressSanitizer and UndefinedBehaviorSanitizer. Fails where memory is misused, where a handler
// gets bytes outside of what was received, or where the splits change what is read.
//
// The first byte of an input decides how the rest is split. libFuzzer chooses inputs by the code that
// they reach; without it (`WITHOUT_LIBFUZZER`) a generator makes them: `parser <inputs> <seed>`.

#include "HttpParser.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

/** A fast generator with a seed, so that a finding can be repeated. */
struct Random {
    uint64_t state;
    uint32_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (uint32_t) (state >> 16);
    }
    uint32_t below(size_t bound) { return bound == 0 ? 0 : next() % (uint32_t) bound; }
};

const std::string SEEDS[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a?b=c HTTP/1.0\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n",
    "\r\n\r\nPOST /t HTTP/1.1\r\nHost: a:80\r\nContent-Length: 1\r\n\r\nx\r\nGET /b HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: TE, Close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "OPTIONS /x HTTP/1.1\r\nHost: a\r\nX_Y: \t v \r\nConnection: close\r\nAccept-Encoding: gzip, br\r\n\r\n",
    "PROXY TCP4 1.2.3.4 5.6.7.8 80 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x01\x02\x03\x04\x05\x06\x07\x08\0\x50\0\x50"
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 55),
};

const char *const TOKENS[] = {
    "\r\n", "\r", "\n", "\r\n\r\n", " ", ":", "\t", "0\r\n\r\n", "Host: b\r\n", "Content-Length: 3\r\n",
    "Transfer-Encoding: chunked\r\n", "Connection: close, TE\r\n", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "GET /", "ffffffffffffffff",
    "18446744073709551616", ";", "X: y\r\n", "%00", "?",
};

template <typename T, size_t Count> const T &anyOf(const T (&values)[Count], Random &random) {
    return values[random.below(Count)];
}

/** Changes an input in one place. */
void mutate(std::string &input, Random &random) {
    const size_t at = random.below(input.size() + 1);
    switch (random.below(7)) {
    case 0: input.insert(at, anyOf(TOKENS, random)); break;
    case 1: input.erase(at, 1 + random.below(8)); break;
    case 2: if (at < input.size()) input[at] = (char) random.next(); break;
    case 3: input.insert(at, 1 + random.below(300), (char) random.next()); break;
    case 4: input += anyOf(SEEDS, random); break;
    case 5: input.insert(at, input.substr(random.below(input.size() + 1), random.below(40))); break;
    // Some heads reach the bounds of fields and of bytes.
    default: if (random.below(64) == 0)
        for (uint32_t count = random.below(4200); count > 0; count--) input.insert(at, "X: y\r\n");
    }
}

[[noreturn]] void fail(const char *reason, const std::string &input) {
    fprintf(stderr, "%s:\n", reason);
    for (unsigned char byte : input) fprintf(stderr, "%02x", byte);
    fprintf(stderr, "\n");
    abort();
}

/**
 * Everything that is read from an input in packets that end at `splits`, as one text. Where it
 * `holds`, each response is pending until something else has come.
 */
std::string read(const std::string &input, const std::vector<size_t> &splits, bool holds) {
    constexpr size_t PADDING = 32;
    uWS::HttpParser parser;
    std::string transcript;
    int user = 0;
    bool isPending = false;
    // As uSockets lays out what it receives: padding before and behind, on the heap.
    auto feed = [&](std::string_view bytes) {
        const std::unique_ptr<char[]> memory(new char[PADDING + bytes.length() + PADDING]());
        char *packet = memory.get() + PADDING;
        memcpy(packet, bytes.data(), bytes.length());
        auto [error, returned] = parser.consumePostPadded(
            packet, (unsigned) bytes.length(), &user, nullptr,
            [&](void *same, uWS::HttpRequest *request) -> void * {
                if (isPending) fail("a request before the response to the last one", input);
                isPending = holds;
                transcript.append("\n> ").append(request->getCaseSensitiveMethod()).append(" ");
                transcript.append(request->getUrl()).append("?").append(request->getQuery());
                transcript.append(request->isAncient() ? " 1.0" : " 1.1");
                for (auto [name, value] : *request)
                    transcript.append("\n").append(name).append("=").append(value);
                if (request->hasToken("connection", "close")) transcript.append("\ncloses");
                transcript.append("\nbody ");
                if (request->hasWholeBody() && request->getWholeBody().length() > input.length())
                    fail("a whole body that was not received", input);
                return same;
            },
            [&](void *same, std::string_view chunk, bool isLast) -> void * {
                transcript.append(chunk);
                if (isLast) transcript.append("\nend");
                return same;
            },
            [&]() { return isPending; });
        if (returned != &user) {
            // Of a long malformed head the length or the form may be found first.
            const bool isLong = input.size() > uWS::MAX_FALLBACK_SIZE;
            transcript.append("\nerror ").append(isLong ? "" : std::to_string(error));
        }
        return std::pair(returned == &user, std::string(parser.getHeld()));
    };
    size_t start = 0;
    for (size_t end : splits) {
        std::string bytes = input.substr(start, end - start);
        while (!bytes.empty()) {
            auto [isValid, held] = feed(bytes);
            if (!isValid) return transcript;
            if (held.length() > bytes.length()) fail("more is held than was received", input);
            if (!held.empty()) isPending = false;
            bytes = held;
        }
        start = end;
    }
    return transcript;
}

/** Reads an input as a whole and split. */
void check(const std::string &input, Random &random) {
    if (input.empty()) return;
    std::vector<size_t> splits;
    for (size_t at = 1 + random.below(input.size()); at < input.size();
         at += 1 + random.below(random.below(3) == 0 ? 3 : input.size()))
        splits.push_back(at);
    splits.push_back(input.size());
    const std::string whole = read(input, {input.size()}, false);
    const std::string parts = read(input, splits, random.below(2) == 0);
    if (whole == parts) return;
    fprintf(stderr, "whole:%s\ncut:%s\n", whole.c_str(), parts.c_str());
    fail("splits change what is read", input);
}

} // namespace

#ifdef WITHOUT_LIBFUZZER

int main(int argc, char **argv) {
    const long inputs = argc > 1 ? atol(argv[1]) : 100000;
    Random random{argc > 2 ? strtoull(argv[2], nullptr, 10) : 1};
    for (long count = 0; count < inputs; count++) {
        std::string input = anyOf(SEEDS, random);
        for (uint32_t changes = random.below(5); changes > 0; changes--) mutate(input, random);
        check(input, random);
    }
    printf("%ld inputs\n", inputs);
}

#else

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t sizeMax);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    Random random{data[0] + 1u};
    check({(const char *) data + 1, size - 1}, random);
    return 0;
}

/** Either libFuzzer's mutations, or those of requests, which know their tokens. */
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t sizeMax, unsigned seed) {
    Random random{seed + 1u};
    if (size > 1 && random.below(2) == 0) return LLVMFuzzerMutate(data, size, sizeMax);
    const bool isNew = size < 2 || random.below(50) == 0;
    std::string input = isNew ? anyOf(SEEDS, random) : std::string((const char *) data + 1, size - 1);
    for (uint32_t changes = 1 + random.below(4); changes > 0; changes--) mutate(input, random);
    data[0] = (uint8_t) random.next();
    const size_t length = std::min(input.size(), sizeMax - 1);
    memcpy(data + 1, input.data(), length);
    return length + 1;
}

#endif
