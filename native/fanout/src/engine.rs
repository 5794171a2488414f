//! Runs the passes: reads new slots from the store and writes their frames.

use std::collections::VecDeque;

use super::frames::{Frames, IS_LAST};
use super::index::Index;
use super::interest::Interest;
use super::pass::{FanoutOptions, FanoutStats, Pass};
use super::pending::PendingFrame;
use super::queue::Queued;
use super::signatures::{Outcome, Settled};
use super::slot::{Fed, Slot};
use store::{Snapshot, Tip};
use sys::error::Result;

/// The chain position of a fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ChainPosition {
    #[default]
    Nowhere,
    /// The store was empty, so the next slot is its first block.
    Empty,
    At(u64),
}

/// The subscriptions and the state between passes.
#[derive(Default)]
pub struct Engine {
    index: Index,
    position: ChainPosition,
    /// The newest final slot that was sent.
    root: u64,
    slot: Option<Slot>,
    pending: VecDeque<PendingFrame>,
    /// Subscriptions that ended without a call of `remove`.
    ended: Vec<u32>,
    /// Set during a pass. Still set at the next pass, it means that a pass failed and its frames
    /// are lost.
    is_torn: bool,
    changes: u64,
    frames: u64,
    bytes: u64,
}

impl Engine {
    pub fn pass(
        &mut self,
        snapshot: &Snapshot<'_>,
        queued: Queued,
        options: &FanoutOptions,
    ) -> Result<Pass> {
        let was_torn = std::mem::replace(&mut self.is_torn, true);
        let mut added = Vec::new();
        for (id, interest) in queued {
            match interest {
                Some(interest) => {
                    if let Interest::Signature { signature, .. } = &interest {
                        added.push(*signature);
                    }
                    self.index.add(id, interest);
                }
                None => self.index.remove(id),
            }
        }
        if self.position == ChainPosition::Nowhere || self.index.is_empty() {
            self.skip_to_tip(snapshot);
        }
        let mut frames = Frames::new(options.chunk_bytes_max);
        let mut is_lost = was_torn && !self.index.is_empty();
        self.find(snapshot, &added)?;
        if !is_lost {
            is_lost = match self.run(snapshot, &mut frames)? {
                Fed::Whole => false,
                Fed::Full => {
                    return Ok(self.finish(frames, false, true));
                }
                Fed::Lost => true,
            };
        }
        if is_lost {
            // Frames written before the gap are still sent.
            self.lose(snapshot)?;
            self.give_due(&mut frames)?;
        }
        let has_more = !self.pending.is_empty();
        Ok(self.finish(frames, is_lost, has_more))
    }

    /// Returns the subscriptions that ended without a call of `remove` since the last call.
    pub fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    pub fn stats(&self) -> FanoutStats {
        FanoutStats {
            subscriptions: 0,
            changes: self.changes,
            comparisons: self.index.comparisons,
            frames: self.frames,
            bytes: self.bytes,
        }
    }

    fn finish(&mut self, frames: Frames, is_lost: bool, has_more: bool) -> Pass {
        self.is_torn = false;
        self.frames += frames.index.len() as u64 / 3;
        self.bytes += frames.bytes.len() as u64;
        Pass {
            slot: match self.position {
                ChainPosition::At(slot) => Some(slot),
                ChainPosition::Nowhere | ChainPosition::Empty => None,
            },
            is_lost,
            has_more,
            frames: frames.bytes,
            index: frames.index,
        }
    }

    /// Writes frames slot by slot up to the tip.
    fn run(&mut self, snapshot: &Snapshot<'_>, frames: &mut Frames) -> Result<Fed> {
        loop {
            self.give_due(frames)?;
            if !self.pending.is_empty() {
                return Ok(Fed::Full);
            }
            match &mut self.slot {
                Some(slot) if slot.is_sent => {
                    self.position = ChainPosition::At(slot.block.slot);
                    self.slot = None;
                }
                Some(slot) => {
                    match slot.feed(&mut self.index, snapshot, frames, &mut self.changes)? {
                        Fed::Whole => self.tell_signatures(),
                        ended => return Ok(ended),
                    }
                    continue;
                }
                None => {}
            }
            let before = match self.position {
                ChainPosition::At(slot) => Some(slot),
                ChainPosition::Nowhere | ChainPosition::Empty => None,
            };
            let Some(block) = snapshot.block_after(before)? else {
                return Ok(Fed::Whole);
            };
            if before.is_some_and(|before| block.parent_slot != before) {
                return Ok(Fed::Lost);
            }
            self.begin_slot(snapshot, block)?;
        }
    }

