//! The resumed subscriptions of one socket: where each goes on, their walk, and how they join the
//! walk at the tip.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::cursor::{Cursor, Place};
use super::frames::{Frames, To};
use super::interest::{Interest, Subscription};
use super::pending::{Gap, PendingFrame, reason};
use super::slot::{Fed, Work};
use super::walk::{ChainPosition, Walk};
use store::{BLOCKS_KEPT, Snapshot};
use sys::error::Result;

/// A cursor may be so many slots ahead, of a machine whose store is newer. Beyond, the
/// subscription does not wait for the slot.
const AHEAD_MAX: u64 = BLOCKS_KEPT;

struct Resumed {
    subscription: Subscription,
    cursor: Cursor,
}

/// How a subscription can go on.
enum Entry {
    /// The store has not reached the cursor.
    Ahead,
    /// After this slot. The place is in the next one.
    After(u64),
    Missing(&'static str),
}

/// The resumed subscriptions of a socket. Lists of ids may have removed ones.
#[derive(Default)]
pub struct SocketReplay {
    subscriptions: HashMap<u32, Resumed>,
    /// By the cursor's slot: those that the store had not reached.
    ahead: BTreeSet<(u64, u32)>,
    /// By the slot after which they begin.
    ready: BTreeSet<(u64, u32)>,
    /// Those to roots, with the last root that was sent.
    roots: VecDeque<(u32, u64)>,
    /// Those that cannot go on: the first slot that may be missing, and why.
    missing: Vec<(u32, u64, &'static str)>,
    walk: Walk,
    /// Those that have reached the tip in this step.
    pub joined: Vec<u32>,
}

impl SocketReplay {
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    pub fn add(&mut self, id: u32, subscription: Subscription, cursor: Cursor) {
        let place = subscription.interest.place_after(cursor.place);
        let cursor = Cursor { place, ..cursor };
        self.ahead.insert((cursor.slot, id));
        let resumed = Resumed {
            subscription,
            cursor,
        };
        self.subscriptions.insert(id, resumed);
    }

    pub fn remove(&mut self, id: u32) {
        self.subscriptions.remove(&id);
        self.walk.index.remove(id);
        if self.walk.index.is_empty() {
            self.walk = Walk::default();
        }
    }

    /// Writes the next frames. Returns whether more can be written at once.
    pub fn step(
        &mut self,
        live: &mut Walk,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
        work: &mut Work,
    ) -> Result<bool> {
        let ChainPosition::At(tip) = live.position else {
            return Ok(false);
        };
        self.resolve(live, snapshot, tip)?;
        while !frames.is_full() && !work.is_done() {
            if !self.give_roots(live, snapshot, frames)? {
                return Ok(true);
            }
            self.give_up(live, snapshot)?;
            if self.walk.slot.is_none() && self.walk.pending.is_empty() {
                self.enter();
                if self.walk.index.is_empty() {
                    return Ok(false);
                }
                if self.walk.position == live.position {
                    // Otherwise the tip has more frames, and they join after those.
                    if live.slot.is_some() {
                        return Ok(true);
                    }
                    self.join(live);
                    continue;
                }
            }
            let before = self.walk.position;
            let until = self.next_entry().map_or(tip, |after| after.min(tip));
            match self.walk.run(snapshot, frames, until, work)? {
                Fed::Lost => self.lose(),
                Fed::Damaged => self.walk.pass_damaged(),
                Fed::Whole if self.walk.astray.is_empty() && self.walk.position == before => {
                    self.lose();
                }
                Fed::Whole | Fed::Full => {}
            }
            for (id, slot) in std::mem::take(&mut self.walk.astray) {
                self.walk.index.remove(id);
                self.missing.push((id, slot, reason::UNKNOWN));
            }
            if self.walk.index.is_empty() {
                self.walk = Walk::default();
            }
        }
        Ok(true)
    }

    /// Finds where subscriptions go on whose slot the tip has reached.
    fn resolve(&mut self, live: &Walk, snapshot: &Snapshot<'_>, tip: u64) -> Result<()> {
        let last = tip.saturating_add(AHEAD_MAX);
        let far = self.ahead.split_off(&(last.saturating_add(1), 0));
        let later = self.ahead.split_off(&(tip.saturating_add(1), 0));
        for (_, id) in far {
            self.missing.push((id, tip, reason::AHEAD));
        }
        for (slot, id) in std::mem::replace(&mut self.ahead, later) {
            let Some(resumed) = self.subscriptions.get(&id) else {
                continue;
            };
            match entry_of(resumed, live, snapshot)? {
                Entry::Ahead => {
                    self.ahead.insert((slot, id));
                }
                Entry::After(after) if resumed.subscription.interest == Interest::Root => {
                    self.roots.push_back((id, after));
                }
                Entry::After(after) => {
                    self.ready.insert((after, id));
                }
                Entry::Missing(why) => self.missing.push((id, slot, why)),
            }
        }
        Ok(())
    }

