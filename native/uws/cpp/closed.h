// Connections that the server closes because they exceed a limit, counted by limit.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum slotline_limit {
    /** Connections of one address. */
    SLOTLINE_ADDRESS,
    /** Connections of all addresses. */
    SLOTLINE_TOTAL,
    /** Descriptors of the process. */
    SLOTLINE_DESCRIPTORS,
    /** Time of a TLS handshake. */
    SLOTLINE_HANDSHAKE,
    /** Records of TLS without data. */
    SLOTLINE_RECORDS,
    /** Time without a request. */
    SLOTLINE_IDLE,
    /** Time of the rest of a head or a body. */
    SLOTLINE_REQUEST,
    /** Time in which a client takes a response. */
    SLOTLINE_RESPONSE,
    /** Time or bytes after the end of the connection was sent. */
    SLOTLINE_LINGER,
    /** How many there are. */
    SLOTLINE_LIMITS
};

void slotline_count_closed(enum slotline_limit limit);

#ifdef __cplusplus
}
#endif
