//! Tests of single rules, and of a recorded stream.

use ingest::geyser::{
    BlockAssembler, BlockMeta, Content, Fault, Gap, GapKind, Message, SlotState, Taken, Update,
    translate,
};
use store::Block;

use crate::capture::Capture;
use crate::messages::*;

#[test]
fn a_block_waits_for_its_meta_and_its_status() {
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
        ref transactions,
        ..
    } = ready[0].block;
    assert_eq!(
        (slot, parent_slot, block_height, block_time),
        (11, 10, 11, Some(1_011))
    );
    assert_eq!((accounts.len(), transactions.len()), (1, 1));
    assert_eq!(ready[0].origin.created_ms, Some(11));
}

#[test]
fn a_closed_account_is_deleted_unless_the_slot_recreates_it() {
    let closed = |keys: &[u8]| {
        let pubkeys = keys.iter().map(|key| [*key; 32]).collect();
        unnumbered(11, Content::Closed(pubkeys))
    };
    // Key 2 is recreated in the same slot. Its update arrives before or after the close.
    for updates in [
        [
            closed(&[1, 2, 1]),
            account(11, 2, 5, 3),
            meta(11, 10),
            confirmed(11),
        ],
        [
            account(11, 2, 5, 3),
            closed(&[2, 1]),
            meta(11, 10),
            confirmed(11),
        ],
    ] {
        let (ready, outcome) = run(LIMITS, &updates);
        assert_eq!(outcome, Ok(()));
        let left = ready[0].block.accounts.iter();
        let left: Vec<_> = left
            .map(|a| (a.pubkey[0], a.lamports, a.data.len()))
            .collect();
        assert_eq!(left, [(1, 0, 0), (2, 5, 3)]);
    }
}

#[test]
fn closes_count_towards_the_buffer_limit() {
    let pubkeys = (0..4_000u64).map(|key| {
        let mut pubkey = [0; 32];
        pubkey[..8].copy_from_slice(&key.to_be_bytes());
        pubkey
    });
    let closed = unnumbered(11, Content::Closed(pubkeys.collect()));
    let (_, outcome) = run(LIMITS, &[closed]);
    assert!(matches!(outcome, Err(Fault::BufferFull { slot: 11, .. })));
}

#[test]
fn the_higher_write_version_wins_or_the_later_message_if_equal() {
    let cases = [([1, 2], 2), ([2, 1], 2), ([3, 3], 3)];
    for (versions, latest) in cases {
        let updates = [
            account(11, 1, versions[0], 1),
            account(11, 1, versions[1], 2),
            meta(11, 10),
            confirmed(11),
        ];
        let (ready, _) = run(LIMITS, &updates);
        let accounts = &ready[0].block.accounts;
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].lamports, latest);
        let is_later = versions[1] >= versions[0];
        assert_eq!(accounts[0].data.len(), if is_later { 2 } else { 1 });
    }
}

#[test]
fn a_confirmed_descendant_replaces_a_missing_status() {
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
fn too_many_waiting_blocks_are_a_gap() {
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
        let meta = BlockMeta {
            parent_blockhash: hash(parent),
            ..block_meta(slot, parent_slot)
        };
        [unnumbered(slot, Content::Meta(meta)), confirmed(slot)]
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
    assert_eq!(run(LIMITS, &[meta(10, 9)]).1, Ok(()), "our own tip again");
    let other = BlockMeta {
        blockhash: hash(99),
        ..block_meta(10, 9)
    };
    assert_eq!(
        run(LIMITS, &[unnumbered(10, Content::Meta(other))]).1,
        gap(10, 9, GapKind::OtherTip)
    );
}

#[test]
fn a_finalized_slot_becomes_the_root_of_the_next_block() {
    let finalized = |slot| status(slot, SlotState::Finalized);
    let updates = [
        finalized(4),
        meta(11, 10),
        confirmed(11),
        finalized(7),
        finalized(6),
        meta(12, 11),
        confirmed(12),
        meta(13, 12),
        finalized(13),
    ];
    let (ready, outcome) = run(LIMITS, &updates);
    assert_eq!(outcome, Ok(()));
    let roots: Vec<_> = ready
        .iter()
        .map(|ready| (ready.block.slot, ready.block.root))
        .collect();
    // Slot 13 has no CONFIRMED status; its FINALIZED status replaces it.
    assert_eq!(roots, [(11, Some(4)), (12, Some(7)), (13, Some(13))]);

    let mut slots = BlockAssembler::new(None, false, LIMITS);
    let mut ready = Vec::new();
    for update in [
        finalized(4),
        meta(11, 10),
        confirmed(11),
        meta(12, 11),
        confirmed(12),
    ] {
        slots.push(update, &mut ready).unwrap();
    }
    assert_eq!(slots_of(&ready), [12], "the slot under way is 11, not 4");
    assert_eq!(slots.buffered_bytes(), 0);
}

#[test]
fn data_of_dead_and_restarted_slots_is_dropped() {
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
fn without_a_replay_the_slot_in_progress_is_skipped() {
    let updates = [
        account(11, 1, 1, 4),
        meta(11, 10),
        confirmed(11),
        account(12, 1, 1, 4),
        meta(12, 11),
        confirmed(12),
    ];
    for (is_replayed, base) in [(false, vec![12]), (true, vec![11, 12])] {
        let mut slots = BlockAssembler::new(None, is_replayed, LIMITS);
        let mut ready = Vec::new();
        for update in updates.clone() {
            slots.push(update, &mut ready).unwrap();
        }
        assert_eq!(slots_of(&ready), base);
        assert_eq!(slots.buffered_bytes(), 0);
    }
}

#[test]
fn the_buffer_is_limited_in_bytes_and_a_newer_version_frees_the_old_one() {
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
fn a_parent_that_is_not_earlier_is_rejected() {
    for parent_slot in [11, 12, u64::MAX] {
        let outcome = run(LIMITS, &[meta(11, parent_slot)]).1;
        assert!(matches!(outcome, Err(Fault::Malformed { slot: 11, .. })));
    }
    let mut genesis = BlockAssembler::new(None, true, LIMITS);
    let mut ready = Vec::new();
    genesis.push(meta(0, 0), &mut ready).unwrap();
    genesis.push(confirmed(0), &mut ready).unwrap();
    assert_eq!(slots_of(&ready), [0]);
}

#[test]
fn a_recorded_stream_becomes_a_chain() {
    let Some(capture) = Capture::read() else {
        return;
    };
    let mut slots = BlockAssembler::new(None, true, LIMITS);
    let mut ready = Vec::new();
    for update in &capture.updates {
        let taken = Taken {
            is_full: false,
            transactions: true,
            closes: true,
        };
        let updates = match translate(update.clone(), taken).expect("a sound message") {
            Message::Update(update) => vec![update],
            Message::Updates(updates) => updates,
            Message::Ping | Message::Other => Vec::new(),
        };
        for update in updates {
            slots.push(update, &mut ready).expect("a chain");
        }
    }
    let blocks: Vec<Block> = ready.into_iter().map(|ready| ready.block).collect();
    capture.assert_is(&blocks);
}
