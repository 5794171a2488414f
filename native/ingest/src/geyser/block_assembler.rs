//! Assembles feed messages into complete blocks in chain order. No I/O and no clock.
//!
//! At CONFIRMED a server sends a slot's accounts, then its block meta, then its status. A slot may
//! have several banks, and the chain takes the one that a CONFIRMED or FINALIZED status names. A
//! slot is complete when the meta of that bank has arrived. One without a status is complete when
//! it has a complete descendant whose parent blockhash is that of one of its banks, because some
//! servers omit a status. Complete blocks are released only as a chain from the tip. The order of
//! slots on the wire and abandoned banks, duplicated, forked or dead slots therefore do not change
//! the result.
//!
//! The messages of a server that sends no numbers of banks are assembled by slot.

use std::collections::BTreeMap;

use super::event::{Gap, GapKind};
use super::slot_banks::SlotBanks;
use super::update::{BlockMeta, Content, Fault, Ready, SlotState, Update};

/// Released slots whose banks are known, the newest ones: more than the slots between CONFIRMED and
/// FINALIZED of a cluster with both. Another bank that is confirmed in one of them is a fault.
const RELEASED_MAX: usize = 128;
/// Banks of the tip's slot whose blockhashes are compared with the tip. Of a slot with more, the
/// parent blockhash of its child is compared.
const TIP_BANKS_MAX: usize = 16;

/// Limits of [`BlockAssembler`]. See `GeyserConfig`.
#[derive(Debug, Clone, Copy)]
pub struct BufferLimits {
    pub buffer_bytes_max: usize,
    pub reorder_blocks_max: usize,
}

/// A slot, and its bank if the server numbers them.
type SlotBank = (u64, Option<u64>);

/// Whether the stream's first slot may be incomplete.
enum Join {
    Whole,
    Midway,
    /// This slot was in progress when the stream opened, so it is ignored.
    Skipped(u64),
}

/// Buffer of one subscription. Each subscription needs a new one, because write versions and banks
/// of different servers, or of different runs of a server, are not comparable.
pub struct BlockAssembler {
    tip: Option<(u64, [u8; 32])>,
    limits: BufferLimits,
    join: Join,
    open: BTreeMap<u64, SlotBanks>,
    bytes: usize,
    /// The newest finalized slot.
    root: Option<u64>,
    /// The banks of released slots, where the server named them.
    released: BTreeMap<u64, u64>,
    /// Banks and blockhashes of the tip's slot, while it is not known which one is the tip.
    tip_banks: Vec<(u64, [u8; 32])>,
    /// Messages of discarded banks.
    dropped: u64,
}

impl BlockAssembler {
    /// `tip` is the last applied slot and its blockhash. `is_replayed` is true when the stream was
    /// opened with a `from_slot`. Otherwise the slot in progress when the stream opens is ignored.
    pub fn new(
        tip: Option<(u64, [u8; 32])>,
        is_replayed: bool,
        limits: BufferLimits,
    ) -> BlockAssembler {
        let join = if is_replayed {
            Join::Whole
        } else {
            Join::Midway
        };
        BlockAssembler {
            tip,
            limits,
            join,
            open: BTreeMap::new(),
            bytes: 0,
            root: None,
            released: BTreeMap::new(),
            tip_banks: Vec::new(),
            dropped: 0,
        }
    }

