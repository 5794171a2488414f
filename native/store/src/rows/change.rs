//! One change of a slot, as encoded in the chunks of segment files.

use crate::rows::full;
use crate::rows::record::{self, AccountRef, AccountUpdate, TransactionUpdate};
use primitives::Pubkey;

/// Bytes of the kind and length before each change.
pub(crate) const CHANGE_HEAD_BYTES: usize = 5;
const KIND_ACCOUNT: u8 = 1;
const KIND_STATUS: u8 = 2;
const KIND_TRANSACTION: u8 = 3;
/// As a transaction; its protobuf in place of its log lines, which are in that.
const KIND_FULL: u8 = 4;
/// As an account, which a transaction wrote.
const KIND_SIGNED: u8 = 5;
const IS_VOTE: u8 = 1;

/// One change of a slot; an account has its state after that slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A closed account has 0 lamports, no data, and the System program as its owner.
    Account {
        pubkey: &'a Pubkey,
        account: AccountRef<'a>,
        /// As in [`AccountUpdate`].
        is_signed: bool,
    },
    /// A transaction with only its outcome; `error` as in [`TransactionUpdate`].
    Status {
        signature: &'a [u8; 64],
        error: Option<&'a [u8]>,
    },
    Transaction {
        signature: &'a [u8; 64],
        error: Option<&'a [u8]>,
        is_vote: bool,
        /// All accounts of the transaction, including loaded ones.
        keys: &'a [Pubkey],
        logs: Logs<'a>,
        /// As in [`crate::TransactionDetails`].
        full: Option<&'a [u8]>,
    },
}

/// The log lines of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logs<'a>(Lines<'a>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines<'a> {
    /// Each after its length.
    Sized(&'a [u8]),
    /// The protobuf of the transaction's meta.
    OfMeta(&'a [u8]),
}

impl Logs<'_> {
    /// Bytes of what the remaining lines are read from.
    pub fn byte_count(&self) -> usize {
        match self.0 {
            Lines::Sized(bytes) | Lines::OfMeta(bytes) => bytes.len(),
        }
    }
}

impl<'a> Iterator for Logs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match &mut self.0 {
            Lines::Sized(bytes) => {
                let (line, rest) = split_sized(bytes)?;
                *bytes = rest;
                Some(line)
            }
            Lines::OfMeta(bytes) => full::next_line(bytes),
        }
    }
}

/// The length of the first change in these bytes; `None` if they are too short.
pub(crate) fn first_length(bytes: &[u8]) -> Option<usize> {
    let (_, rest) = bytes.split_first()?;
    let (length, _) = rest.split_first_chunk()?;
    Some(CHANGE_HEAD_BYTES + u32::from_be_bytes(*length) as usize)
}

/// Decodes exactly one change.
pub(crate) fn decode(bytes: &[u8]) -> Option<Change<'_>> {
    let (head, body) = bytes.split_first_chunk::<CHANGE_HEAD_BYTES>()?;
    match head[0] {
        KIND_ACCOUNT | KIND_SIGNED => {
            let (pubkey, record) = body.split_first_chunk()?;
            Some(Change::Account {
                pubkey,
                account: record::decode(record).ok()?,
                is_signed: head[0] == KIND_SIGNED,
            })
        }
        KIND_STATUS => {
            let (signature, error) = body.split_first_chunk()?;
            Some(Change::Status {
                signature,
                error: (!error.is_empty()).then_some(error),
            })
        }
        KIND_TRANSACTION | KIND_FULL => {
            let (signature, rest) = body.split_first_chunk()?;
            let (flags, rest) = rest.split_first()?;
            let (error, rest) = split_sized(rest)?;
            let (count, rest) = rest.split_first_chunk()?;
            let keys_bytes = (u32::from_be_bytes(*count) as usize).checked_mul(32)?;
            let (keys, rest) = rest.split_at_checked(keys_bytes)?;
            let full = (head[0] == KIND_FULL).then_some(rest);
            let lines = match full {
                Some(full) => Lines::OfMeta(full::meta(full)),
                None => Lines::Sized(rest),
            };
            Some(Change::Transaction {
                signature,
                error: (!error.is_empty()).then_some(error),
                is_vote: flags & IS_VOTE != 0,
                keys: keys.as_chunks().0,
                logs: Logs(lines),
                full,
            })
        }
        _ => None,
    }
}

