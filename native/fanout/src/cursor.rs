//! Places in the sequence of a network's notifications, which clients keep as opaque text.
//!
//! The events of a block are ordered by what every machine has of it alike: the slot, its accounts
//! by address, its transactions by position. A cursor names the last event by itself, never by a
//! count: machines may skip different accounts, or follow fewer transactions. The first bytes of
//! the blockhash, which covers all ancestors, tell a block from another one of the same slot.
//! A cursor gives access to nothing, so it is not authenticated.

use base64_simd::URL_SAFE_NO_PAD;
use primitives::Pubkey;
use store::Tip;

/// Characters of a cursor with a key and of one without.
const KEYED_CHARS: usize = 44;
const PLAIN_CHARS: usize = 23;

/// The version of the layout: version and place 1 ‖ big-endian slot 8 ‖ blockhash 8 ‖ key 0 or 16.
const VERSION: u8 = 0x10;
const SLOT: u8 = VERSION;
const ACCOUNT: u8 = VERSION + 1;
const TRANSACTION: u8 = VERSION + 2;
const END: u8 = VERSION + 3;
const ROOT: u8 = VERSION + 4;

/// Bytes of an address or a signature that stand for it. Two equal ones would take an attacker
/// 2^64 attempts.
pub type Key = [u8; 16];

/// The last event of a slot that was notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The slot itself, before all its changes.
    Slot,
    /// The account whose address begins so.
    Account(Key),
    /// The transaction with this key.
    Transaction(Key),
    /// The last event.
    End,
    /// The slot as a root: only among roots.
    Root,
}

/// A place after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub slot: u64,
    /// The first bytes of the blockhash.
    pub check: [u8; 8],
    pub place: Place,
}

impl Cursor {
    pub fn new(block: &Tip, place: Place) -> Cursor {
        let check = *block.blockhash.first_chunk().unwrap_or(&[0; 8]);
        Cursor {
            slot: block.slot,
            check,
            place,
        }
    }

    /// Reads a cursor. `None` for any other text, of whatever length.
    pub fn parse(text: &str) -> Option<Cursor> {
        if text.len() != KEYED_CHARS && text.len() != PLAIN_CHARS {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode_to_vec(text).ok()?;
        let (head, rest) = bytes.split_first()?;
        let (slot, rest) = rest.split_first_chunk()?;
        let (check, key) = rest.split_first_chunk()?;
        let key_of = || key.try_into().ok();
        let place = match (*head, key.is_empty()) {
            (SLOT, true) => Place::Slot,
            (ACCOUNT, false) => Place::Account(key_of()?),
            (TRANSACTION, false) => Place::Transaction(key_of()?),
            (END, true) => Place::End,
            (ROOT, true) => Place::Root,
            _ => return None,
        };
        let cursor = Cursor {
            slot: u64::from_be_bytes(*slot),
            check: *check,
            place,
        };
        Some(cursor)
    }

    pub fn push(&self, out: &mut Vec<u8>) {
        let (head, key): (u8, &[u8]) = match &self.place {
            Place::Slot => (SLOT, &[]),
            Place::Account(key) => (ACCOUNT, key),
            Place::Transaction(key) => (TRANSACTION, key),
            Place::End => (END, &[]),
            Place::Root => (ROOT, &[]),
        };
        let slot = self.slot.to_be_bytes();
        let bytes = [&[head][..], &slot, &self.check, key].concat();
        URL_SAFE_NO_PAD.encode_append(&bytes, out);
    }
}

/// The key of an account.
pub fn account_key(pubkey: &Pubkey) -> Key {
    *pubkey.first_chunk().unwrap_or(&[0; 16])
}

/// The key of a transaction. A signer can give two transactions signatures of equal first halves,
/// but cannot choose the second.
pub fn transaction_key(signature: &[u8; 64]) -> Key {
    let (_, second) = signature.split_at(32);
    *second.first_chunk().unwrap_or(&[0; 16])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> impl Strategy<Value = Place> {
        prop_oneof![
            Just(Place::Slot),
            any::<Key>().prop_map(Place::Account),
            any::<Key>().prop_map(Place::Transaction),
            Just(Place::End),
            Just(Place::Root),
        ]
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(slot: u64, check: [u8; 8], place in place()) {
            let cursor = Cursor { slot, check, place };
            let mut out = Vec::new();
            cursor.push(&mut out);
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(Cursor::parse(&text), Some(cursor));
        }

        #[test]
        fn other_text_is_no_cursor(text in "[A-Za-z0-9_+/=-]{0,48}|\\PC{0,46}") {
            if let Some(cursor) = Cursor::parse(&text) {
                let mut out = Vec::new();
                cursor.push(&mut out);
                prop_assert_eq!(String::from_utf8(out).unwrap(), text, "one text for a cursor");
            }
        }
    }
}
