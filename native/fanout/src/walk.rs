//! Walks along the chain and writes the frames of its slots: once at the tip for all subscriptions
//! that are there, and once for each socket that resumes subscriptions.

use std::collections::VecDeque;

use super::cursor::Place;
use super::frames::{Frames, IS_LAST};
use super::index::Index;
use super::pending::{Gap, PendingFrame, reason};
use super::signatures::{Outcome, Settled};
use super::slot::{Entering, Fed, Slot, Work};
use store::{Snapshot, Tip};
use sys::error::Result;

/// The chain position of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChainPosition {
    #[default]
    Nowhere,
    /// The store was empty, so the next slot is its first block.
    Empty,
    At(u64),
}

/// Subscriptions and the place that their frames have reached.
#[derive(Default)]
pub struct Walk {
    pub index: Index,
    pub position: ChainPosition,
    /// The newest final slot that was sent.
    pub root: u64,
    pub slot: Option<Slot>,
    pub pending: VecDeque<PendingFrame>,
    /// Subscriptions that begin within the next slot.
    pub entering: Entering,
    /// Those whose place the slot has not; the slot.
    pub astray: Vec<(u32, u64)>,
    /// Subscriptions that ended without a call of `remove`.
    pub ended: Vec<u32>,
}

impl Walk {
    /// Writes frames slot by slot, up to the slot `until` or the tip.
    pub fn run(
        &mut self,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
        until: u64,
        work: &mut Work,
    ) -> Result<Fed> {
        loop {
            self.give_due(frames)?;
            if !self.pending.is_empty() {
                return Ok(Fed::Full);
            }
            match &mut self.slot {
                Some(slot) if slot.is_sent => {
                    let number = slot.block.slot;
                    let astray = std::mem::take(&mut slot.astray);
                    self.astray
                        .extend(astray.into_iter().map(|id| (id, number)));
                    self.position = ChainPosition::At(number);
                    self.slot = None;
                    if !self.astray.is_empty() {
                        return Ok(Fed::Whole);
                    }
                }
                Some(slot) => {
                    match slot.feed(&mut self.index, snapshot, frames, work)? {
                        Fed::Whole => {
                            self.give_gaps(snapshot)?;
                            self.tell_signatures();
                        }
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
            if before.is_some_and(|before| before >= until) {
                return Ok(Fed::Whole);
            }
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
                    self.pending.push_back(PendingFrame::Root(id, rooted));
                }
                before = rooted.slot;
            }
        }
        self.root = self.root.max(block.root);
        self.slot = Some(Slot::new(block, std::mem::take(&mut self.entering)));
        Ok(())
    }

    /// Queues gaps of a slot that lacks accounts, after the ones that it has.
    fn give_gaps(&mut self, snapshot: &Snapshot<'_>) -> Result<()> {
        if let Some(slot) = &self.slot
            && slot.block.slot <= snapshot.feed_lacks()?
        {
            let block = slot.block;
            let ids = self.index.accounts_with_cursors();
            self.give_gap(&ids, block, reason::INCOMPLETE);
        }
        Ok(())
    }

    /// Queues gaps of a slot whose changes are damaged, and leaves it. Every subscription to
    /// changes must have cursors.
    pub fn pass_damaged(&mut self) {
        if let Some(slot) = &mut self.slot {
            slot.is_sent = true;
            let block = slot.block;
            let ids = self.index.changes_with_cursors();
            self.give_gap(&ids, block, reason::DAMAGED);
        }
    }

    fn give_gap(&mut self, ids: &[u32], block: Tip, reason: &'static str) {
        let gap = Gap {
            first: block.slot,
            last: block,
            reason,
        };
        for id in ids {
            let frame = PendingFrame::Gap(*id, Box::new((gap, Place::End)));
            self.pending.push_back(frame);
        }
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
    pub fn find(&mut self, snapshot: &Snapshot<'_>, signatures: &[[u8; 64]]) -> Result<()> {
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
    pub fn give_due(&mut self, frames: &mut Frames) -> Result<()> {
        while let Some(pending) = self.pending.front() {
            if frames.is_full() {
                return Ok(());
            }
            // Skip subscriptions that were removed while their frame was pending.
            if let Some(has_cursors) = self.index.has_cursors(pending.id())
                && pending.give(frames, has_cursors)? == IS_LAST
            {
                self.index.remove(pending.id());
                self.ended.push(pending.id());
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    pub fn skip_to_tip(&mut self, snapshot: &Snapshot<'_>) {
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
    pub fn lose(&mut self, snapshot: &Snapshot<'_>) -> Result<()> {
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
