//! Puts the validator's calls in the order in which a Yellowstone server sends them: the content of
//! a slot once its block is complete and has reached a level, parents first, then the status.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdateAccountInfo, SubscribeUpdateBlockMeta,
};

use crate::item::{Body, Event, Item, Key, LEVELS, Level, SealedBlock, Transaction};

/// Slots behind the final one in which a bank may still wait for its messages.
const OPEN_SLOTS_MAX: u64 = 512;

#[derive(Debug, Default)]
struct Slot {
    parent: Option<u64>,
    is_created: bool,
    accounts: HashMap<Key, Arc<SubscribeUpdateAccountInfo>>,
    transactions: Vec<Arc<Transaction>>,
    meta: Option<SubscribeUpdateBlockMeta>,
    block: Option<Arc<SealedBlock>>,
    /// Levels that the validator reported.
    reached: [bool; 3],
    sent: [bool; 3],
}

impl Slot {
    /// Transactions are reported by another thread than their block's metadata.
    fn seal(&mut self) {
        let Some(meta) = &self.meta else { return };
        let count = self.transactions.len() as u64;
        if self.block.is_some() || count < meta.executed_transaction_count {
            return;
        }
        let mut transactions = std::mem::take(&mut self.transactions);
        transactions.sort_by_key(|transaction| transaction.info.index);
        self.block = Some(Arc::new(SealedBlock {
            accounts: std::mem::take(&mut self.accounts).into_values().collect(),
            transactions,
            meta: meta.clone(),
        }));
    }
}

/// The latest block of a level.
pub struct Tip {
    pub slot: u64,
    pub block: Arc<SealedBlock>,
}

pub struct Chain {
    slots: BTreeMap<u64, Slot>,
    stored_max: usize,
}

impl Chain {
    pub fn new(stored_max: usize) -> Chain {
        Chain {
            slots: BTreeMap::new(),
            stored_max,
        }
    }

    /// Adds what is to be sent to `out`.
    pub fn apply(&mut self, event: Event, out: &mut Vec<Item>) {
        let at = SystemTime::now();
        let is_account = matches!(event, Event::Account { .. });
        let mut send = |level, body| out.push(Item { level, body, at });
        match event {
            Event::Account {
                slot,
                info,
                is_startup,
            } => {
                let info = Arc::new(info);
                let level = (!is_startup).then_some(Level::Processed);
                let body = Body::Account {
                    slot,
                    info: info.clone(),
                    is_startup,
                };
                send(level, body);
                if !is_startup {
                    self.add_account(slot, info);
                }
            }
            Event::Transaction { slot, transaction } => {
                let transaction = Arc::new(transaction);
                let body = Body::Transaction {
                    slot,
                    transaction: transaction.clone(),
                };
                send(Some(Level::Processed), body);
                let state = self.slots.entry(slot).or_default();
                state.transactions.push(transaction);
                state.seal();
            }
            Event::Meta(meta) => {
                let state = self.slots.entry(meta.slot).or_default();
                state.parent = Some(meta.parent_slot);
                state.meta = Some(meta);
                state.seal();
            }
            Event::Created { slot, parent } => {
                send(None, status(slot, parent, SlotStatus::SlotCreatedBank));
                self.create(slot, parent);
            }
            Event::Dead {
                slot,
                parent,
                error,
            } => {
                let body = Body::Slot {
                    slot,
                    parent,
                    status: SlotStatus::SlotDead,
                    error: Some(error),
                };
                send(None, body);
                self.slots.remove(&slot);
            }
            Event::Other {
                slot,
                parent,
                status: kind,
            } => send(None, status(slot, parent, kind)),
            Event::Level {
                slot,
                parent,
                level,
            } => self.reach(slot, parent, level),
        }
        if is_account {
            return;
        }
        for level in LEVELS {
            self.release(level, at, out);
        }
        self.forget();
    }

    fn add_account(&mut self, slot: u64, info: Arc<SubscribeUpdateAccountInfo>) {
        let Ok(key) = Key::try_from(info.pubkey.as_slice()) else {
            return;
        };
        let accounts = &mut self.slots.entry(slot).or_default().accounts;
        let known = accounts.get(&key).map(|known| known.write_version);
        if known.is_none_or(|known| known <= info.write_version) {
            accounts.insert(key, info);
        }
    }

    /// A second bank of a slot replaces the first. Its Clock and SlotHashes are written before it
    /// is reported, and have a later version than those of the first.
    fn create(&mut self, slot: u64, parent: Option<u64>) {
        let state = self.slots.entry(slot).or_default();
        if state.is_created && state.block.is_none() {
            let sysvars = bs58::decode("Sysvar1111111111111111111111111111111111111").into_vec();
            let sysvars = sysvars.unwrap_or_default();
            state.accounts.retain(|_, account| account.owner == sysvars);
            state.transactions.clear();
            state.meta = None;
        }
        state.is_created = true;
        state.parent = parent.or(state.parent);
    }

    /// Ancestors have at least the level of their descendant, also where the validator did not say
    /// so.
    fn reach(&mut self, slot: u64, parent: Option<u64>, level: Level) {
        let mut next = Some(slot);
        if let Some(state) = self.slots.get_mut(&slot) {
            state.parent = state.parent.or(parent);
        }
        while let Some(state) = next.and_then(|slot| self.slots.get_mut(&slot)) {
            if state.reached[level as usize] {
                return;
            }
            for lower in LEVELS.into_iter().filter(|lower| *lower <= level) {
                state.reached[lower as usize] = true;
            }
            next = state.parent;
        }
    }

