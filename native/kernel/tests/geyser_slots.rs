//! The slot buffer: whatever the order on the wire, the same blocks come out.

use std::collections::BTreeMap;

use kernel::geyser::{
    BlockMeta, Fault, Gap, GapKind, Limits, Message, Ready, SlotState, Slots, Update, translate,
};
use kernel::store::{AccountUpdate, Block, SignatureStatus};
use proptest::prelude::*;
use yellowstone_grpc_proto::geyser::SubscribeUpdate;
use yellowstone_grpc_proto::prost::Message as _;

const LIMITS: Limits = Limits {
    buffer_bytes_max: 1 << 20,
    reorder_blocks_max: 4,
};

fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

fn meta(slot: u64, parent_slot: u64) -> Update {
    Update::Meta(BlockMeta {
        slot,
        parent_slot,
        blockhash: hash(slot),
        parent_blockhash: hash(parent_slot),
        block_height: slot,
        block_time: Some(1_000 + slot as i64),
        created_ms: Some(slot),
    })
}

fn account(slot: u64, key: u8, write_version: u64, data: usize) -> Update {
    let account = AccountUpdate {
        pubkey: [key; 32],
        lamports: write_version,
        rent_epoch: u64::MAX,
        executable: false,
        owner: [9; 32],
        data: vec![key; data],
    };
    Update::Account {
        slot,
        write_version,
        account,
    }
}

fn signature(slot: u64, index: u64) -> Update {
    let mut signature = [0; 64];
    signature[..8].copy_from_slice(&slot.to_be_bytes());
    signature[8..16].copy_from_slice(&index.to_be_bytes());
    Update::Signature {
        slot,
        index,
        status: SignatureStatus {
            signature,
            error: None,
        },
    }
}

fn status(slot: u64, state: SlotState) -> Update {
    Update::Slot { slot, state }
}

fn confirmed(slot: u64) -> Update {
    status(slot, SlotState::Confirmed)
}

/// Runs messages through a buffer whose tip is slot 10.
fn run(limits: Limits, updates: &[Update]) -> (Vec<Ready>, Result<(), Fault>) {
    let mut slots = Slots::new(Some((10, hash(10))), true, limits);
    let mut ready = Vec::new();
    for update in updates {
        if let Err(fault) = slots.push(update.clone(), &mut ready) {
            return (ready, Err(fault));
        }
    }
    (ready, Ok(()))
}

fn slots_of(ready: &[Ready]) -> Vec<u64> {
    ready.iter().map(|ready| ready.block.slot).collect()
}

#[test]
fn a_block_waits_for_both_markers() {
    let updates = [
        account(11, 1, 1, 4),
        signature(11, 0),
        meta(11, 10),
        confirmed(11),
    ];
    for cut in 0..updates.len() {
        assert!(run(LIMITS, &updates[..cut]).0.is_empty(), "after {cut}");
    }
    let (ready, outcome) = run(LIMITS, &updates);
    assert_eq!(outcome, Ok(()));
    assert_eq!(ready.len(), 1);
    let Block {
        slot,
        parent_slot,
        block_height,
        block_time,
        ref accounts,
        ref signatures,
        ..
    } = ready[0].block;
    assert_eq!(
        (slot, parent_slot, block_height, block_time),
        (11, 10, 11, Some(1_011))
    );
    assert_eq!((accounts.len(), signatures.len()), (1, 1));
    assert_eq!(ready[0].created_ms, Some(11));
}

#[test]
fn the_higher_write_version_wins_and_of_equals_the_later() {
    let cases = [([1, 2], 2), ([2, 1], 2), ([3, 3], 3)];
    for (versions, winner) in cases {
        let updates = [
            account(11, 1, versions[0], 1),
            account(11, 1, versions[1], 2),
            meta(11, 10),
            confirmed(11),
        ];
        let (ready, _) = run(LIMITS, &updates);
        let accounts = &ready[0].block.accounts;
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].lamports, winner);
        let is_later = versions[1] >= versions[0];
        assert_eq!(accounts[0].data.len(), if is_later { 2 } else { 1 });
    }
}

