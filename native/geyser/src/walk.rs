//! The place of a stream on the chain: block by block, with the slots that each makes final.

use std::sync::Arc;

use store::Snapshot;
use sys::error::Result as Checked;
use tonic::Status;

use crate::content::Block;
use crate::network::{Network, with_parent};
use crate::status::{lagged, no_index, replaced, too_old};

/// Where a stream is.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    generation: u64,
    /// The last block that it has passed.
    slot: u64,
    /// The newest slot that is final to it.
    root: u64,
    /// Blocks before it are passed in silence.
    first: u64,
}

/// A block, and the ones that became final with it, the oldest first.
#[derive(Debug)]
pub struct Step {
    pub block: Block,
    pub rooted: Vec<Block>,
}

/// The first slot that can be replayed; `None` before the second block of a store.
pub fn first_available(snapshot: &Snapshot<'_>) -> Checked<Option<u64>> {
    let Some(oldest) = snapshot.block_after(None)? else {
        return Ok(None);
    };
    // The first block of which the parent's hash is known.
    let Some(first) = snapshot.block_after(Some(oldest.slot))? else {
        return Ok(None);
    };
    let kept = snapshot.feed_oldest_slot()?.unwrap_or(u64::MAX);
    let first = first.slot.max(kept).max(snapshot.feed_lacks()? + 1);
    // A slot that the chain skipped has nothing to replay.
    Ok(snapshot
        .block_after(Some(first - 1))?
        .map(|block| block.slot))
}

/// Where a replay begins: the block before it.
#[derive(Debug)]
enum Begin {
    After(u64),
    TooOld(u64),
    NoIndex,
}

fn find_begin(snapshot: &Snapshot<'_>, from: u64) -> Checked<Begin> {
    let Some(tip) = snapshot.tip().copied() else {
        return Ok(Begin::NoIndex);
    };
    if from > tip.slot {
        return Ok(Begin::After(tip.slot));
    }
    let first = first_available(snapshot)?;
    let next = snapshot.block_after(from.checked_sub(1))?;
    match (first, next) {
        (Some(first), Some(next)) if next.slot >= first => Ok(Begin::After(next.parent_slot)),
        (first, _) => Ok(Begin::TooOld(first.unwrap_or(tip.slot + 1))),
    }
}

impl Walk {
    /// Begins with the next block.
    pub async fn live(network: &Arc<Network>) -> Result<Walk, Status> {
        let read = network.read(|snapshot| Ok(snapshot.tip().copied()));
        let (generation, tip) = read.await?;
        let tip = tip.ok_or_else(no_index)?;
        Ok(Walk {
            generation,
            slot: tip.slot,
            root: tip.root,
            first: 0,
        })
    }

    /// Begins with a slot, which may have been long ago, or may be still to come.
    pub async fn from_slot(network: &Arc<Network>, from: u64) -> Result<Walk, Status> {
        let read = network.read(move |snapshot| find_begin(snapshot, from));
        let (generation, begin) = read.await?;
        match begin {
            Begin::After(slot) => Ok(Walk {
                generation,
                slot,
                root: from.saturating_sub(1),
                first: from,
            }),
            Begin::TooOld(first) => Err(too_old(from, first)),
            Begin::NoIndex => Err(no_index()),
        }
    }

    /// Which store the place is of.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The next block; `None` at the tip.
    pub async fn next(&mut self, network: &Arc<Network>) -> Result<Option<Step>, Status> {
        loop {
            let Some(block) = self.block_after(network).await? else {
                return Ok(None);
            };
            if block.tip.parent_slot != self.slot {
                return Err(lagged());
            }
            let rooted = self.rooted_by(&block, network).await?;
            self.slot = block.tip.slot;
            self.root = self.root.max(block.tip.root);
            if block.tip.slot >= self.first {
                return Ok(Some(Step { block, rooted }));
            }
        }
    }

    async fn block_after(&self, network: &Arc<Network>) -> Result<Option<Block>, Status> {
        let position = *network.position().borrow();
        if position.generation != self.generation {
            return Err(replaced());
        }
        if position.slot <= self.slot {
            return Ok(None);
        }
        if let Some(block) = network.recent_after(self.slot) {
            return Ok(Some(block));
        }
        let slot = self.slot;
        let read = network.read(move |snapshot| match snapshot.block_after(Some(slot))? {
            Some(tip) => Ok(Some(with_parent(snapshot, tip)?)),
            None => Ok(None),
        });
        let (generation, found) = read.await?;
        if generation != self.generation {
            return Err(replaced());
        }
        match found {
            None => Ok(None),
            Some(block) => block.map(Some).ok_or_else(lagged),
        }
    }

    async fn rooted_by(&self, block: &Block, network: &Arc<Network>) -> Result<Vec<Block>, Status> {
        let (root, until) = (self.root, block.tip.root);
        if until <= root {
            return Ok(Vec::new());
        }
        // A read for each stream and block would be most of the work of a slot.
        if let Some(rooted) = network.recent_rooted(root, until) {
            return Ok(rooted);
        }
        let read = network.read(move |snapshot| {
            let mut rooted = Vec::new();
            let mut last = root;
            while let Some(next) = snapshot.block_after(Some(last))? {
                if next.slot > until {
                    break;
                }
                last = next.slot;
                rooted.push(with_parent(snapshot, next)?);
            }
            Ok(rooted)
        });
        let (_, rooted) = read.await?;
        // Those whose parent is not stored are older than anything that can be replayed.
        let rooted: Vec<Block> = rooted.into_iter().flatten().collect();
        let is_whole = rooted
            .first()
            .is_none_or(|first| first.tip.parent_slot <= root);
        match is_whole || root == 0 {
            true => Ok(rooted),
            false => Err(lagged()),
        }
    }
}
