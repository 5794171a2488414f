//! The banks of one slot, of which the chain takes at most one.
//!
//! A slot has more than one bank if its leader changes the parent within it, if two versions of a
//! block exist, or if a failed block is repaired. Messages of an abandoned bank still arrive; only
//! their bank's number tells them apart.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::pending_bank::PendingBank;
use super::update::{BlockMeta, Fault};

/// Fixed memory cost of a slot, in bytes.
const SLOT_BYTES: usize = 512;
/// Memory cost of a bank that was discarded, in bytes.
const DISCARDED_BYTES: usize = 64;

/// Which bank the chain took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// A status without a bank's number: the only bank of the slot.
    Only,
    Bank(u64),
}

/// The banks of a slot that is not released yet.
pub struct SlotBanks {
    slot: u64,
    /// By number; `None` is the only bank of a slot whose server sends no numbers. Without content:
    /// a discarded bank, whose later messages are dropped.
    banks: BTreeMap<Option<u64>, Option<PendingBank>>,
    decision: Option<Decision>,
    /// Memory cost, measured as for `buffer_bytes_max`.
    pub bytes: usize,
}

impl SlotBanks {
    pub fn new(slot: u64) -> SlotBanks {
        SlotBanks {
            slot,
            banks: BTreeMap::new(),
            decision: None,
            bytes: SLOT_BYTES,
        }
    }

    /// Changes a bank's content. Returns false if the bank was discarded.
    pub fn change(
        &mut self,
        bank: Option<u64>,
        change: impl FnOnce(&mut PendingBank),
    ) -> Result<bool, Fault> {
        self.check_numbered(bank)?;
        let is_other = matches!(self.decision, Some(Decision::Bank(taken)) if Some(taken) != bank);
        if is_other {
            return Ok(false);
        }
        let content = self.banks.entry(bank).or_insert_with(|| {
            let content = PendingBank::new();
            self.bytes += content.bytes;
            Some(content)
        });
        let Some(content) = content else {
            return Ok(false);
        };
        let before = content.bytes;
        change(content);
        self.bytes = self.bytes - before + content.bytes;
        Ok(true)
    }

    /// The chain took this bank, or the only one.
    pub fn decide(&mut self, bank: Option<u64>) -> Result<(), Fault> {
        let Some(bank) = bank else {
            self.decision.get_or_insert(Decision::Only);
            return self.taken().map(|_| ());
        };
        self.check_numbered(Some(bank))?;
        match self.decision {
            Some(Decision::Bank(taken)) if taken != bank => {
                // The chain cannot take both: one of the statuses is wrong.
                return Err(self.fault(format!("bank {bank} was confirmed after bank {taken}")));
            }
            _ => self.decision = Some(Decision::Bank(bank)),
        }
        if matches!(self.banks.get(&Some(bank)), Some(None)) {
            return Err(self.fault(format!("bank {bank} was confirmed after it had failed")));
        }
        let others: Vec<u64> = self.numbers().filter(|other| *other != bank).collect();
        others.into_iter().for_each(|other| self.discard(other));
        Ok(())
    }

    /// Discards the banks that are known so far, unless the chain took one of them.
    pub fn fail(&mut self) {
        if self.decision.is_none() {
            let numbers: Vec<u64> = self.numbers().collect();
            numbers.into_iter().for_each(|bank| self.discard(bank));
        }
    }

    /// Discards one bank, unless the chain took it.
    pub fn abandon(&mut self, bank: u64) {
        if self.decision.is_none() {
            self.discard(bank);
        }
    }

    /// Whether messages of the slot have no number of a bank.
    pub fn is_unnumbered(&self) -> bool {
        self.numbers().next().is_none()
    }

    /// The bank that the chain took, and its block meta, as soon as both are known.
    pub fn taken(&self) -> Result<Option<(Option<u64>, &BlockMeta)>, Fault> {
        let taken = match self.decision {
            None => None,
            Some(Decision::Bank(bank)) => Some(Some(bank)),
            Some(Decision::Only) => {
                let mut live = self.live();
                let only = live.next().map(|(bank, _)| bank);
                if live.next().is_some() {
                    let what = "a status without a bank, of which it has several";
                    return Err(self.fault(what.to_string()));
                }
                only
            }
        };
        Ok(taken.and_then(|bank| Some((bank, self.content(bank)?.meta.as_ref()?))))
    }

    /// The bank with this blockhash that the chain took, or may still take. Several have the same
    /// one only if their contents are equal; then it is the last of them.
    pub fn with_blockhash(&self, blockhash: &[u8; 32]) -> Option<(Option<u64>, &BlockMeta)> {
        let metas = self.live().filter_map(|(bank, content)| {
            let meta = content.meta.as_ref()?;
            Some((bank, meta)).filter(|_| meta.blockhash == *blockhash)
        });
        metas.last()
    }

    pub fn into_content(mut self, bank: Option<u64>) -> Option<PendingBank> {
        self.banks.remove(&bank).flatten()
    }

    fn content(&self, bank: Option<u64>) -> Option<&PendingBank> {
        self.banks.get(&bank)?.as_ref()
    }

    fn live(&self) -> impl Iterator<Item = (Option<u64>, &PendingBank)> {
        let banks = self.banks.iter();
        banks.filter_map(|(bank, content)| Some((*bank, content.as_ref()?)))
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.banks.keys().copied().flatten()
    }

    fn discard(&mut self, bank: u64) {
        match self.banks.entry(Some(bank)) {
            Entry::Vacant(entry) => {
                entry.insert(None);
                self.bytes += DISCARDED_BYTES;
            }
            Entry::Occupied(mut entry) => {
                if let Some(content) = entry.insert(None) {
                    self.bytes = self.bytes - content.bytes + DISCARDED_BYTES;
                }
            }
        }
    }

    /// Data with and without numbers of banks cannot be told apart.
    fn check_numbered(&self, bank: Option<u64>) -> Result<(), Fault> {
        let has_other = match bank {
            Some(_) => self.banks.contains_key(&None),
            None => !self.is_unnumbered(),
        };
        if has_other {
            let what = "messages with and without the number of a bank";
            return Err(self.fault(what.to_string()));
        }
        Ok(())
    }

    fn fault(&self, what: String) -> Fault {
        Fault::Malformed {
            slot: self.slot,
            what,
        }
    }
}
