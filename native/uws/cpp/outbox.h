// What waits until the client of a WebSocket takes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace slotline {

class Outbox;

/** The clock of uv_hrtime. */
inline uint64_t monotonicNs() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return (uint64_t) std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/** The outboxes of an app, and their bounds. Lives as long as the process. */
struct Outboxes {
    /** Bytes in memory. A message that waits for several sockets counts once. */
    uint64_t bytes = 0;
    uint64_t bytesMax = UINT64_MAX;
    /** Of one socket, beside a message that alone is longer than half of it. */
    uint64_t perSocketMax = UINT64_MAX;
    /** A client that takes nothing for so long is reported. */
    uint64_t stallNs = UINT64_MAX;
    /** What waits has so long to leave before the close frame. */
    uint64_t closeNs = 0;
    /** Those that are not empty; the ones that were checked in this round are at the end. */
    Outbox *first = nullptr, *last = nullptr;
    uint32_t round = 0;
    bool isChecking = false;
};

/** A message that waits for one or more sockets. */
struct WaitingMessage {
    const std::string bytes;
    const int opCode;
    const bool compress;

    WaitingMessage(Outboxes &all, std::string_view bytes, int opCode, bool compress)
        : bytes(bytes), opCode(opCode), compress(compress), all(all) {
        all.bytes += bytes.length();
    }
    ~WaitingMessage() { all.bytes -= bytes.length(); }
    WaitingMessage(const WaitingMessage &) = delete;

private:
    Outboxes &all;
};

using SharedMessage = std::shared_ptr<const WaitingMessage>;

/**
 * What waits for one socket: bytes in its buffer, messages behind them, and a frame that is written
 * in pieces. Its address does not change while the socket is open.
 */
class Outbox {
public:
    Outboxes *all = nullptr;
    void *socket = nullptr;
    /** See `Outboxes::round`. */
    uint32_t round = 0;
    /** The message by which the bound is exceeded until enough was taken. */
    uint64_t allowance = 0;
    /** When the socket is closed even if something waits; 0: never. */
    uint64_t closeAtNs = 0;

    void open(Outboxes &outboxes, void *ofSocket, size_t bufferedBytes) {
        all = &outboxes;
        socket = ofSocket;
        onBuffered(bufferedBytes);
    }
    Outbox() = default;
    ~Outbox() {
        setPiece(0);
        clear();
        onBuffered(0);
    }
    Outbox(const Outbox &) = delete;

    /** Bytes that the client has not taken yet. */
    uint64_t length() const { return buffered + waitingBytes + pieceBytes; }

    bool isOver() const { return buffered + waitingBytes > all->perSocketMax + allowance; }

    /** A frame in pieces whose next piece has not come does not wait for its client. */
    bool isStalled(uint64_t now) const {
        return (buffered > 0 || isPieceRefused) && now - progressNs > all->stallNs;
    }

    /** The buffer has so many bytes now. */
    void onBuffered(size_t bytes) {
        if (bytes == buffered || all == nullptr) return;
        if (bytes < buffered) progressNs = monotonicNs();
        all->bytes += bytes;
        all->bytes -= buffered;
        buffered = bytes;
        link();
    }

    bool isWaiting() const { return waiting != nullptr; }

    void push(SharedMessage message) {
        if (waiting == nullptr) waiting = std::make_unique<std::deque<SharedMessage>>();
        waitingBytes += message->bytes.length();
        all->bytes += sizeof(SharedMessage);
        waiting->push_back(std::move(message));
        link();
    }

    /** The next message that waits, or none. */
    SharedMessage pop() {
        if (waiting == nullptr) return nullptr;
        SharedMessage message = std::move(waiting->front());
        waiting->pop_front();
        waitingBytes -= message->bytes.length();
        all->bytes -= sizeof(SharedMessage);
        if (waiting->empty()) waiting.reset();
        link();
        return message;
    }

    void clear() {
        while (pop() != nullptr) {}
    }

    /** So many bytes of a frame in pieces are left. */
    void setPiece(uint64_t bytes) {
        pieceBytes = bytes;
        isPieceRefused = false;
        link();
    }

    /** The client has taken bytes of a piece, or all of them. */
    void onPiece(uint64_t taken, bool isWhole) {
        if (taken > 0 || !isPieceRefused) progressNs = monotonicNs();
        setPiece(pieceBytes - taken);
        isPieceRefused = !isWhole;
    }

    uint64_t pieceLength() const { return pieceBytes; }

    Outbox *following() const { return next; }

    /** To the end of the list, as those that were checked. */
    void moveToEnd() {
        unlink();
        append();
    }

private:
    size_t buffered = 0;
    uint64_t waitingBytes = 0, pieceBytes = 0;
    bool isPieceRefused = false, isLinked = false;
    /** When the client last took something, or something began to wait. */
    uint64_t progressNs = 0;
    /** None while nothing waits: most sockets idle. */
    std::unique_ptr<std::deque<SharedMessage>> waiting;
    Outbox *previous = nullptr, *next = nullptr;

    /** Is in the list while it is not empty. */
    void link() {
        if (length() == 0) return unlink();
        if (isLinked) return;
        progressNs = monotonicNs();
        append();
    }

    void append() {
        isLinked = true;
        round = all->round;
        previous = all->last;
        next = nullptr;
        (previous == nullptr ? all->first : previous->next) = this;
        all->last = this;
    }

    void unlink() {
        if (!isLinked) return;
        isLinked = false;
        (previous == nullptr ? all->first : previous->next) = next;
        (next == nullptr ? all->last : next->previous) = previous;
    }
};

} // namespace slotline
