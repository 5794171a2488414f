//! From the spool into a store, and from then on straight into it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::files::{Files, RecordReader};
use super::{Phase, Spool};
use primitives::encoding::encode_pubkey;
use store::{Block, Store, Tip};
use sys::error::{Error, Result};

/// How long the replay sleeps at most while the feed brings nothing, before it looks whether it is
/// to stop.
const IDLE: Duration = Duration::from_millis(100);

/// Bounds of what one commit of a replay holds, as those of a feed that is behind.
#[derive(Debug, Clone, Copy)]
pub struct ReplayLimits {
    pub blocks_max: usize,
    pub bytes_max: u64,
}

/// What a replay must know.
pub struct Replaying<'a> {
    /// Loaded, and not written by anybody else. Its tip is what the blocks must continue.
    pub store: Arc<Store>,
    /// Slot of the store as it was loaded: a replay that goes on after a kill finds a later tip.
    pub base_slot: u64,
    /// The store is as of one slot only from this one on: rows were read up to it.
    pub rows_slot: Option<u64>,
    pub limits: ReplayLimits,
    /// Set from elsewhere to end it.
    pub is_cancelled: &'a AtomicBool,
}

/// What a replay did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    pub blocks: u64,
    /// The store's tip at the hand-over.
    pub slot: u64,
}

impl Spool {
    /// Applies what was spooled after the store's tip, follows the feed until nothing is left, and
    /// makes the store the sink. Ends when at least one block has continued the store's base.
    /// Fails, and leaves the spool as it is, where the first block does not.
    pub fn replay(&self, replaying: &Replaying<'_>) -> Result<Replayed> {
        let mut reader = RecordReader::default();
        let mut done = Replayed::default();
        loop {
            if replaying.is_cancelled.load(Ordering::Relaxed) {
                return Err(Error::Internal("the replay was ended".into()));
            }
            // Without the lock, so that the feed goes on meanwhile.
            if self.apply_next(&mut reader, replaying, &mut done, None)? {
                continue;
            }
            let mut phase = self.lock();
            let Phase::Spooling(files) = &mut *phase else {
                return Err(Error::Internal(
                    "the spool has been handed over already".into(),
                ));
            };
            while self.apply_next(&mut reader, replaying, &mut done, Some(files))? {}
            let tip = tip_of(&replaying.store)?;
            if tip.slot > replaying.base_slot.max(replaying.rows_slot.unwrap_or(0)) {
                *phase = Phase::Live(Arc::clone(&replaying.store));
                done.slot = tip.slot;
                return Ok(done);
            }
            let _unused = self.grown.wait_timeout(phase, IDLE);
        }
    }

    /// Applies the next blocks; false where there are none.
    fn apply_next(
        &self,
        reader: &mut RecordReader,
        replaying: &Replaying<'_>,
        done: &mut Replayed,
        mut held: Option<&mut Files>,
    ) -> Result<bool> {
        let ReplayLimits {
            blocks_max,
            bytes_max,
        } = replaying.limits;
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        while blocks.len() < blocks_max.max(1) && (blocks.is_empty() || bytes < bytes_max) {
            let next = match &mut held {
                Some(files) => reader.next(&self.dir, |place| files.following(place))?,
                None => reader.next(&self.dir, |place| match &*self.lock() {
                    Phase::Spooling(files) => files.following(place),
                    Phase::Live(_) => None,
                })?,
            };
            let Some((block, block_bytes)) = next else {
                break;
            };
            bytes += block_bytes;
            blocks.push(block);
        }
        if blocks.is_empty() {
            return Ok(false);
        }
        let tip = tip_of(&replaying.store)?;
        check_continues(&tip, &blocks)?;
        replaying.store.apply_all(&blocks)?;
        done.blocks += blocks.iter().filter(|block| block.slot > tip.slot).count() as u64;
        let place = reader.place();
        match &mut held {
            Some(files) => files.remove_before(place)?,
            None => {
                if let Phase::Spooling(files) = &mut *self.lock() {
                    files.remove_before(place)?;
                }
            }
        }
        self.lock_stats().applied_slot = Some(tip_of(&replaying.store)?.slot);
        Ok(true)
    }
}

fn tip_of(store: &Store) -> Result<Tip> {
    store
        .tip()?
        .ok_or_else(|| Error::StoreUnusable("the loaded store has no block".into()))
}

/// The first block after the tip must be the tip's child, and a block in its slot must be the tip
/// itself.
fn check_continues(tip: &Tip, blocks: &[Block]) -> Result<()> {
    let same = blocks.iter().find(|block| block.slot == tip.slot);
    if let Some(same) = same.filter(|same| same.blockhash != tip.blockhash) {
        return Err(refused(format!(
            "the feed's block in slot {} is {}, but the store was loaded with {}: it is of another \
             fork or of another cluster",
            tip.slot,
            encode_pubkey(&same.blockhash),
            encode_pubkey(&tip.blockhash)
        )));
    }
    let Some(block) = blocks.iter().find(|block| block.slot > tip.slot) else {
        return Ok(());
    };
    if block.parent_slot == tip.slot && block.parent_blockhash == tip.blockhash {
        return Ok(());
    }
    let parent = block.parent_slot;
    Err(refused(if parent > tip.slot {
        format!(
            "the store was loaded as of slot {}, but the feed was read from slot {} on, which follows \
             slot {parent}: what lies between is missing. Load a snapshot of slot {parent} or a later one",
            tip.slot, block.slot
        )
    } else if parent < tip.slot {
        format!(
            "slot {} of the feed follows slot {parent}: slot {}, as of which the store was loaded, is \
             not on its chain",
            block.slot, tip.slot
        )
    } else {
        format!(
            "slot {} of the feed follows block {} in slot {parent}, but the store was loaded with \
             {}: it is of another fork or of another cluster",
            block.slot,
            encode_pubkey(&block.parent_blockhash),
            encode_pubkey(&tip.blockhash)
        )
    }))
}

fn refused(why: String) -> Error {
    Error::StoreUnusable(why)
}
