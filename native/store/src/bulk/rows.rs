//! The index rows that a bulk load sorts: one fixed-length row per account and index, starting with
//! its sort key. Rows are created in ascending order of pubkeys, so a stable sort by the row's
//! group gives the order of the index keys.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::bulk::writer::{BulkTable, BulkWriter};
use crate::indexes::holder_row::{self, HOLDERS_MAX, Row};
use crate::indexes::programs::{CHANGED_ROWS_MAX, ProgramRow};
use crate::options::Changed;
use crate::rows::keys::{self, Entry, Indexed, MintId};
use crate::rows::record::decode;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// The indexes built from sorted rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// program ‖ slot ‖ pubkey: `by_program`, `changed` and `programs`.
    Program,
    /// The key of `by_discriminator`.
    Discriminator,
    /// The key of `by_mint` ‖ is a token account ‖ amount: `by_mint` and `holders`.
    Mint,
    /// The key of `by_token_owner` ‖ mint.
    TokenOwner,
}

impl IndexKind {
    pub const ALL: [IndexKind; 4] = [
        IndexKind::Program,
        IndexKind::Discriminator,
        IndexKind::Mint,
        IndexKind::TokenOwner,
    ];

    pub fn row_bytes(self) -> usize {
        match self {
            IndexKind::Program | IndexKind::Discriminator => 72,
            IndexKind::Mint => 74,
            IndexKind::TokenOwner => 97,
        }
    }

    /// Whether the rows of `holders` are built from these.
    pub fn has_holders(self) -> bool {
        self == IndexKind::Mint
    }

    /// Length of the prefix to sort by; rows with equal prefixes keep their order.
    pub fn group_bytes(self) -> usize {
        match self {
            IndexKind::Program => 32,
            IndexKind::Discriminator => 40,
            IndexKind::Mint | IndexKind::TokenOwner => 33,
        }
    }
}

/// Creates the index rows of one stored record.
pub fn rows_of(
    pubkey: &Pubkey,
    record: &[u8],
    emit: &mut impl FnMut(IndexKind, &[&[u8]]) -> Result<()>,
) -> Result<()> {
    let indexed = Indexed::of(&decode(record)?);
    let changed = keys::changed(&indexed.owner, indexed.slot, pubkey);
    emit(IndexKind::Program, &[&changed])?;
    if let Some(key) = indexed.discriminator_key(pubkey) {
        emit(IndexKind::Discriminator, &[&key])?;
    }
    if let Some(key) = indexed.mint_key(pubkey) {
        let amount = indexed.holder(pubkey).map(|(_, (amount, _))| amount);
        let has_amount = [u8::from(amount.is_some())];
        let amount = amount.unwrap_or(0).to_be_bytes();
        emit(IndexKind::Mint, &[&key, &has_amount, &amount])?;
    }
    if let Some((key, mint)) = indexed.token_owner_key(pubkey) {
        emit(IndexKind::TokenOwner, &[&key, &mint])?;
    }
    Ok(())
}

/// Writes the sorted rows of one index and the tables derived from them.
pub enum IndexWriter<'o> {
    Program(Programs<'o>),
    Discriminator,
    Mint(Option<Mint>),
    TokenOwner,
}

impl<'o> IndexWriter<'o> {
    pub fn new(kind: IndexKind, changed: &'o Changed) -> Self {
        match kind {
            IndexKind::Program => IndexWriter::Program(Programs {
                changed,
                current: None,
            }),
            IndexKind::Discriminator => IndexWriter::Discriminator,
            IndexKind::Mint => IndexWriter::Mint(None),
            IndexKind::TokenOwner => IndexWriter::TokenOwner,
        }
    }

    pub fn row(&mut self, row: &[u8], out: &mut BulkWriter<'_>) -> Result<()> {
        match self {
            IndexWriter::Program(programs) => programs.row(row, out),
            IndexWriter::Discriminator => out.append(BulkTable::ByDiscriminator, row, &[]),
            IndexWriter::Mint(current) => {
                let (key, amount) = row.split_first_chunk::<65>().ok_or_else(damaged)?;
                let mint = keys::mint_of(key).ok_or_else(damaged)?;
                if current.as_ref().is_none_or(|current| current.mint != mint) {
                    let before = current.replace(Mint::new(mint));
                    before.map_or(Ok(()), |before| before.end(out))?;
                }
                if let (Some(current), [1, amount @ ..], Some(pubkey)) =
                    (current, amount, keys::pubkey_of(key))
                {
                    let amount = amount.first_chunk().ok_or_else(damaged)?;
                    current.push((u64::from_be_bytes(*amount), *pubkey));
                }
                out.append(BulkTable::ByMint, key, &[])
            }
            IndexWriter::TokenOwner => {
                let (key, mint) = row.split_first_chunk::<65>().ok_or_else(damaged)?;
                out.append(BulkTable::ByTokenOwner, key, mint)
            }
        }
    }

