// TLS of accepted sockets, by the OpenSSL of Node.js: what `recv`, `send` and `shutdown` are for a
// plain socket. uSockets calls this, so everything above it is the same for both.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/** One connection. */
struct slotline_tls;

/** The certificates of a listener. */
struct slotline_tls_listener;

/** Returns null where there is no memory. The descriptor is still the caller's. */
struct slotline_tls *slotline_tls_accept(struct slotline_tls_listener *listener, int descriptor);

/**
 * Reads as `recv` does: returns the bytes read, 0 at the end, or -1 with `errno`. Takes the
 * handshake on, too. What it does is bounded, whatever the peer sends.
 */
int slotline_tls_read(struct slotline_tls *tls, char *data, int length);

/** Whether bytes that were received are left, of which no event of the descriptor will tell. */
int slotline_tls_has_unread(const struct slotline_tls *tls);

/** Whether the handshake has ended. */
int slotline_tls_is_established(const struct slotline_tls *tls);

/** Writes as `send` does: returns the bytes taken, of which the last record may be unsent. */
int slotline_tls_write(struct slotline_tls *tls, const char *data, int length);

/** Whether bytes that were taken wait until the descriptor is writable. */
int slotline_tls_has_unsent(const struct slotline_tls *tls);

/** Sends them; returns whether none is left. */
int slotline_tls_flush(struct slotline_tls *tls);

/** Announces that nothing more will be written; returns whether that is sent. */
int slotline_tls_end(struct slotline_tls *tls);

/** Before the descriptor is closed. */
void slotline_tls_free(struct slotline_tls *tls);

#ifdef __cplusplus
}
#endif