#[test]
fn a_missed_status_is_made_up_for_by_a_descendant() {
    let updates = [
        account(11, 1, 1, 4),
        meta(11, 10),
        account(13, 1, 2, 4),
        meta(13, 11),
        confirmed(13),
    ];
    let (ready, outcome) = run(LIMITS, &updates);
    assert_eq!((slots_of(&ready), outcome), (vec![11, 13], Ok(())));
}

#[test]
fn a_later_block_waits_for_its_parent() {
    let updates = [
        meta(13, 12),
        confirmed(13),
        meta(12, 11),
        confirmed(12),
        meta(11, 10),
        confirmed(11),
    ];
    let (ready, outcome) = run(LIMITS, &updates);
    assert_eq!((slots_of(&ready), outcome), (vec![11, 12, 13], Ok(())));
}

#[test]
fn blocks_that_wait_too_long_are_a_gap() {
    let updates: Vec<Update> = (12..=16)
        .flat_map(|slot| [meta(slot, slot - 1), confirmed(slot)])
        .collect();
    let (ready, outcome) = run(LIMITS, &updates);
    let gap = Gap {
        tip_slot: 10,
        slot: 12,
        parent_slot: 11,
        kind: GapKind::Missing,
    };
    assert_eq!((ready.len(), outcome), (0, Err(Fault::Gap(gap))));
    assert_eq!(run(LIMITS, &updates[..8]).1, Ok(()), "four may wait");
}

#[test]
fn another_chain_is_a_gap_at_once() {
    let fork = |slot: u64, parent_slot: u64, parent: u64| {
        let Update::Meta(mut meta) = meta(slot, parent_slot) else {
            unreachable!()
        };
        meta.parent_blockhash = hash(parent);
        [Update::Meta(meta), confirmed(slot)]
    };
    let gap = |slot, parent_slot, kind| {
        Err(Fault::Gap(Gap {
            tip_slot: 10,
            slot,
            parent_slot,
            kind,
        }))
    };
    assert_eq!(
        run(LIMITS, &fork(11, 10, 99)).1,
        gap(11, 10, GapKind::OtherParent)
    );
    assert_eq!(
        run(LIMITS, &fork(11, 9, 9)).1,
        gap(11, 9, GapKind::OtherParent)
    );
    let Update::Meta(mut other) = meta(10, 9) else {
        unreachable!()
    };
    assert_eq!(
        run(LIMITS, &[Update::Meta(other.clone())]).1,
        Ok(()),
        "our own tip again"
    );
    other.blockhash = hash(99);
    assert_eq!(
        run(LIMITS, &[Update::Meta(other)]).1,
        gap(10, 9, GapKind::OtherTip)
    );
}

#[test]
fn dead_and_restarted_slots_are_forgotten() {
    for state in [SlotState::Dead, SlotState::CreatedBank] {
        let updates = [
            account(11, 1, 1, 4),
            meta(11, 10),
            status(11, state),
            account(11, 2, 1, 4),
            meta(11, 10),
            confirmed(11),
        ];
        let (ready, _) = run(LIMITS, &updates);
        let keys: Vec<u8> = ready[0]
            .block
            .accounts
            .iter()
            .map(|a| a.pubkey[0])
            .collect();
        assert_eq!(keys, [2]);
    }
}

#[test]
fn without_a_replay_the_slot_under_way_is_not_taken() {
    let updates = [
        account(11, 1, 1, 4),
        meta(11, 10),
        confirmed(11),
        account(12, 1, 1, 4),
        meta(12, 11),
        confirmed(12),
    ];
    for (is_replayed, base) in [(false, vec![12]), (true, vec![11, 12])] {
        let mut slots = Slots::new(None, is_replayed, LIMITS);
        let mut ready = Vec::new();
        for update in updates.clone() {
            slots.push(update, &mut ready).unwrap();
        }
        assert_eq!(slots_of(&ready), base);
        assert_eq!(slots.buffered_bytes(), 0);
    }
}

