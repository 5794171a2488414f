//! Connection ids, which say which edge of the machine a packet is for.
//!
//! All edges of a machine have sockets on the same port, and the kernel chooses one for each packet
//! by the first byte of its connection id (`sys::datagram`). So a client may change its address,
//! and a new edge, or one that ends, does not move the connections of others.

use std::sync::Arc;

use quinn::{ConnectionId, ConnectionIdGenerator, EndpointConfig};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sys::datagram::ID_BYTES;

/// Ids of the connections of one edge: its slot, and random bytes.
struct SlotIds {
    slot: u8,
    random: SystemRandom,
}

impl ConnectionIdGenerator for SlotIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [self.slot; ID_BYTES];
        // Without random bytes from the system there is no handshake either.
        let _ = self.random.fill(&mut id[1..]);
        ConnectionId::new(&id)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// What all edges of a machine agree on. With one key, each can tell a client that the connection
/// of an edge that has ended is gone: the client then connects again at once.
pub fn endpoint_config(slot: u8, reset_key: &[u8]) -> EndpointConfig {
    let key = hmac::Key::new(hmac::HMAC_SHA256, reset_key);
    let mut config = EndpointConfig::new(Arc::new(key));
    config.cid_generator(move || {
        let random = SystemRandom::new();
        Box::new(SlotIds { slot, random })
    });
    // After the end of an edge each of its clients needs one. They are shorter than what they
    // reply to, so they amplify nothing.
    config.min_reset_interval(std::time::Duration::from_micros(100));
    config
}
