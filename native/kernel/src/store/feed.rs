//! What changed in a slot, kept for a while, so that a subscriber's edge which is some slots late
//! still sends each slot as it was then.

use std::ops::Bound;

use heed::{PutFlags, RwTxn};

use super::keys;
use super::open::Store;
use super::record::{self, AccountRef, AccountUpdate, Block, HEAD_BYTES};
use super::snapshot::Snapshot;
use super::tables::Db;
use crate::Pubkey;
use crate::error::{Error, Result};

/// Two such rows fill a page of LMDB; longer ones would take pages of their own, which leave gaps
/// when dropped.
const PIECE_BYTES: usize = 2016;
/// Key in `meta` of the bytes that the feed holds.
const FEED_BYTES: &[u8] = b"feedBytes";
/// Kind and length before each change.
const CHANGE_HEAD_BYTES: usize = 5;
const KIND_ACCOUNT: u8 = 1;
const KIND_STATUS: u8 = 2;

/// One change of a slot, with the state after that slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A closed account has 0 lamports, no data, and the System program as its owner.
    Account {
        pubkey: &'a Pubkey,
        account: AccountRef<'a>,
    },
    /// A transaction's outcome; `error` as in [`super::SignatureStatus`].
    Status {
        signature: &'a [u8; 64],
        error: Option<&'a [u8]>,
    },
}

impl Store {
    /// Adds a block's changes and drops what the bounds no longer allow.
    pub(super) fn write_feed(
        &self,
        txn: &mut RwTxn<'_>,
        block: &Block,
        accounts: &[&AccountUpdate],
    ) -> Result<()> {
        let (feed, options) = (&self.tables.feed, &self.options);
        if options.feed_bytes_max == 0 {
            if !feed.is_empty(txn)? {
                feed.clear(txn)?;
                self.tables.meta.delete(txn, FEED_BYTES)?;
            }
            return Ok(());
        }
        let bytes = feed_bytes(block, accounts);
        let stored = self
            .tables
            .meta
            .get(txn, FEED_BYTES)?
            .and_then(|value| value.first_chunk());
        let mut held = stored.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let oldest_kept = (block.slot + 1).saturating_sub(options.feed_slots_max);
        while let Some(oldest) = feed.first(txn)?.map(|(key, _)| keys::slot_of(key)) {
            if oldest >= oldest_kept && held + bytes <= options.feed_bytes_max {
                break;
            }
            held = held.saturating_sub(drop_slot(feed, txn, oldest)?);
        }
        // A slot that alone is over the bound is absent, which a reader can tell from one without
        // changes.
        if bytes <= options.feed_bytes_max {
            write_slot(feed, txn, block, accounts, bytes)?;
            held += bytes;
        }
        Ok(self.tables.meta.put(txn, FEED_BYTES, &held.to_be_bytes())?)
    }
}

impl Snapshot<'_> {
    /// Visits the changes of a slot, accounts in order of pubkeys before statuses. Answers false
    /// where the slot is not held: dropped, not yet applied, or skipped by the chain.
    pub fn feed(&self, slot: u64, visit: &mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<bool> {
        let first = keys::piece(slot, 0);
        let last = keys::piece(slot, u32::MAX);
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut rows = self.tables().feed.range(&self.txn, &range)?;
        if rows.next().transpose()?.is_none() {
            return Ok(false);
        }
        let mut run = Vec::new();
        for row in rows {
            run.extend_from_slice(row?.1);
        }
        let mut rest = &run[..];
        while !rest.is_empty() {
            let (change, after) = decode_change(rest)
                .ok_or_else(|| Error::Internal(format!("the feed of slot {slot} is damaged")))?;
            visit(change)?;
            rest = after;
        }
        Ok(true)
    }

    /// The oldest slot whose changes are held.
    pub fn feed_oldest_slot(&self) -> Result<Option<u64>> {
        Ok(self
            .tables()
            .feed
            .first(&self.txn)?
            .map(|(key, _)| keys::slot_of(key)))
    }
}