    /// Buffered bytes, measured as for `buffer_bytes_max`.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes
    }

    /// The newest slot that the stream has named as finalized.
    pub fn root(&self) -> Option<u64> {
        self.root
    }

    /// Processes one message and appends the blocks that became ready, even if it then fails.
    pub fn push(&mut self, update: Update, ready: &mut Vec<Ready>) -> Result<(), Fault> {
        let slot = update.slot;
        let is_final = matches!(update.content, Content::Status(SlotState::Finalized));
        if is_final {
            self.root = self.root.max(Some(slot));
        } else if self.is_skipped(&update) {
            return Ok(());
        }
        if let Some((tip_slot, tip_blockhash)) = self.tip
            && slot <= tip_slot
        {
            return self.check_applied(&update, tip_slot, tip_blockhash);
        }
        if self.put(update)? {
            self.release(ready)?;
        }
        Ok(())
    }

    /// A replay overlaps applied blocks. Its block in the tip's slot must match the tip, and no
    /// other bank of an applied slot may be confirmed.
    fn check_applied(
        &mut self,
        update: &Update,
        tip_slot: u64,
        tip_blockhash: [u8; 32],
    ) -> Result<(), Fault> {
        let slot = update.slot;
        match (&update.content, update.bank) {
            (Content::Meta(meta), None) if slot == tip_slot && meta.blockhash != tip_blockhash => {
                Err(gap(tip_slot, meta, GapKind::OtherTip))
            }
            (Content::Meta(meta), Some(bank)) if slot == tip_slot => {
                match self.released.get(&slot) {
                    Some(taken) if *taken == bank && meta.blockhash != tip_blockhash => {
                        Err(gap(tip_slot, meta, GapKind::OtherTip))
                    }
                    None if self.tip_banks.len() < TIP_BANKS_MAX => {
                        self.tip_banks.push((bank, meta.blockhash));
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
            (Content::Status(SlotState::Confirmed | SlotState::Finalized), Some(bank)) => {
                let mut is_other = self.released.get(&slot).is_some_and(|taken| *taken != bank);
                if slot == tip_slot && !self.released.contains_key(&slot) {
                    self.released.insert(slot, bank);
                    is_other = (self.tip_banks.iter())
                        .any(|(of, blockhash)| *of == bank && *blockhash != tip_blockhash);
                }
                if !is_other {
                    return Ok(());
                }
                Err(Fault::Gap(Gap {
                    tip_slot,
                    slot,
                    parent_slot: slot,
                    kind: GapKind::OtherTip,
                }))
            }
            _ => Ok(()),
        }
    }

    /// Adds a message to its bank. Returns true if a slot may be complete now.
    fn put(&mut self, update: Update) -> Result<bool, Fault> {
        let Update {
            slot,
            bank,
            content,
        } = update;
        match content {
            Content::Status(state) => return self.put_status(slot, bank, state),
            Content::Meta(meta) => {
                check_parent(&meta)?;
                self.put_data(slot, |slot| {
                    slot.change(bank, |bank| bank.meta = Some(meta))
                })?;
                return Ok(true);
            }
            Content::Account {
                write_version,
                account,
            } => self.put_data(slot, |slot| {
                slot.change(bank, |bank| bank.put_account(write_version, account))
            })?,
            Content::Transaction(transaction) => self.put_data(slot, |slot| {
                slot.change(bank, |bank| bank.put_transaction(transaction))
            })?,
            Content::Entry { index, entry } => self.put_data(slot, |slot| {
                slot.change(bank, |bank| bank.put_entry(index, entry))
            })?,
            Content::Footer(footer) => self.put_data(slot, |slot| {
                slot.change(bank, |bank| bank.put_footer(footer))
            })?,
            Content::Closed(pubkeys) => self.put_data(slot, |slot| {
                slot.change(bank, |bank| bank.put_closed(pubkeys))
            })?,
        }
        Ok(false)
    }

    fn put_status(
        &mut self,
        slot: u64,
        bank: Option<u64>,
        state: SlotState,
    ) -> Result<bool, Fault> {
        match (state, bank) {
            (SlotState::Confirmed | SlotState::Finalized, _) => {
                self.put_data(slot, |slot| slot.decide(bank).map(|()| true))?;
                return Ok(true);
            }
            // The first accounts of a bank may come before it.
            (SlotState::CreatedBank, Some(_)) => {
                self.put_data(slot, |slot| slot.change(bank, |_| ()))?;
            }
            (SlotState::Dead | SlotState::Abandoned, Some(bank)) => {
                self.put_data(slot, |slot| {
                    slot.abandon(bank);
                    Ok(true)
                })?;
            }
            (SlotState::CreatedBank | SlotState::Dead | SlotState::Abandoned, None) => {
                if self.open.get(&slot).is_some_and(SlotBanks::is_unnumbered) {
                    self.forget(slot);
                } else if state == SlotState::Dead && self.open.contains_key(&slot) {
                    self.put_data(slot, |slot| {
                        slot.fail();
                        Ok(true)
                    })?;
                }
            }
        }
        Ok(false)
    }

    fn is_skipped(&mut self, update: &Update) -> bool {
        let slot = update.slot;
        let is_data = match update.content {
            Content::Status(state) => state == SlotState::Confirmed,
            // It is sent as soon as the server has it, before what is confirmed.
            Content::Footer(_) => false,
            _ => true,
        };
        if is_data && matches!(self.join, Join::Midway) {
            self.join = Join::Skipped(slot);
        }
        matches!(self.join, Join::Skipped(skipped) if skipped == slot)
    }

    /// `change` returns false for a message of a discarded bank.
    fn put_data(
        &mut self,
        slot: u64,
        change: impl FnOnce(&mut SlotBanks) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let open = self.open.entry(slot).or_insert_with(|| {
            let open = SlotBanks::new(slot);
            self.bytes += open.bytes;
            open
        });
        let before = open.bytes;
        let outcome = change(open);
        self.bytes = self.bytes - before + open.bytes;
        self.dropped += u64::from(!outcome?);
        let buffer_bytes_max = self.limits.buffer_bytes_max;
        if self.bytes > buffer_bytes_max {
            return Err(Fault::BufferFull {
                slot,
                buffer_bytes_max,
            });
        }
        Ok(())
    }

    fn forget(&mut self, slot: u64) {
        if let Some(open) = self.open.remove(&slot) {
            self.bytes -= open.bytes;
        }
    }

    /// Releases every chain of blocks from the tip to a block that the chain took.
    fn release(&mut self, ready: &mut Vec<Ready>) -> Result<(), Fault> {
        loop {
            let mut linked = None;
            let mut waiting = Vec::new();
            for (slot, open) in &self.open {
                let Some((bank, meta)) = open.taken()? else {
                    continue;
                };
                match self.path_from_tip((*slot, bank), meta)? {
                    Some(path) => {
                        linked = Some(path);
                        break;
                    }
                    None => waiting.push(meta),
                }
            }
            let Some(path) = linked else {
                return match (self.tip, waiting.first()) {
                    (Some((tip_slot, _)), Some(first))
                        if waiting.len() > self.limits.reorder_blocks_max =>
                    {
                        Err(gap(tip_slot, first, GapKind::Missing))
                    }
                    _ => Ok(()),
                };
            };
            ready.extend(path.into_iter().filter_map(|block| self.take(block)));
        }
    }

    /// Slots and banks from the tip's child to `block`, or `None` if one between them is missing.
    /// Without a tip the chain starts at the oldest buffered ancestor.
    fn path_from_tip(
        &self,
        block: SlotBank,
        meta: &BlockMeta,
    ) -> Result<Option<Vec<SlotBank>>, Fault> {
        let mut path = vec![block];
        let mut meta = meta;
        loop {
            if let Some((tip_slot, tip_blockhash)) = self.tip {
                if meta.parent_slot == tip_slot && meta.parent_blockhash == tip_blockhash {
                    break;
                }
                if meta.parent_slot <= tip_slot {
                    return Err(gap(tip_slot, meta, GapKind::OtherParent));
                }
            }
            let parent = self.open.get(&meta.parent_slot);
            match parent.and_then(|open| open.with_blockhash(&meta.parent_blockhash)) {
                Some((bank, parent)) if parent.slot < meta.slot => {
                    path.push((parent.slot, bank));
                    meta = parent;
                }
                _ if self.tip.is_none() => break,
                _ => return Ok(None),
            }
        }
        path.reverse();
        Ok(Some(path))
    }

    /// Makes the bank's block the tip and removes all other banks at or before its slot.
    fn take(&mut self, (slot, bank): SlotBank) -> Option<Ready> {
        let open = self.open.remove(&slot)?;
        let later = self.open.split_off(&slot);
        self.bytes -= open.bytes + self.open.values().map(|open| open.bytes).sum::<usize>();
        self.open = later;
        let mut content = open.into_content(bank)?;
        let meta = content.meta.take()?;
        self.tip = Some((slot, meta.blockhash));
        self.tip_banks.clear();
        if let Some(bank) = bank {
            self.released.insert(slot, bank);
        }
        while self.released.len() > RELEASED_MAX {
            self.released.pop_first();
        }
        let mut ready = content.into_ready(meta, self.root);
        ready.origin.is_by_bank = bank.is_some();
        ready.origin.dropped = std::mem::take(&mut self.dropped);
        Some(ready)
    }
}

/// Only slot 0 has no earlier parent.
fn check_parent(meta: &BlockMeta) -> Result<(), Fault> {
    if meta.parent_slot < meta.slot || meta.slot == 0 {
        return Ok(());
    }
    let what = format!("its parent is slot {}", meta.parent_slot);
    Err(Fault::Malformed {
        slot: meta.slot,
        what,
    })
}

fn gap(tip_slot: u64, meta: &BlockMeta, kind: GapKind) -> Fault {
    Fault::Gap(Gap {
        tip_slot,
        slot: meta.slot,
        parent_slot: meta.parent_slot,
        kind,
    })
}
