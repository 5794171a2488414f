//! Frames of slots, roots, signatures and gaps, which wait for space in a pass.

use super::cursor::{Cursor, Place};
use super::frames::{Frames, IS_LAST, To};
use super::signatures::{Outcome, Settled};
use store::Tip;
use sys::error::Result;

/// Why notifications may be missing.
pub mod reason {
    /// The store no longer has the slots, or has not all of them.
    pub const PRUNED: &str = "pruned";
    /// The chain of this store has another block, or none, in the cursor's slot.
    pub const FORK: &str = "fork";
    /// The cursor is far ahead of this store: of another network, or the store was restored.
    pub const AHEAD: &str = "ahead";
    /// The store had newer accounts than these slots when it applied them, as after a bootstrap
    /// from an RPC, and has no changes of those.
    pub const INCOMPLETE: &str = "incomplete";
    /// The slot's changes, or the rest of them, cannot be read any more from the disk.
    pub const DAMAGED: &str = "damaged";
    /// The slot has not the change that the cursor names.
    pub const UNKNOWN: &str = "unknown";
}

/// Slots of which notifications may be missing: the first, the last, and why.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    pub first: u64,
    pub last: Tip,
    pub reason: &'static str,
}

/// A frame that waits for space in a pass.
pub enum PendingFrame {
    Slot(u32, Tip),
    Root(u32, Tip),
    Gap(u32, Box<(Gap, Place)>),
    Signature(Settled),
}

impl PendingFrame {
    /// The id of the subscription.
    pub fn id(&self) -> u32 {
        match self {
            PendingFrame::Slot(id, _) | PendingFrame::Root(id, _) | PendingFrame::Gap(id, _) => *id,
            PendingFrame::Signature(settled) => settled.id,
        }
    }

    /// Writes the frame and returns its flags.
    pub fn give(&self, frames: &mut Frames, has_cursors: bool) -> Result<u32> {
        let to = |id: &u32, block: &Tip, place| To {
            id: *id,
            cursor: has_cursors.then(|| Cursor::new(block, place)),
        };
        match self {
            PendingFrame::Slot(id, block) => {
                let to = to(id, block, Place::Slot);
                frames.slot(to, block.slot, block.parent_slot, block.root)?;
            }
            PendingFrame::Root(id, block) => {
                frames.root(to(id, block, Place::Root), block.slot)?;
            }
            PendingFrame::Gap(id, gap) => {
                let (
                    Gap {
                        first,
                        last,
                        reason,
                    },
                    place,
                ) = &**gap;
                frames.gap(to(id, last, *place), (*first, last.slot), reason)?;
            }
            PendingFrame::Signature(settled) => {
                let Outcome { slot, error } = &settled.outcome;
                if !settled.is_received {
                    frames.outcome(settled.id, *slot, error.as_deref())?;
                    return Ok(IS_LAST);
                }
                frames.received(settled.id, *slot)?;
            }
        }
        Ok(0)
    }
}
