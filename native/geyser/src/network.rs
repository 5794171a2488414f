//! The live store of one network, and what streams share of it.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use store::{Options, Scope, Snapshot, Store, Tip};
use sys::error::Result as Checked;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::spawn_blocking;
use tonic::Status;

use crate::calls::lock;
use crate::content::{Block, Content, KeptOfBlock, Missing};
use crate::filter::Served;
use crate::filter::transactions::Kept;
use crate::source::Hub;
use crate::status::{damaged, incomplete, internal, lagged, no_index, no_source, replaced};

/// Blocks that live streams find without a read.
const RECENT_BLOCKS: usize = 64;
/// Contents of slots that stay in memory, and their bytes.
const RECENT_CONTENTS: usize = 4;
const RECENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Slots of which contents are remembered while streams have them.
const SLOTS_MAX: usize = 256;

/// Where a network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Raised with each store; 0 before the first.
    pub generation: u64,
    /// 0 before the first block.
    pub slot: u64,
}

#[derive(Clone)]
struct Opened {
    store: Arc<Store>,
    kept: Kept,
    generation: u64,
}

type Slot = Arc<AsyncMutex<Weak<Content>>>;

#[derive(Default)]
struct Contents {
    slots: HashMap<u64, Slot>,
    recent: VecDeque<Arc<Content>>,
}

/// A network.
#[derive(Default)]
pub struct Network {
    opened: RwLock<Option<Opened>>,
    position: watch::Sender<Position>,
    recent: Mutex<VecDeque<Block>>,
    contents: Mutex<Contents>,
    /// Bytes of all contents.
    pub resident: Arc<AtomicUsize>,
    /// What is passed through from the source: PROCESSED, and `SubscribeDeshred`. None without a
    /// source.
    hubs: Option<[Arc<Hub>; 2]>,
}

/// A block of a snapshot, with the hash of its parent; `None` where that is not stored.
pub fn with_parent(snapshot: &Snapshot<'_>, tip: Tip) -> Checked<Option<Block>> {
    let Some(parent) = snapshot.block(tip.parent_slot)? else {
        return Ok(None);
    };
    Ok(Some(Block {
        tip,
        parent_blockhash: parent.blockhash,
        kept: Arc::new(KeptOfBlock::read(snapshot, tip.slot)?),
    }))
}

impl Network {
    /// With what is passed through from a source.
    pub fn with_source() -> Network {
        Network {
            hubs: Some([Arc::default(), Arc::default()]),
            ..Network::default()
        }
    }

    pub fn hub(&self, is_deshred: bool) -> Result<&Arc<Hub>, Status> {
        let [processed, deshred] = self.hubs.as_ref().ok_or_else(no_source)?;
        Ok(if is_deshred { deshred } else { processed })
    }