    fn release(&mut self, level: Level, at: SystemTime, out: &mut Vec<Item>) {
        let at_level = level as usize;
        let waiting = self
            .slots
            .iter()
            .filter(|(_, state)| state.reached[at_level] && !state.sent[at_level]);
        let waiting: Vec<u64> = waiting.map(|(slot, _)| *slot).collect();
        for slot in waiting {
            let Some(state) = self.slots.get(&slot) else {
                continue;
            };
            let Some(block) = state.block.clone() else {
                continue;
            };
            // The slots of a chain are sent in its order. A parent that is not known is from before
            // the start.
            let parent = state.parent.and_then(|parent| self.slots.get(&parent));
            let is_next = parent.is_none_or(|parent| parent.sent[at_level] || !parent.is_whole());
            let has_lower = at_level == 0 || state.sent[at_level - 1];
            if !is_next || !has_lower {
                continue;
            }
            let items = content(&block, level).into_iter().chain([(
                None,
                status(slot, Some(block.meta.parent_slot), level.status()),
            )]);
            out.extend(items.map(|(level, body)| Item { level, body, at }));
            if let Some(state) = self.slots.get_mut(&slot) {
                state.sent[at_level] = true;
            }
        }
    }

    /// Keeps `stored_max` blocks, and drops slots that no final block descends from.
    fn forget(&mut self) {
        let last = |slots: &BTreeMap<u64, Slot>| {
            slots
                .iter()
                .rev()
                .find(|(_, state)| state.sent[Level::Finalized as usize])
                .map(|it| *it.0)
        };
        if self.slots.len() <= self.stored_max {
            return;
        }
        let Some(last) = last(&self.slots) else {
            return;
        };
        while self.slots.len() > self.stored_max {
            let Some((&first, _)) = self.slots.first_key_value() else {
                return;
            };
            if first + OPEN_SLOTS_MAX.min(self.stored_max as u64) > last {
                return;
            }
            self.slots.remove(&first);
        }
    }

    /// What a subscription of `level` has missed since `from_slot`, or the first slot that it can
    /// begin with.
    pub fn replay(&self, level: Level, from_slot: u64) -> Result<Vec<Item>, u64> {
        let first = self.first_stored().unwrap_or(u64::MAX);
        if from_slot < first {
            return Err(first);
        }
        let at = SystemTime::now();
        let mut items = Vec::new();
        for (slot, state) in self.slots.range(from_slot..) {
            if state.is_created {
                items.push((
                    None,
                    status(*slot, state.parent, SlotStatus::SlotCreatedBank),
                ));
            }
            if let Some(block) = state.block.as_ref().filter(|_| state.sent[level as usize]) {
                items.extend(content(block, level));
            }
            for other in LEVELS
                .into_iter()
                .filter(|other| state.sent[*other as usize])
            {
                items.push((None, status(*slot, state.parent, other.status())));
            }
        }
        Ok(items
            .into_iter()
            .map(|(level, body)| Item { level, body, at })
            .collect())
    }

    /// The first slot that can be replayed.
    pub fn first_stored(&self) -> Option<u64> {
        let whole = self.slots.iter().find(|(_, state)| state.block.is_some());
        whole.map(|(slot, _)| *slot)
    }

    pub fn tip(&self, level: Level) -> Option<Tip> {
        let mut slots = self.slots.iter().rev();
        slots.find_map(|(slot, state)| {
            let block = state.block.clone().filter(|_| state.sent[level as usize])?;
            Some(Tip { slot: *slot, block })
        })
    }

    /// The height of the block with this hash, on the chain of a level.
    pub fn height_of(&self, blockhash: &str, level: Level) -> Option<u64> {
        let mut blocks = self
            .slots
            .values()
            .filter(|state| state.sent[level as usize]);
        blocks.find_map(|state| {
            let meta = &state.block.as_ref()?.meta;
            let height = meta.block_height.as_ref().map(|height| height.block_height);
            height.filter(|_| meta.blockhash == blockhash)
        })
    }
}

impl Slot {
    /// Whether its bank is known from the beginning. That of the start is not.
    fn is_whole(&self) -> bool {
        self.is_created || self.block.is_some()
    }
}

fn status(slot: u64, parent: Option<u64>, status: SlotStatus) -> Body {
    Body::Slot {
        slot,
        parent,
        status,
        error: None,
    }
}

/// A processed block was sent as it was made: only its end is new.
fn content(block: &Arc<SealedBlock>, level: Level) -> Vec<(Option<Level>, Body)> {
    let slot = block.meta.slot;
    let mut bodies = Vec::new();
    if level != Level::Processed {
        for info in &block.accounts {
            bodies.push(Body::Account {
                slot,
                info: info.clone(),
                is_startup: false,
            });
        }
        for transaction in &block.transactions {
            bodies.push(Body::Transaction {
                slot,
                transaction: transaction.clone(),
            });
        }
    }
    bodies.push(Body::Block(block.clone()));
    bodies.push(Body::Meta(block.clone()));
    bodies.into_iter().map(|body| (Some(level), body)).collect()
}
