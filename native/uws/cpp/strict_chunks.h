// A strict parser of the chunked transfer coding (RFC 9112, section 7.1), in place of the lenient
// one of uWebSockets. It refuses what a proxy in front could read in another way: sizes without
// digits, line ends that are no CRLF, bytes between a chunk and its CRLF, and trailers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace uWS {

namespace chunks {

/** What is expected next. */
enum Phase : uint64_t {
    NONE,
    FIRST_DIGIT,
    DIGITS,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    LAST_CR,
    LAST_LF,
    ERROR = 255
};

/** The state has the phase above the bytes of extension, and the rest of the size below both. */
constexpr unsigned PHASE_SHIFT = 56;
constexpr unsigned EXTENSION_SHIFT = 48;
constexpr uint64_t SIZE_MASK = (1ull << EXTENSION_SHIFT) - 1;
constexpr uint64_t EXTENSION_MAX = 255;

constexpr uint64_t stateOf(Phase phase, uint64_t size, uint64_t extensionBytes = 0) {
    return (uint64_t) phase << PHASE_SHIFT | extensionBytes << EXTENSION_SHIFT | size;
}

/** -1 where the byte is not a hexadecimal digit. */
constexpr int digitOf(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    char lower = (char) (byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/** The state after one byte that is not data. */
constexpr uint64_t next(uint64_t state, char byte) {
    const Phase phase = (Phase) (state >> PHASE_SHIFT);
    const uint64_t size = state & SIZE_MASK;
    const uint64_t extensionBytes = state >> EXTENSION_SHIFT & EXTENSION_MAX;
    switch (phase) {
    case FIRST_DIGIT:
    case DIGITS:
        if (int digit = digitOf(byte); digit >= 0)
            return size >> 44 ? stateOf(ERROR, 0) : stateOf(DIGITS, size * 16 + (uint64_t) digit);
        if (phase == FIRST_DIGIT) return stateOf(ERROR, 0);
        if (byte == '\r') return stateOf(SIZE_LF, size);
        return byte == ';' ? stateOf(EXTENSION, size) : stateOf(ERROR, 0);
    case EXTENSION:
        if (byte == '\r') return stateOf(SIZE_LF, size);
        if (extensionBytes == EXTENSION_MAX || ((unsigned char) byte < 32 && byte != '\t'))
            return stateOf(ERROR, 0);
        return stateOf(EXTENSION, size, extensionBytes + 1);
    case SIZE_LF:
        if (byte != '\n') return stateOf(ERROR, 0);
        return size > 0 ? stateOf(DATA, size) : stateOf(LAST_CR, 0);
    case DATA_CR:
        return byte == '\r' ? stateOf(DATA_LF, 0) : stateOf(ERROR, 0);
    case DATA_LF:
        return byte == '\n' ? stateOf(FIRST_DIGIT, 0) : stateOf(ERROR, 0);
    case LAST_CR:
        return byte == '\r' ? stateOf(LAST_LF, 0) : stateOf(ERROR, 0);
    case LAST_LF:
        return byte == '\n' ? stateOf(NONE, 0) : stateOf(ERROR, 0);
    default:
        return stateOf(ERROR, 0);
    }
}

} // namespace chunks

/** The state before the first byte of a chunked body. */
constexpr uint64_t STATE_IS_CHUNKED = chunks::stateOf(chunks::FIRST_DIGIT, 0);

/** Whether a state is that of a chunked body; without a phase it is a length. */
constexpr bool isParsingChunkedEncoding(uint64_t state) {
    return state >> chunks::PHASE_SHIFT != 0;
}

constexpr bool isParsingInvalidChunkedEncoding(uint64_t state) {
    return state >> chunks::PHASE_SHIFT == chunks::ERROR;
}

/**
 * The body in `data` as far as it was received, chunks joined in place, so that a body in chunks of
 * one byte costs its reader no more calls than any other; an empty view at the end of the body,
 * which leaves the state 0; nothing where all data is consumed or invalid. `data` must be writable.
 */
inline std::optional<std::string_view> getNextChunk(std::string_view &data, uint64_t &state) {
    char *body = nullptr;
    size_t length = 0;
    while (data.length() > 0 && state != 0 && !isParsingInvalidChunkedEncoding(state)) {
        if (state >> chunks::PHASE_SHIFT == chunks::DATA) {
            const uint64_t size = state & chunks::SIZE_MASK;
            const size_t part = size < data.length() ? size : data.length();
            // The parser reads from the buffer that the socket was received into.
            if (body == nullptr) body = const_cast<char *>(data.data());
            else memmove(body + length, data.data(), part);
            length += part;
            data.remove_prefix(part);
            const uint64_t rest = size - part;
            state = rest > 0 ? chunks::stateOf(chunks::DATA, rest) : chunks::stateOf(chunks::DATA_CR, 0);
            continue;
        }
        const uint64_t next = chunks::next(state, data.front());
        // The end of the body is reported by itself, after its data.
        if (next == 0 && length > 0) break;
        state = next;
        data.remove_prefix(1);
        if (state == 0) return std::string_view();
    }
    if (length > 0) return std::string_view(body, length);
    return std::nullopt;
}

/** The joined chunks in `data`, for a range-based loop. Both arguments are advanced. */
class ChunkIterator {
public:
    ChunkIterator(std::string_view *data, uint64_t *state) : data(data), state(state) { ++*this; }
    ChunkIterator() = default;

    ChunkIterator begin() const { return *this; }
    ChunkIterator end() const { return {}; }
    std::string_view operator*() const { return *chunk; }
    bool operator!=(const ChunkIterator &other) const {
        return chunk.has_value() != other.chunk.has_value();
    }
    ChunkIterator &operator++() {
        chunk = getNextChunk(*data, *state);
        return *this;
    }

private:
    std::string_view *data = nullptr;
    uint64_t *state = nullptr;
    std::optional<std::string_view> chunk;
};

} // namespace uWS