    fn begin_slot(&mut self, snapshot: &Snapshot<'_>, block: Tip) -> Result<()> {
        for (id, ()) in self.index.slots.iter() {
            self.pending.push_back(PendingFrame::Slot(id, block));
        }
        if block.root > self.root && !self.index.roots.is_empty() {
            let mut before = self.root;
            while let Some(rooted) = snapshot.block_after(Some(before))? {
                if rooted.slot > block.root {
                    break;
                }
                for (id, ()) in self.index.roots.iter() {
                    self.pending.push_back(PendingFrame::Root(id, rooted.slot));
                }
                before = rooted.slot;
            }
        }
        self.root = self.root.max(block.root);
        self.slot = Some(Slot::new(block));
        Ok(())
    }

    /// Queues the frames of signatures, which are the last of a slot.
    fn tell_signatures(&mut self) {
        if let Some(slot) = &mut self.slot {
            slot.is_sent = true;
            let mut settled = std::mem::take(&mut slot.settled);
            self.index.signatures.finalize(self.root, &mut settled);
            self.settle(settled);
        }
    }

    fn settle(&mut self, settled: Vec<Settled>) {
        self.pending
            .extend(settled.into_iter().map(PendingFrame::Signature));
    }

    /// Searches the slots already processed for new signatures. Later slots match them when they
    /// are processed.
    fn find(&mut self, snapshot: &Snapshot<'_>, signatures: &[[u8; 64]]) -> Result<()> {
        let reached = match (&self.slot, self.position) {
            (Some(slot), _) => slot.block.slot,
            (None, ChainPosition::At(slot)) => slot,
            (None, _) => return Ok(()),
        };
        let mut settled = Vec::new();
        for signature in signatures {
            if let Some(found) = snapshot.signature(signature)?
                && found.slot <= reached
            {
                let (slot, error) = (found.slot, found.error.map(Box::from));
                let outcome = || Outcome { slot, error };
                let signatures = &mut self.index.signatures;
                signatures.see(signature, outcome, self.root, &mut settled);
            }
        }
        // Restore the order in which the subscriptions were added: `see` settles all subscriptions
        // to one signature together.
        settled.sort_by_key(|settled| settled.id);
        self.settle(settled);
        Ok(())
    }

    /// Writes pending frames until the pass is full.
    fn give_due(&mut self, frames: &mut Frames) -> Result<()> {
        while let Some(pending) = self.pending.front() {
            if frames.is_full() {
                return Ok(());
            }
            // Skip subscriptions that were removed while their frame was pending.
            if self.index.contains(pending.id()) && pending.give(frames)? == IS_LAST {
                self.index.remove(pending.id());
                self.ended.push(pending.id());
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    fn skip_to_tip(&mut self, snapshot: &Snapshot<'_>) {
        self.slot = None;
        self.pending.clear();
        self.go_to_tip(snapshot);
    }

    fn go_to_tip(&mut self, snapshot: &Snapshot<'_>) {
        (self.position, self.root) = match snapshot.tip() {
            Some(tip) => (ChainPosition::At(tip.slot), tip.root),
            None => (ChainPosition::Empty, 0),
        };
    }

    /// Drops pending frames of slots and roots and continues at the tip. The store keeps outcomes
    /// of transactions longer than changes, so no outcome is lost.
    fn lose(&mut self, snapshot: &Snapshot<'_>) -> Result<()> {
        let settled = self.slot.take().map(|slot| slot.settled);
        self.pending
            .retain(|pending| matches!(pending, PendingFrame::Signature(_)));
        self.settle(settled.unwrap_or_default());
        self.go_to_tip(snapshot);
        let unseen = self.index.signatures.all_unseen();
        self.find(snapshot, &unseen)?;
        let mut settled = Vec::new();
        self.index.signatures.finalize(self.root, &mut settled);
        self.settle(settled);
        Ok(())
    }
}
