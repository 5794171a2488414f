//! Assembles feed messages into complete blocks in chain order. No I/O and no clock.
//!
//! At CONFIRMED a server sends a slot's accounts, then its block meta, then its status. A slot is
//! complete when its meta and its status have arrived, or its meta and a complete descendant,
//! because some servers omit a status. Complete blocks are released only as a chain from the tip.
//! The order of slots on the wire and duplicated, forked or dead slots therefore do not change the
//! result.

use std::collections::BTreeMap;

use super::event::{Gap, GapKind};
use super::pending_slot::PendingSlot;
use super::update::{BlockMeta, Fault, Ready, SlotState, Update};

/// Limits of [`BlockAssembler`]. See `GeyserConfig`.
#[derive(Debug, Clone, Copy)]
pub struct BufferLimits {
    pub buffer_bytes_max: usize,
    pub reorder_blocks_max: usize,
}

/// Whether the stream's first slot may be incomplete.
enum Join {
    Whole,
    Midway,
    /// This slot was in progress when the stream opened, so it is ignored.
    Skipped(u64),
}

/// Buffer of one subscription. Each subscription needs a new one, because write versions of
/// different servers, or of different runs of a server, are not comparable.
pub struct BlockAssembler {
    tip: Option<(u64, [u8; 32])>,
    limits: BufferLimits,
    join: Join,
    open: BTreeMap<u64, PendingSlot>,
    bytes: usize,
    /// The newest finalized slot.
    root: Option<u64>,
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
        }
    }

    /// Buffered bytes, measured as for `buffer_bytes_max`.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes
    }

    /// Processes one message and appends the blocks that became ready, even if it then fails.
    pub fn push(&mut self, update: Update, ready: &mut Vec<Ready>) -> Result<(), Fault> {
        let slot = update.slot();
        if let Update::Slot {
            state: SlotState::Finalized,
            ..
        } = update
        {
            return self.finalize(slot, ready);
        }
        if self.is_skipped(&update) {
            return Ok(());
        }
        if let Some((tip_slot, tip_blockhash)) = self.tip
            && slot <= tip_slot
        {
            // A replay overlaps applied blocks. Its block in the tip's slot must match the tip.
            return match update {
                Update::Meta(meta) if slot == tip_slot && meta.blockhash != tip_blockhash => {
                    Err(gap(tip_slot, &meta, GapKind::OtherTip))
                }
                _ => Ok(()),
            };
        }
        if self.put(slot, update)? {
            self.release(ready)?;
        }
        Ok(())
    }

    fn finalize(&mut self, slot: u64, ready: &mut Vec<Ready>) -> Result<(), Fault> {
        self.root = self.root.max(Some(slot));
        match self.open.get_mut(&slot) {
            Some(open) => {
                open.is_confirmed = true;
                self.release(ready)
            }
            None => Ok(()),
        }
    }

    /// Adds a message to its slot. Returns true if the slot may be complete now.
    fn put(&mut self, slot: u64, update: Update) -> Result<bool, Fault> {
        let may_be_complete = matches!(update, Update::Meta(_) | Update::Slot { .. });
        match update {
            Update::Slot {
                state: SlotState::CreatedBank | SlotState::Dead,
                ..
            } => {
                self.forget(slot);
                return Ok(false);
            }
            Update::Slot { .. } => self.change(slot, |open| open.is_confirmed = true)?,
            Update::Meta(meta) => {
                check_parent(&meta)?;
                self.change(slot, |open| open.meta = Some(meta))?;
            }
            Update::Account {
                write_version,
                account,
                ..
            } => self.change(slot, |open| open.put_account(write_version, account))?,
            Update::Transaction {
                index, transaction, ..
            } => self.change(slot, |open| open.put_transaction(index, transaction))?,
            Update::Closed { pubkeys, .. } => self.change(slot, |open| open.put_closed(pubkeys))?,
        }
        Ok(may_be_complete)
    }

    fn is_skipped(&mut self, update: &Update) -> bool {
        let slot = update.slot();
        let is_data = !matches!(
            update,
            Update::Slot {
                state: SlotState::CreatedBank | SlotState::Dead,
                ..
            }
        );
        if is_data && matches!(self.join, Join::Midway) {
            self.join = Join::Skipped(slot);
        }
        matches!(self.join, Join::Skipped(skipped) if skipped == slot)
    }

    fn change(&mut self, slot: u64, change: impl FnOnce(&mut PendingSlot)) -> Result<(), Fault> {
        let open = self.open.entry(slot).or_insert_with(|| {
            let open = PendingSlot::new();
            self.bytes += open.bytes;
            open
        });
        let before = open.bytes;
        change(open);
        self.bytes = self.bytes - before + open.bytes;
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

    /// Releases every chain of blocks from the tip to a confirmed block.
    fn release(&mut self, ready: &mut Vec<Ready>) -> Result<(), Fault> {
        loop {
            let mut linked = None;
            let mut waiting = Vec::new();
            for (slot, open) in &self.open {
                let Some(meta) = open.meta.as_ref().filter(|_| open.is_confirmed) else {
                    continue;
                };
                match self.path_from_tip(*slot, meta)? {
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
            ready.extend(path.into_iter().filter_map(|slot| self.take(slot)));
        }
    }

    /// Slots from the tip's child to `slot`, or `None` if one between them is missing. Without a
    /// tip the chain starts at the oldest buffered ancestor.
    fn path_from_tip(&self, slot: u64, meta: &BlockMeta) -> Result<Option<Vec<u64>>, Fault> {
        let mut path = vec![slot];
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
            let parent = self
                .open
                .get(&meta.parent_slot)
                .and_then(|open| open.meta.as_ref());
            match parent {
                Some(parent)
                    if parent.blockhash == meta.parent_blockhash && parent.slot < meta.slot =>
                {
                    path.push(parent.slot);
                    meta = parent;
                }
                _ if self.tip.is_none() => break,
                _ => return Ok(None),
            }
        }
        path.reverse();
        Ok(Some(path))
    }

    /// Makes the slot's block the tip and removes all other slots at or before it.
    fn take(&mut self, slot: u64) -> Option<Ready> {
        let mut open = self.open.remove(&slot)?;
        let meta = open.meta.take()?;
        let later = self.open.split_off(&slot);
        self.bytes -= open.bytes + self.open.values().map(|open| open.bytes).sum::<usize>();
        self.open = later;
        self.tip = Some((slot, meta.blockhash));
        Some(open.into_ready(meta, self.root))
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
