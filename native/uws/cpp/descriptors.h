// Connections at the limit of descriptors of the process.
#pragma once

#include "closed.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace slotline {

/** Given up for a moment to accept a connection that no descriptor is left for. -1: none. */
inline int spareDescriptor = -1;

inline void openSpareDescriptor() {
    if (spareDescriptor == -1) spareDescriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/**
 * Accepts connections and closes them at once. Left in the queue they would have the event loop
 * wake up without end, and their clients wait for nothing. At most some at a time, for others.
 */
inline void refuseConnections(int listener) {
    for (int count = 0; count < 64; count++) {
        openSpareDescriptor();
        if (spareDescriptor == -1) return;
        close(spareDescriptor);
        spareDescriptor = -1;
        const int refused = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (refused == -1) break;
        close(refused);
        slotline_count_closed(SLOTLINE_DESCRIPTORS);
    }
    openSpareDescriptor();
}

} // namespace slotline