fn decode_change(bytes: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (body, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let change = match *kind {
        KIND_ACCOUNT => {
            let (pubkey, record) = body.split_first_chunk()?;
            Change::Account {
                pubkey,
                account: record::decode(record)?,
            }
        }
        KIND_STATUS => {
            let (signature, error) = body.split_first_chunk()?;
            Change::Status {
                signature,
                error: (!error.is_empty()).then_some(error),
            }
        }
        _ => return None,
    };
    Some((change, rest))
}

/// A closed account shows nothing of what it was, as the chain itself reports it.
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

fn feed_bytes(block: &Block, accounts: &[&AccountUpdate]) -> u64 {
    let account = |update: &&AccountUpdate| {
        CHANGE_HEAD_BYTES + 32 + HEAD_BYTES + state_after(update, block.slot).data.len()
    };
    let status =
        |error: &Option<Vec<u8>>| CHANGE_HEAD_BYTES + 64 + error.as_ref().map_or(0, Vec::len);
    let accounts = accounts.iter().map(account).sum::<usize>();
    (accounts
        + block
            .signatures
            .iter()
            .map(|s| status(&s.error))
            .sum::<usize>()) as u64
}

fn write_slot(
    feed: &Db,
    txn: &mut RwTxn<'_>,
    block: &Block,
    accounts: &[&AccountUpdate],
    bytes: u64,
) -> Result<()> {
    let changes = (accounts.len() + block.signatures.len()) as u32;
    let mut head = [0; 12];
    head[0..4].copy_from_slice(&changes.to_be_bytes());
    head[4..12].copy_from_slice(&bytes.to_be_bytes());
    feed.put_with_flags(txn, PutFlags::APPEND, &keys::piece(block.slot, 0), &head)?;
    let mut out = Pieces {
        feed,
        slot: block.slot,
        sequence: 1,
        piece: Vec::with_capacity(PIECE_BYTES),
    };
    for update in accounts {
        let account = state_after(update, block.slot);
        out.begin(txn, KIND_ACCOUNT, 32 + HEAD_BYTES + account.data.len())?;
        out.write(txn, &update.pubkey)?;
        out.write(txn, &record::encode_head(&account))?;
        out.write(txn, account.data)?;
    }
    for status in &block.signatures {
        let error = status.error.as_deref().unwrap_or_default();
        out.begin(txn, KIND_STATUS, 64 + error.len())?;
        out.write(txn, &status.signature)?;
        out.write(txn, error)?;
    }
    out.flush(txn)
}

/// A slot's run of bytes on its way into rows.
struct Pieces<'f> {
    feed: &'f Db,
    slot: u64,
    sequence: u32,
    piece: Vec<u8>,
}

impl Pieces<'_> {
    fn begin(&mut self, txn: &mut RwTxn<'_>, kind: u8, body_bytes: usize) -> Result<()> {
        self.write(txn, &[kind])?;
        self.write(txn, &(body_bytes as u32).to_be_bytes())
    }

    fn write(&mut self, txn: &mut RwTxn<'_>, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
            if self.piece.len() == PIECE_BYTES {
                self.flush(txn)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, txn: &mut RwTxn<'_>) -> Result<()> {
        if !self.piece.is_empty() {
            let key = keys::piece(self.slot, self.sequence);
            // Slots only grow, so every row comes after the last.
            self.feed
                .put_with_flags(txn, PutFlags::APPEND, &key, &self.piece)?;
            self.sequence += 1;
            self.piece.clear();
        }
        Ok(())
    }
}

/// Drops a slot and answers the bytes that it held.
fn drop_slot(feed: &Db, txn: &mut RwTxn<'_>, slot: u64) -> Result<u64> {
    let first = keys::piece(slot, 0);
    let last = keys::piece(slot, u32::MAX);
    let head = feed.get(txn, &first)?;
    let bytes = head
        .and_then(|head| head.last_chunk())
        .map_or(0, |bytes| u64::from_be_bytes(*bytes));
    feed.delete_range(
        txn,
        &(Bound::Included(&first[..]), Bound::Included(&last[..])),
    )?;
    Ok(bytes)
}
