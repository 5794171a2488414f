// Feeds the HTTP parser with mutated requests, as a whole and cut into packets, under
// AddressSanitizer: `parser <inputs> <seed>`. Fails where memory is misused, where a handler gets
// bytes outside of what was received, or where the cuts change what is read.

#include "HttpParser.h"

#include <cstdio>
#include <cstdlib>
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

const std::vector<std::string> SEEDS = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a?b=c HTTP/1.0\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
    "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n",
    "OPTIONS /x HTTP/1.1\r\nHost: a\r\nX_Y: \t v \r\nConnection: close\r\nAccept-Encoding: gzip, br\r\n\r\n",
    std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x01\x02\x03\x04\x05\x06\x07\x08\0\x50\0\x50"
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 55),
};

const char *const TOKENS[] = {
    "\r\n", "\r", "\n", "\r\n\r\n", " ", ":", "\t", "0\r\n\r\n", "Host: b\r\n", "Content-Length: 3\r\n",
    "Transfer-Encoding: chunked\r\n", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "GET /", "ffffffffffffffff",
    "18446744073709551616", ";", "X: y\r\n", "%00", "?",
};

std::string mutated(Random &random) {
    std::string input = SEEDS[random.below(SEEDS.size())];
    for (uint32_t count = random.below(5); count > 0; count--) {
        size_t at = random.below(input.size() + 1);
        switch (random.below(6)) {
        case 0: input.insert(at, TOKENS[random.below(sizeof(TOKENS) / sizeof(TOKENS[0]))]); break;
        case 1: input.erase(at, 1 + random.below(8)); break;
        case 2: if (at < input.size()) input[at] = (char) random.next(); break;
        case 3: input.insert(at, 1 + random.below(300), (char) random.next()); break;
        case 4: input += SEEDS[random.below(SEEDS.size())]; break;
        default: input.insert(at, input.substr(random.below(input.size() + 1), random.below(40)));
        }
    }
    return input;
}

[[noreturn]] void fail(const char *reason, const std::string &input) {
    fprintf(stderr, "%s:\n", reason);
    for (unsigned char byte : input) fprintf(stderr, "%02x", byte);
    fprintf(stderr, "\n");
    abort();
}

/** Everything that is read from an input in these packets, as one text. */
std::string read(const std::string &input, const std::vector<size_t> &cuts, bool hasProxy) {
    uWS::HttpParser parser;
    uWS::ProxyParser proxy;
    std::string transcript;
    int user = 0;
    size_t start = 0;
    for (size_t end : cuts) {
        // As uSockets lays out what it receives: padding before and behind, on the heap.
        std::vector<char> memory(32 + (end - start) + 32);
        char *packet = memory.data() + 32;
        memcpy(packet, input.data() + start, end - start);
        auto [error, returned] = parser.consumePostPadded(
            packet, (unsigned) (end - start), &user, hasProxy ? &proxy : nullptr,
            [&](void *same, uWS::HttpRequest *request) -> void * {
                transcript.append("\n> ").append(request->getCaseSensitiveMethod()).append(" ");
                transcript.append(request->getUrl()).append("?").append(request->getQuery());
                transcript.append(request->isAncient() ? " 1.0" : " 1.1");
                for (auto [name, value] : *request)
                    transcript.append("\n").append(name).append("=").append(value);
                transcript.append("\nproxy ").append(proxy.getSourceAddress()).append("\nbody ");
                if (request->hasWholeBody() && request->getWholeBody().length() > input.length())
                    fail("a whole body that was not received", input);
                return same;
            },
            [&](void *same, std::string_view chunk, bool isLast) -> void * {
                transcript.append(chunk);
                if (isLast) transcript.append("\nend");
                return same;
            });
        if (returned != &user) {
            transcript.append("\nerror ").append(std::to_string(error));
            break;
        }
        start = end;
    }
    return transcript;
}

} // namespace

int main(int argc, char **argv) {
    const long inputs = argc > 1 ? atol(argv[1]) : 100000;
    Random random{argc > 2 ? strtoull(argv[2], nullptr, 10) : 1};
    for (long count = 0; count < inputs; count++) {
        const std::string input = mutated(random);
        if (input.empty()) continue;
        const bool hasProxy = random.below(4) == 0;
        std::vector<size_t> cuts;
        for (size_t at = 1 + random.below(input.size()); at < input.size();
             at += 1 + random.below(random.below(3) == 0 ? 3 : input.size()))
            cuts.push_back(at);
        cuts.push_back(input.size());
        const std::string whole = read(input, {input.size()}, hasProxy);
        const std::string parts = read(input, cuts, hasProxy);
        if (whole != parts) {
            fprintf(stderr, "whole:%s\ncut:%s\n", whole.c_str(), parts.c_str());
            fail("cuts change what is read", input);
        }
    }
    printf("%ld inputs\n", inputs);
}
