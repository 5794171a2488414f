//! Replays a spool into a store, then makes the store the sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::files::{Files, RecordReader};
use super::sink::{Phase, Spool};
use primitives::encoding::encode_pubkey;
use store::{Block, Store, Tip};
use sys::error::{Error, Result};

/// Maximum sleep of the replay without new blocks before it checks for cancellation.
const IDLE: Duration = Duration::from_millis(100);

/// Limits of one commit of a replay, as for a feed with a backlog.
#[derive(Debug, Clone, Copy)]
pub struct ReplayLimits {
    pub blocks_max: usize,
    pub bytes_max: u64,
}

/// Parameters of a replay.
pub struct Replaying<'a> {
    /// The loaded store, without another writer. The blocks must continue its tip.
    pub store: Arc<Store>,
    /// Slot at which the store was loaded. A replay resumed after a kill finds a later tip.
    pub base_slot: u64,
    /// Newest slot of the rows read during the load. The store is consistent from this slot on.
    pub rows_slot: Option<u64>,
    pub limits: ReplayLimits,
    /// Set by another thread to cancel the replay.
    pub is_cancelled: &'a AtomicBool,
}

/// Result of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    pub blocks: u64,
    /// The store's tip at the hand-over.
    pub slot: u64,
}

impl Spool {
    /// Applies the spooled blocks after the store's tip until none is left, then makes the store
    /// the sink. Returns after at least one block continued the store's base. If the first block
    /// does not continue it, fails and leaves the spool unchanged.
    pub fn replay(&self, replaying: &Replaying<'_>) -> Result<Replayed> {
        let mut reader = RecordReader::default();
        let mut done = Replayed::default();
        loop {
            if replaying.is_cancelled.load(Ordering::Relaxed) {
                return Err(Error::Internal("the replay was ended".into()));
            }
            // Apply without the lock, so that the feed can continue.
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

    /// Applies the next blocks. Returns false if there are none.
    fn apply_next(
        &self,
        reader: &mut RecordReader,
        replaying: &Replaying<'_>,
        done: &mut Replayed,
        mut locked: Option<&mut Files>,
    ) -> Result<bool> {
        let ReplayLimits {
            blocks_max,
            bytes_max,
        } = replaying.limits;
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        while blocks.len() < blocks_max.max(1) && (blocks.is_empty() || bytes < bytes_max) {
            let next = match &mut locked {
                Some(files) => reader.next(&self.dir, |position| files.following(position))?,
                None => reader.next(&self.dir, |position| match &*self.lock() {
                    Phase::Spooling(files) => files.following(position),
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
        let position = reader.position();
        match &mut locked {
            Some(files) => files.remove_before(position)?,
            None => {
                if let Phase::Spooling(files) = &mut *self.lock() {
                    files.remove_before(position)?;
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

/// Checks that the first block after the tip is the tip's child and that a block in the tip's slot
/// is the tip.
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