#[test]
fn the_buffer_is_bounded_in_bytes_and_a_better_version_frees_the_old() {
    let full = |updates: &[Update]| run(LIMITS, updates).1.is_err();
    assert!(!full(&[account(11, 1, 1, 1_000_000)]));
    assert!(full(&[
        account(11, 1, 1, 1_000_000),
        account(11, 2, 1, 60_000)
    ]));
    assert!(
        full(&[account(11, 1, 1, 1_000_000), account(12, 2, 1, 60_000)]),
        "over all slots"
    );
    assert!(!full(&[
        account(11, 1, 1, 1_000_000),
        account(11, 1, 2, 1_000_000)
    ]));
    let flood: Vec<Update> = (11..4_000).map(confirmed).collect();
    let outcome = run(LIMITS, &flood).1;
    assert!(matches!(
        outcome,
        Err(Fault::BufferFull {
            buffer_bytes_max: 1_048_576,
            ..
        })
    ));
}

#[test]
fn a_parent_that_is_not_earlier_is_refused() {
    for parent_slot in [11, 12, u64::MAX] {
        let outcome = run(LIMITS, &[meta(11, parent_slot)]).1;
        assert!(matches!(outcome, Err(Fault::Malformed { slot: 11, .. })));
    }
    let mut genesis = Slots::new(None, true, LIMITS);
    let mut ready = Vec::new();
    genesis.push(meta(0, 0), &mut ready).unwrap();
    genesis.push(confirmed(0), &mut ready).unwrap();
    assert_eq!(slots_of(&ready), [0]);
}

/// A chain with skipped slots from the tip 10 on, and beside it forks and dead slots.
#[derive(Debug, Clone)]
struct Delivery {
    updates: Vec<Update>,
    blocks: BTreeMap<u64, Vec<(u8, u64)>>,
}

/// Slots interleave, accounts of a slot come in any order before its meta, statuses may come at any time
/// after it and twice, and whole slots may come again.
fn deliveries() -> impl Strategy<Value = Delivery> {
    let slot = (
        1u64..4,                                            // distance to the parent
        prop::collection::vec((0u8..6, 1u64..1_000), 0..8), // accounts
        0u8..10,                                            // fork, dead, doubled …
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
            // A slot between that the chain skips: a fork without a status, or a dead one.
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

fn interleave(streams: Vec<Vec<Update>>, mut seed: u64) -> Vec<Update> {
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
    fn any_interleaving_gives_the_same_blocks(delivery in deliveries()) {
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
            prop_assert_eq!(block.signatures.len(), 2);
            prop_assert_eq!(block.signatures[0].signature[15], 0);
            tip = block.slot;
        }
    }

    #[test]
    fn any_messages_leave_the_count_of_bytes_right(
        messages in prop::collection::vec((8u64..20, 0u8..7, 0u64..20, 0u8..4), 0..200)
    ) {
        let mut slots = Slots::new(None, true, LIMITS);
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
            // A fault ends the buffer's life.
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
            let parent = Update::Meta(BlockMeta { slot: 1_000, ..match meta(999, tip) {
                Update::Meta(meta) => meta,
                _ => unreachable!(),
            } });
            let _ = slots.push(parent, &mut ready);
            let _ = slots.push(confirmed(1_000), &mut ready);
            prop_assert_eq!(slots_of(&ready), vec![1_000]);
            prop_assert_eq!(slots.buffered_bytes(), 0);
        }
    }
}

/// A real capture of a mainnet stream at PROCESSED, with all six statuses and no accounts.
#[test]
fn a_real_capture_becomes_a_chain() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures/geyser/richat-sample-part1.bin");
    let Ok(bytes) = std::fs::read(path) else {
        eprintln!("skipped: the shared fixtures are not beside this checkout");
        return;
    };
    let mut slots = Slots::new(None, true, LIMITS);
    let (mut rest, mut ready, mut messages) = (bytes.as_slice(), Vec::new(), 0);
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((message, tail)) = tail.split_at_checked(length) else {
            break;
        };
        rest = tail;
        messages += 1;
        let update = SubscribeUpdate::decode(message).expect("a recorded message");
        if let Message::Update(update) = translate(update).expect("a sound message") {
            slots.push(update, &mut ready).expect("a chain");
        }
    }
    assert_eq!(messages, 24_112);
    assert!(ready.len() >= 20, "{} blocks", ready.len());
    for pair in ready.windows(2) {
        assert_eq!(pair[1].block.parent_slot, pair[0].block.slot);
        assert_eq!(pair[1].block.parent_blockhash, pair[0].block.blockhash);
        assert_eq!(pair[1].block.block_height, pair[0].block.block_height + 1);
    }
}
