//! Frames of slots, roots and signatures, which wait for space in a pass.

use super::frames::{Frames, IS_LAST};
use super::signatures::{Outcome, Settled};
use store::Tip;
use sys::error::Result;

/// A frame that waits for space in a pass.
pub enum PendingFrame {
    Slot(u32, Tip),
    Root(u32, u64),
    Signature(Settled),
}

impl PendingFrame {
    /// The id of the subscription.
    pub fn id(&self) -> u32 {
        match self {
            PendingFrame::Slot(id, _) | PendingFrame::Root(id, _) => *id,
            PendingFrame::Signature(settled) => settled.id,
        }
    }

    /// Writes the frame and returns its flags.
    pub fn give(&self, frames: &mut Frames) -> Result<u32> {
        match self {
            PendingFrame::Slot(id, block) => {
                frames.slot(*id, block.slot, block.parent_slot, block.root)?;
            }
            PendingFrame::Root(id, root) => frames.root(*id, *root)?,
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