    fn opened(&self) -> Option<Opened> {
        let opened = self.opened.read();
        opened.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves another store from now on: streams of the one before end.
    pub fn use_store(&self, dir: &Path, options: &Options, kept: Kept) -> Checked<()> {
        self.serve(Arc::new(Store::open_reader(dir, options)?), kept)
    }

    /// The same with a store that is open.
    pub fn serve(&self, store: Arc<Store>, kept: Kept) -> Checked<()> {
        let generation = self.position.borrow().generation + 1;
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(Opened {
            store,
            kept,
            generation,
        });
        lock(&self.recent).clear();
        *lock(&self.contents) = Contents::default();
        self.position.send_replace(Position {
            generation,
            slot: 0,
        });
        self.refresh()
    }

    /// Reads the tip, and wakes streams where it has moved.
    pub fn refresh(&self) -> Checked<()> {
        let Some(opened) = self.opened() else {
            return Ok(());
        };
        let Some(tip) = opened.store.tip()? else {
            return Ok(());
        };
        let Position { generation, slot } = *self.position.borrow();
        if tip.slot == slot {
            return Ok(());
        }
        let snapshot = opened.store.snapshot()?;
        let mut recent = lock(&self.recent);
        let mut last = slot;
        let known = recent.back().is_some_and(|block| block.tip.slot == slot);
        if !known {
            // The first block of this process, or one after a long pause.
            recent.clear();
            last = tip.parent_slot;
        }
        while let Some(next) = snapshot.block_after(Some(last))? {
            last = next.slot;
            match with_parent(&snapshot, next)? {
                Some(block) => recent.push_back(block),
                None => recent.clear(),
            }
            while recent.len() > RECENT_BLOCKS {
                recent.pop_front();
            }
        }
        drop(recent);
        self.position.send_replace(Position {
            generation,
            slot: last,
        });
        Ok(())
    }

    pub fn position(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    /// What the index has; every account before there is one.
    pub fn served(&self) -> Served {
        let opened = self.opened();
        let scope = opened
            .as_ref()
            .map(|opened| opened.store.options().scope.clone());
        Served {
            scope: scope.unwrap_or(Scope::All),
            kept: opened.map_or(Kept::None, |opened| opened.kept),
        }
    }

    /// The block after another one, if it is one of the newest.
    pub fn recent_after(&self, slot: u64) -> Option<Block> {
        let recent = lock(&self.recent);
        let at = recent.partition_point(|block| block.tip.slot <= slot);
        // A block before it in memory proves that there is none in between.
        let block = recent.get(at)?;
        (block.tip.parent_slot == slot).then(|| block.clone())
    }

    /// The blocks after `root` up to `until`, if all of them are among the newest.
    pub fn recent_rooted(&self, root: u64, until: u64) -> Option<Vec<Block>> {
        let recent = lock(&self.recent);
        let at = recent.partition_point(|block| block.tip.slot <= root);
        let end = recent.partition_point(|block| block.tip.slot <= until);
        // Each follows the one before, so none is missing after the first.
        let is_whole = recent.get(at)?.tip.parent_slot <= root;
        is_whole.then(|| recent.range(at..end).cloned().collect())
    }

    /// Reads on another thread, with the generation that was read. A slow disk delays no stream
    /// that has what it needs.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Snapshot<'_>) -> Checked<T> + Send + 'static,
    ) -> Result<(u64, T), Status> {
        let Opened {
            store, generation, ..
        } = self.opened().ok_or_else(no_index)?;
        let task = spawn_blocking(move || {
            let snapshot = store.snapshot()?;
            read(&snapshot)
        });
        match task.await {
            Ok(Ok(value)) => Ok((generation, value)),
            _ => Err(internal()),
        }
    }

    /// The changes of a slot, which streams share.
    pub async fn content(
        self: &Arc<Self>,
        generation: u64,
        slot: u64,
    ) -> Result<Arc<Content>, Status> {
        let entry = {
            let mut contents = lock(&self.contents);
            if contents.slots.len() >= SLOTS_MAX {
                contents.slots.retain(|_, slot| {
                    let is_dead = slot.try_lock().is_ok_and(|weak| weak.strong_count() == 0);
                    Arc::strong_count(slot) > 1 || !is_dead
                });
            }
            Arc::clone(contents.slots.entry(slot).or_default())
        };
        let mut known = entry.lock().await;
        if let Some(content) = known.upgrade() {
            return Ok(content);
        }
        let resident = Arc::clone(&self.resident);
        let read = self.read(move |snapshot| {
            let lacks = snapshot.feed_lacks()?;
            Ok((lacks, Content::read(snapshot, slot, &resident)?))
        });
        let (now, (lacks, content)) = read.await?;
        if now != generation {
            return Err(replaced());
        }
        if slot <= lacks {
            return Err(incomplete(lacks));
        }
        let content = Arc::new(content.map_err(|missing| match missing {
            Missing::NotKept => lagged(),
            Missing::Damaged => damaged(slot),
        })?);
        *known = Arc::downgrade(&content);
        self.keep(&content);
        Ok(content)
    }

    /// Keeps a content for the streams that come to it next.
    fn keep(&self, content: &Arc<Content>) {
        let mut contents = lock(&self.contents);
        let recent = &mut contents.recent;
        recent.push_back(Arc::clone(content));
        let bytes = |recent: &VecDeque<Arc<Content>>| -> usize {
            recent.iter().map(|content| content.byte_count()).sum()
        };
        while recent.len() > 1
            && (recent.len() > RECENT_CONTENTS || bytes(recent) > RECENT_BYTES_MAX)
        {
            recent.pop_front();
        }
    }

    pub fn resident_bytes(&self) -> usize {
        let passed = self.hubs.iter().flatten().map(|hub| hub.held_bytes());
        self.resident.load(Ordering::Relaxed) + passed.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use store::testing::{block, hash, open, options};

    use super::*;

    #[test]
    fn blocks_in_memory_are_those_of_the_store() {
        let temporary = open(&options());
        let store = Arc::new(temporary.store);
        let network = Network::default();
        let mut parent = 4;
        let slots: Vec<u64> = (5..150)
            .filter(|slot| slot % 7 != 0 && slot % 11 != 3)
            .collect();
        for &slot in &slots {
            let next = store::Block {
                parent_slot: parent,
                parent_blockhash: hash(parent),
                ..block(slot, vec![])
            };
            store.apply(&next).unwrap();
            match parent {
                4 => network.serve(Arc::clone(&store), Kept::Full).unwrap(),
                _ => network.refresh().unwrap(),
            }
            parent = slot;
        }
        let mut found = 0;
        for root in 0..152 {
            for until in root..152 {
                let Some(blocks) = network.recent_rooted(root, until) else {
                    continue;
                };
                found += 1;
                let seen: Vec<u64> = blocks.iter().map(|block| block.tip.slot).collect();
                let all = slots.iter().copied();
                let wanted: Vec<u64> = all.filter(|&slot| slot > root && slot <= until).collect();
                assert_eq!(seen, wanted, "after {root} up to {until}");
                let hashes = blocks.iter().map(|block| block.parent_blockhash);
                let parents = blocks.iter().map(|block| hash(block.tip.parent_slot));
                assert!(hashes.eq(parents));
            }
        }
        // Of the newest 64 blocks only, and of nothing that is still to come.
        assert!(found > 64 * 64 / 2);
        assert!(
            network.recent_rooted(5, 149).is_none() && network.recent_rooted(149, 151).is_none()
        );
    }
}
