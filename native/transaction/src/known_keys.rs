//! A cache of signers' keys per thread. Every check decompresses keys, and clients sign with few
//! keys.

use std::cell::RefCell;

use ed25519_dalek::VerifyingKey;

use primitives::Pubkey;

/// 224 bytes each.
const SLOTS: usize = 1_024;

thread_local! {
    static KNOWN: RefCell<Vec<Option<VerifyingKey>>> = const { RefCell::new(Vec::new()) };
}

/// The point of a key, exactly as `VerifyingKey::from_bytes` returns it. The cache is
/// direct-mapped: a new key replaces the old one in its slot.
pub fn to_point(key: &Pubkey) -> Option<VerifyingKey> {
    KNOWN.with_borrow_mut(|known| {
        if known.is_empty() {
            known.resize(SLOTS, None);
        }
        // Keys are effectively random. Keys chosen to collide only miss the cache.
        let slot = usize::from(u16::from_le_bytes([key[0], key[1]])) % SLOTS;
        let kept = known.get_mut(slot)?;
        if kept.is_none_or(|kept| kept.as_bytes() != key) {
            *kept = Some(VerifyingKey::from_bytes(key).ok()?);
        }
        *kept
    })
}