fn split_sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// A closed account keeps none of its former fields, as on the chain.
fn state_after(update: &AccountUpdate, slot: u64) -> AccountRef<'_> {
    if update.lamports == 0 {
        return AccountRef {
            slot,
            lamports: 0,
            rent_epoch: 0,
            executable: false,
            owner: &[0; 32],
            data: &[],
        };
    }
    update.at(slot)
}

/// Appends the change of an account in a slot.
pub(crate) fn push_account(out: &mut Vec<u8>, update: &AccountUpdate, slot: u64) {
    let account = state_after(update, slot);
    push_change(out, |out| {
        out.extend_from_slice(&update.pubkey);
        out.extend_from_slice(&record::encode_head(&account));
        out.extend_from_slice(account.data);
        match update.is_signed {
            true => KIND_SIGNED,
            false => KIND_ACCOUNT,
        }
    });
}

/// Appends the change of a transaction.
pub(crate) fn push_transaction(out: &mut Vec<u8>, update: &TransactionUpdate) {
    push_change(out, |out| push_transaction_body(out, update));
}

/// Appends kind and length before the body of a change, which returns its kind.
pub(crate) fn push_change(out: &mut Vec<u8>, push_body: impl FnOnce(&mut Vec<u8>) -> u8) {
    let begin = out.len();
    out.extend_from_slice(&[0; CHANGE_HEAD_BYTES]);
    let kind = push_body(out);
    let body_bytes = out.len() - begin - CHANGE_HEAD_BYTES;
    if let Some((head, _)) = out
        .get_mut(begin..)
        .and_then(<[u8]>::split_first_chunk_mut::<CHANGE_HEAD_BYTES>)
    {
        head[0] = kind;
        // An account has at most 10 MiB, and a message of the feed less than 4 GiB.
        head[1..].copy_from_slice(&(body_bytes as u32).to_be_bytes());
    }
}

fn push_transaction_body(out: &mut Vec<u8>, update: &TransactionUpdate) -> u8 {
    let error = update.error.as_deref().unwrap_or_default();
    out.extend_from_slice(&update.signature);
    let Some(details) = &update.details else {
        out.extend_from_slice(error);
        return KIND_STATUS;
    };
    out.push(if details.is_vote { IS_VOTE } else { 0 });
    push_sized(out, error);
    out.extend_from_slice(&(details.keys.len() as u32).to_be_bytes());
    out.extend_from_slice(details.keys.as_flattened());
    if let Some(full) = &details.full {
        out.extend_from_slice(full);
        return KIND_FULL;
    }
    for line in &details.logs {
        push_sized(out, line.as_bytes());
    }
    KIND_TRANSACTION
}

fn push_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rows::part;

    proptest! {
        #[test]
        fn any_bytes_decode(kind in 0u8..10, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [&[kind][..], &bytes].concat();
            let _ = first_length(&bytes);
            prop_assert!(decode(&bytes).is_none() || part::decode(&bytes).is_none());
            if let Some(Change::Transaction { keys, logs, .. }) = decode(&bytes) {
                let lines: usize = logs.map(<[u8]>::len).sum();
                prop_assert!(keys.as_flattened().len() + lines <= bytes.len());
            }
        }

        #[test]
        fn a_truncated_change_is_none(cut in 0usize..200) {
            let update = TransactionUpdate {
                signature: [1; 64],
                index: 0,
                error: Some(vec![8, 0, 0, 0]),
                details: Some(super::super::record::TransactionDetails {
                    is_vote: false,
                    keys: vec![[2; 32]; 2],
                    logs: vec!["line".to_string()],
                    ..Default::default()
                }),
            };
            let mut bytes = Vec::new();
            push_transaction(&mut bytes, &update);
            prop_assert_eq!(first_length(&bytes), Some(bytes.len()));
            let before_logs = bytes.len() - "line".len() - 4;
            if let Some(cut) = bytes.get(..cut.min(before_logs - 1)) {
                prop_assert_eq!(decode(cut), None);
            }
        }
    }
}
