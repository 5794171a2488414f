//! Property tests with random chains and random message orders.

use std::collections::BTreeMap;

use ingest::geyser::{BlockAssembler, BlockMeta, Content, SlotState, Update};
use proptest::prelude::*;

use crate::messages::*;

/// Messages of a chain after tip 10 with skipped slots, forks and dead slots, and its expected
/// blocks.
#[derive(Debug, Clone)]
struct Delivery {
    updates: Vec<Update>,
    blocks: BTreeMap<u64, Vec<(u8, u64)>>,
}

/// Slots interleave. Accounts of a slot arrive in any order before its meta. Statuses may arrive at
/// any later time and twice. Complete slots may be repeated.
fn deliveries() -> impl Strategy<Value = Delivery> {
    let slot = (
        1u64..4,                                            // distance to the parent
        prop::collection::vec((0u8..6, 1u64..1_000), 0..8), // accounts
        0u8..10,                                            // kind: fork, dead, duplicate
    );
    (prop::collection::vec(slot, 1..5), any::<u64>()).prop_map(|(slots, seed)| {
        let mut streams: Vec<Vec<Update>> = Vec::new();
        let mut blocks = BTreeMap::new();
        let mut tip = 10;
        for (distance, mut accounts, kind) in slots {
            let slot = tip + distance;
            accounts.sort_unstable();
            accounts.dedup();
            let data = |slot: u64| -> Vec<Update> {
                accounts
                    .iter()
                    .map(|(key, version)| account(slot, *key, *version, 3))
                    .collect()
            };
            // A slot that the chain skips: a fork without a status, or a dead slot.
            if distance > 1 {
                let mut lost = data(slot - 1);
                lost.push(match kind {
                    0..5 => meta(slot - 1, tip),
                    _ => status(slot - 1, SlotState::Dead),
                });
                streams.push(lost);
            }
            let mut whole = data(slot);
            whole.extend([
                signature(slot, 1),
                signature(slot, 0),
                meta(slot, tip),
                confirmed(slot),
            ]);
            if kind % 2 == 0 {
                whole.push(confirmed(slot));
            }
            if kind % 3 == 0 {
                whole.splice(
                    0..0,
                    [
                        status(slot, SlotState::CreatedBank),
                        account(slot, 99, 1, 3),
                    ],
                );
                whole.insert(2, status(slot, SlotState::CreatedBank));
            }
            if kind == 7 {
                whole.extend(whole.clone());
            }
            streams.push(whole);
            let mut newest = BTreeMap::new();
            for (key, version) in &accounts {
                newest.insert(*key, *version);
            }
            blocks.insert(slot, newest.into_iter().collect());
            tip = slot;
        }
        Delivery {
            updates: interleave(streams, seed),
            blocks,
        }
    })
}

pub fn interleave(streams: Vec<Vec<Update>>, mut seed: u64) -> Vec<Update> {
    let mut streams: Vec<_> = streams.into_iter().map(Vec::into_iter).collect();
    let mut updates = Vec::new();
    while !streams.is_empty() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let index = (seed >> 33) as usize % streams.len();
        match streams[index].next() {
            Some(update) => updates.push(update),
            None => drop(streams.swap_remove(index)),
        }
    }
    updates
}

proptest! {
    #[test]
    fn any_interleaving_produces_the_same_blocks(delivery in deliveries()) {
        let (ready, outcome) = run(LIMITS, &delivery.updates);
        prop_assert_eq!(outcome, Ok(()));
        let expected: Vec<u64> = delivery.blocks.keys().copied().collect();
        prop_assert_eq!(slots_of(&ready), expected);
        let mut tip = 10;
        for ready in &ready {
            let block = &ready.block;
            prop_assert_eq!((block.parent_slot, block.parent_blockhash), (tip, hash(tip)));
            let accounts: Vec<(u8, u64)> =
                block.accounts.iter().map(|a| (a.pubkey[0], a.lamports)).collect();
            prop_assert_eq!(&accounts, &delivery.blocks[&block.slot]);
            prop_assert_eq!(block.transactions.len(), 2);
            prop_assert_eq!(block.transactions[0].signature[15], 0);
            tip = block.slot;
        }
    }

    #[test]
    fn any_messages_keep_the_byte_count_correct(
        messages in prop::collection::vec((8u64..20, 0u8..7, 0u64..20, 0u8..4), 0..200)
    ) {
        let mut slots = BlockAssembler::new(None, true, LIMITS);
        let mut ready = Vec::new();
        let mut tip = None;
        for (slot, kind, number, key) in messages {
            let update = match kind {
                0 => meta(slot, number),
                1 => confirmed(slot),
                2 => status(slot, SlotState::Dead),
                3 => status(slot, SlotState::CreatedBank),
                4 => signature(slot, number),
                _ => account(slot, key, number, number as usize),
            };
            // The assembler is not usable after a fault.
            if slots.push(update, &mut ready).is_err() {
                return Ok(());
            }
            prop_assert!(slots.buffered_bytes() < 1 << 20);
            for ready in ready.drain(..) {
                prop_assert!(tip.is_none_or(|tip| tip == ready.block.parent_slot));
                tip = Some(ready.block.slot);
            }
        }
        if let Some(tip) = tip {
            let parent = BlockMeta { slot: 1_000, ..block_meta(999, tip) };
            let _ = slots.push(unnumbered(1_000, Content::Meta(parent)), &mut ready);
            let _ = slots.push(confirmed(1_000), &mut ready);
            prop_assert_eq!(slots_of(&ready), vec![1_000]);
            prop_assert_eq!(slots.buffered_bytes(), 0);
        }
    }
}