    /// Writes the data that is complete only after the last row.
    pub fn end(self, out: &mut BulkWriter<'_>) -> Result<()> {
        match self {
            IndexWriter::Program(Programs { current, .. }) => {
                current.map_or(Ok(()), |program| program.end(out))
            }
            IndexWriter::Mint(current) => current.map_or(Ok(()), |mint| mint.end(out)),
            IndexWriter::Discriminator | IndexWriter::TokenOwner => Ok(()),
        }
    }
}

fn damaged() -> Error {
    Error::Internal("a sorted row has another length than it should".to_string())
}

/// The program whose rows are being read.
pub struct Programs<'o> {
    changed: &'o Changed,
    current: Option<Program>,
}

impl Programs<'_> {
    fn row(&mut self, row: &[u8], out: &mut BulkWriter<'_>) -> Result<()> {
        let (program, slot, pubkey) = keys::split_changed(row).ok_or_else(damaged)?;
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.id != *program)
        {
            let is_watched = self.changed.covers(program);
            let next = Program {
                id: *program,
                accounts: 0,
                log: is_watched.then(ChangedLog::default),
            };
            let before = self.current.replace(next);
            before.map_or(Ok(()), |before| before.end(out))?;
        }
        if let Some(current) = &mut self.current {
            current.accounts += 1;
            if let Some(log) = &mut current.log {
                log.push(slot, pubkey);
            }
        }
        out.append(
            BulkTable::ByProgram,
            &keys::by_program(program, pubkey),
            &[],
        )
    }
}

struct Program {
    id: Pubkey,
    accounts: u64,
    log: Option<ChangedLog>,
}

impl Program {
    fn end(self, out: &mut BulkWriter<'_>) -> Result<()> {
        let mut row = ProgramRow {
            accounts: self.accounts,
            ..ProgramRow::default()
        };
        if let Some(log) = self.log {
            (row.changed_rows, row.changed_floor) = (log.rows, log.floor);
            for (slot, pubkeys) in &log.slots {
                for pubkey in pubkeys {
                    let key = keys::changed(&self.id, *slot, pubkey);
                    out.append(BulkTable::Changed, &key, &[])?;
                }
            }
        }
        out.append(BulkTable::Programs, &self.id, &row.encode())
    }
}

/// The newest whole slots of a program's writes that fit the limit; pubkeys come in ascending
/// order.
#[derive(Default)]
struct ChangedLog {
    slots: BTreeMap<u64, Vec<Pubkey>>,
    rows: u64,
    /// The newest slot that did not fit.
    floor: u64,
}

impl ChangedLog {
    fn push(&mut self, slot: u64, pubkey: &Pubkey) {
        if slot <= self.floor {
            return;
        }
        self.slots.entry(slot).or_default().push(*pubkey);
        self.rows += 1;
        while self.rows > CHANGED_ROWS_MAX {
            let Some((oldest, dropped)) = self.slots.pop_first() else {
                break;
            };
            self.rows -= dropped.len() as u64;
            self.floor = oldest;
        }
    }
}

/// The largest accounts of the mint whose rows are being read.
pub struct Mint {
    mint: MintId,
    accounts: usize,
    largest: BinaryHeap<Reverse<Entry>>,
}

impl Mint {
    fn new(mint: MintId) -> Mint {
        Mint {
            mint,
            accounts: 0,
            largest: BinaryHeap::new(),
        }
    }

    fn push(&mut self, entry: Entry) {
        self.accounts += 1;
        if self.largest.len() < HOLDERS_MAX {
            self.largest.push(Reverse(entry));
        } else if let Some(mut smallest) = self.largest.peek_mut()
            && smallest.0 < entry
        {
            *smallest = Reverse(entry);
        }
    }

    fn end(self, out: &mut BulkWriter<'_>) -> Result<()> {
        if self.accounts == 0 {
            return Ok(());
        }
        let sorted = self.largest.into_sorted_vec();
        let row = Row {
            is_complete: self.accounts <= HOLDERS_MAX,
            entries: sorted.into_iter().map(|Reverse(entry)| entry).collect(),
        };
        out.append(
            BulkTable::Holders,
            &holder_row::key(&self.mint),
            &row.encode(),
        )
    }
}
