//! Runs the passes: the walk at the tip, then a part of what is replayed.

use std::collections::HashSet;

use super::frames::{Frames, IS_REPLAYED};
use super::interest::Interest;
use super::pass::{FanoutOptions, FanoutStats, Pass};
use super::queue::Queued;
use super::replay::{REPLAY_FRAMES_BYTES, REPLAY_LOOKED_AT_BYTES, Replays};
use super::slot::{Fed, Work};
use super::walk::{ChainPosition, Walk};
use store::Snapshot;
use sys::error::Result;

/// Bytes of changes that one pass reads. A long-lived snapshot keeps its pages from reuse.
const LOOKED_AT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The subscriptions and the state between passes.
#[derive(Default)]
pub struct Engine {
    live: Walk,
    replays: Replays,
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
        held: &HashSet<u32>,
        options: &FanoutOptions,
    ) -> Result<Pass> {
        let was_torn = std::mem::replace(&mut self.is_torn, true);
        let added = self.take(queued);
        let live = &mut self.live;
        if live.position == ChainPosition::Nowhere || live.index.is_empty() {
            live.skip_to_tip(snapshot);
        }
        let mut frames = Frames::new(options.chunk_bytes_max);
        let mut work = Work::new(LOOKED_AT_BYTES_MAX);
        let mut is_lost = was_torn && !(live.index.is_empty() && self.replays.is_empty());
        live.find(snapshot, &added)?;
        let mut has_more = false;
        if !is_lost {
            match live.run(snapshot, &mut frames, u64::MAX, &mut work)? {
                Fed::Whole => {}
                Fed::Full => has_more = true,
                Fed::Lost | Fed::Damaged => is_lost = true,
            }
        }
        if is_lost {
            // Frames written before the gap are still sent.
            live.lose(snapshot)?;
            live.give_due(&mut frames)?;
        }
        self.changes += work.changes;
        let mut damaged_slot = work.damaged_slot;
        if !is_lost && !self.replays.is_empty() {
            frames.extend(
                REPLAY_FRAMES_BYTES.min(options.chunk_bytes_max),
                IS_REPLAYED,
            );
            let mut work = Work::new(REPLAY_LOOKED_AT_BYTES);
            has_more |= self
                .replays
                .advance(live, snapshot, &mut frames, &mut work, held)?;
            self.changes += work.changes;
            damaged_slot = work.damaged_slot;
        }
        has_more |= !self.live.pending.is_empty();
        let pass = self.finish(frames, is_lost, has_more);
        Ok(Pass {
            damaged_slot,
            ..pass
        })
    }

    /// Takes the queue and returns the signatures that were subscribed to.
    fn take(&mut self, queued: Queued) -> Vec<[u8; 64]> {
        let mut added = Vec::new();
        for (id, subscription) in queued {
            let Some(mut subscription) = subscription else {
                self.live.index.remove(id);
                self.replays.remove(id);
                continue;
            };
            if let Interest::Signature { signature, .. } = &subscription.interest {
                added.push(*signature);
            }
            match subscription.resume.take() {
                Some(resume) => self.replays.add(id, subscription, &resume),
                None => self.live.index.add(id, subscription),
            }
        }
        added
    }

    /// Returns the subscriptions that ended without a call of `remove` since the last call.
    pub fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.live.ended)
    }

    pub fn stats(&self) -> FanoutStats {
        FanoutStats {
            subscriptions: 0,
            changes: self.changes,
            comparisons: self.live.index.comparisons,
            frames: self.frames,
            bytes: self.bytes,
        }
    }

    fn finish(&mut self, frames: Frames, is_lost: bool, has_more: bool) -> Pass {
        self.is_torn = false;
        self.frames += frames.index.len() as u64 / 3;
        self.bytes += frames.bytes.len() as u64;
        Pass {
            slot: match self.live.position {
                ChainPosition::At(slot) => Some(slot),
                ChainPosition::Nowhere | ChainPosition::Empty => None,
            },
            is_lost,
            damaged_slot: None,
            has_more,
            frames: frames.bytes,
            index: frames.index,
        }
    }
}