    /// Takes subscriptions into the walk that begin where it is.
    fn enter(&mut self) {
        if self.walk.index.is_empty() {
            let Some((first, _)) = self.ready.first() else {
                return;
            };
            self.walk.position = ChainPosition::At(*first);
        }
        let ChainPosition::At(position) = self.walk.position else {
            return;
        };
        let here = self.ready.range((position, 0)..=(position, u32::MAX));
        for (after, id) in here.copied().collect::<Vec<_>>() {
            self.ready.remove(&(after, id));
            if let Some(resumed) = self.subscriptions.get(&id) {
                self.walk.index.add(id, resumed.subscription.clone());
                self.walk.entering.push(id, resumed.cursor.place);
            }
        }
    }

    /// The next slot at which a subscription enters the walk.
    fn next_entry(&self) -> Option<u64> {
        let ChainPosition::At(position) = self.walk.position else {
            return None;
        };
        let mut later = self.ready.range((position.saturating_add(1), 0)..);
        later.next().map(|(after, _)| *after)
    }

    /// Everything in the walk has reached the tip.
    fn join(&mut self, live: &mut Walk) {
        let walk = std::mem::take(&mut self.walk);
        for id in walk.index.ids() {
            self.join_one(id, live);
        }
    }

    fn join_one(&mut self, id: u32, live: &mut Walk) -> Option<Resumed> {
        let resumed = self.subscriptions.remove(&id)?;
        self.joined.push(id);
        live.index.add(id, resumed.subscription.clone());
        Some(resumed)
    }

    /// The walk cannot go on.
    fn lose(&mut self) {
        let walk = std::mem::take(&mut self.walk);
        let first = match (&walk.slot, walk.position) {
            (Some(slot), _) => slot.block.slot,
            (None, ChainPosition::At(slot)) => slot.saturating_add(1),
            (None, _) => 0,
        };
        for id in walk.index.ids() {
            self.missing.push((id, first, reason::PRUNED));
        }
    }

    /// Reports gaps of subscriptions that cannot go on, which join the tip.
    fn give_up(&mut self, live: &mut Walk, snapshot: &Snapshot<'_>) -> Result<()> {
        let (None, ChainPosition::At(tip)) = (&live.slot, live.position) else {
            return Ok(());
        };
        let Some(block) = snapshot.block(tip)? else {
            return Ok(());
        };
        for (id, first, reason) in std::mem::take(&mut self.missing) {
            let Some(resumed) = self.join_one(id, live) else {
                continue;
            };
            let (last, place) = if resumed.subscription.interest == Interest::Root {
                let root = snapshot.block(live.root)?;
                let slot = live.root;
                (root.unwrap_or(store::Tip { slot, ..block }), Place::Root)
            } else {
                (block, Place::End)
            };
            let gap = Gap {
                first,
                last,
                reason,
            };
            let frame = PendingFrame::Gap(id, Box::new((gap, place)));
            live.pending.push_back(frame);
        }
        Ok(())
    }

    /// Writes roots. Returns false if some are left.
    fn give_roots(
        &mut self,
        live: &mut Walk,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
    ) -> Result<bool> {
        while let Some((id, mut after)) = self.roots.pop_front() {
            if !self.subscriptions.contains_key(&id) {
                continue;
            }
            let mut is_whole = true;
            while after < live.root
                && is_whole
                && let Some(block) = snapshot.block_after(Some(after))?
                && block.slot <= live.root
            {
                is_whole = block.parent_slot == after;
                if frames.is_full() {
                    self.roots.push_front((id, after));
                    return Ok(false);
                }
                if is_whole {
                    let cursor = Some(Cursor::new(&block, Place::Root));
                    frames.root(To { id, cursor }, block.slot)?;
                    after = block.slot;
                }
            }
            if !is_whole {
                self.missing
                    .push((id, after.saturating_add(1), reason::PRUNED));
            } else if live.slot.is_some() {
                // It joins after the frames of the tip.
                self.roots.push_front((id, after));
                return Ok(false);
            } else {
                self.join_one(id, live);
            }
        }
        Ok(true)
    }
}

fn entry_of(resumed: &Resumed, live: &Walk, snapshot: &Snapshot<'_>) -> Result<Entry> {
    let Resumed {
        subscription,
        cursor,
    } = resumed;
    let Some(block) = snapshot.block(cursor.slot)? else {
        let oldest = snapshot.block_after(None)?;
        let is_older = oldest.is_some_and(|oldest| cursor.slot < oldest.slot);
        return Ok(Entry::Missing(if is_older {
            reason::PRUNED
        } else {
            reason::FORK
        }));
    };
    if Cursor::new(&block, cursor.place) != *cursor {
        return Ok(Entry::Missing(reason::FORK));
    }
    if subscription.interest == Interest::Root {
        // Machines hear of roots at different times.
        let is_ahead = cursor.slot > live.root;
        return Ok(if is_ahead {
            Entry::Ahead
        } else {
            Entry::After(cursor.slot)
        });
    }
    let after = match cursor.place {
        Place::End => cursor.slot,
        _ => block.parent_slot,
    };
    let is_of_accounts = matches!(
        subscription.interest,
        Interest::Account { .. } | Interest::Program { .. }
    );
    Ok(if is_of_accounts && after < snapshot.feed_lacks()? {
        Entry::Missing(reason::INCOMPLETE)
    } else {
        Entry::After(after)
    })
}
