//! Signers that this thread has seen. To make a point of a key is part of each check, and whoever
//! submits signs with few keys.

use std::cell::RefCell;

use ed25519_dalek::VerifyingKey;

use primitives::Pubkey;

/// Places, 224 bytes each.
const PLACES: usize = 1_024;

thread_local! {
    static KNOWN: RefCell<Vec<Option<VerifyingKey>>> = const { RefCell::new(Vec::new()) };
}

/// The point of a key, if it is one: always what `VerifyingKey::from_bytes` says. Each key has one
/// place, and who comes last has it.
pub fn to_point(key: &Pubkey) -> Option<VerifyingKey> {
    KNOWN.with_borrow_mut(|known| {
        if known.is_empty() {
            known.resize(PLACES, None);
        }
        // Keys are as good as random where nobody has looked for others.
        let place = usize::from(u16::from_le_bytes([key[0], key[1]])) % PLACES;
        let kept = known.get_mut(place)?;
        if kept.is_none_or(|kept| kept.as_bytes() != key) {
            *kept = Some(VerifyingKey::from_bytes(key).ok()?);
        }
        *kept
    })
}
