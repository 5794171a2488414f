//! Slots with several banks. Each sequence ends in the state that the winning blocks alone give.

use std::collections::BTreeMap;

use ingest::geyser::{
    BlockAssembler, BufferLimits, Content, Fault, Gap, GapKind, SlotState, Update,
};

use crate::bank_messages::*;
use crate::messages::*;

#[test]
fn late_writes_of_a_bank_that_was_handed_over_are_dropped() {
    let start = [
        created(100, 7),
        write(100, 7, X, 1),
        created(100, 8),
        state_of(100, 7, SlotState::Abandoned),
        write(100, 8, X, 2),
        write(100, 7, Y, 9),
        block(100, 8, 8, (99, 99)),
        confirm(100, 8),
        write(100, 7, Q, 5),
        finalize(100, 8),
    ];
    let outcome = expect(&start, &[(100, 8)]);
    assert_eq!(outcome.state().1, BTreeMap::from([(X, 2)]));
    assert_eq!(
        outcome.ready[0].origin.dropped, 1,
        "Y; Q came after the block"
    );
    let untold: Vec<Update> = start
        .iter()
        .filter(|it| **it != start[3])
        .cloned()
        .collect();
    expect(&untold, &[(100, 8)]);
}

#[test]
fn of_two_banks_that_were_frozen_the_confirmed_one_counts() {
    let start = [
        created(100, 9),
        write(100, 9, X, 3),
        write(100, 9, Y, 3),
        block(100, 9, 9, (99, 99)),
        created(100, 10),
        write(100, 10, X, 4),
        block(100, 10, 10, (99, 99)),
        confirm(100, 10),
        finalize(100, 10),
        block(100, 9, 9, (99, 99)),
    ];
    let outcome = expect(&start, &[(100, 10)]);
    assert_eq!(outcome.state(), ((100, hash(10)), BTreeMap::from([(X, 4)])));
    for second in [confirm(100, 9), finalize(100, 9)] {
        let mut twice = start.to_vec();
        twice.push(second);
        let outcome = play(&twice);
        assert_eq!(slots_of(&outcome.ready), [100]);
        let Some(Fault::Gap(gap)) = outcome.fault else {
            panic!("no gap")
        };
        assert_eq!((gap.slot, gap.kind), (100, GapKind::OtherTip));
    }
    let mut before_the_block = start[..6].to_vec();
    before_the_block.extend([confirm(100, 10), confirm(100, 9), start[6].clone()]);
    let outcome = play(&before_the_block);
    assert!(outcome.ready.is_empty() && outcome.fault.is_some());
}

#[test]
fn entries_and_footer_are_those_of_the_bank_that_was_taken() {
    let entry = |bank: u64, index: u64, byte: u8| {
        let entry = vec![byte];
        of(100, bank, Content::Entry { index, entry })
    };
    let footer = |bank: u64, byte: u8| of(100, bank, Content::Footer(vec![byte]));
    let sent = [
        footer(8, 1),
        footer(7, 2),
        created(100, 7),
        entry(7, 0, 3),
        created(100, 8),
        entry(8, 1, 5),
        entry(8, 0, 4),
        entry(8, 1, 5),
        entry(7, 1, 6),
        write(100, 8, X, 2),
        block(100, 8, 8, (99, 99)),
        confirm(100, 8),
        entry(8, 2, 7),
    ];
    let outcome = play(&sent);
    assert_eq!((outcome.ready.len(), outcome.fault), (1, None));
    let parts = &outcome.ready[0].block.parts;
    assert_eq!(parts.entries, [[4], [5]], "each once, in their order");
    assert_eq!(parts.footer, Some(vec![1]));
    assert_eq!(parts.meta, [100]);
    assert_eq!(outcome.buffered_bytes, 0);
}

#[test]
fn a_footer_ahead_of_the_stream_does_not_hide_that_it_begins_midway() {
    let mut slots = BlockAssembler::new(None, false, LIMITS);
    let mut ready = Vec::new();
    let footer = of(103, 30, Content::Footer(vec![1]));
    let begun = [
        write(100, 7, X, 1),
        block(100, 7, 100, (99, 99)),
        confirm(100, 7),
    ];
    let next = [
        write(101, 8, X, 2),
        block(101, 8, 101, (100, 100)),
        confirm(101, 8),
    ];
    for update in [footer].into_iter().chain(begun).chain(next) {
        slots.push(update, &mut ready).unwrap();
    }
    assert_eq!(slots_of(&ready), [101]);
}

#[test]
fn a_dead_slot_comes_back() {
    let updates = [
        created(100, 11),
        write(100, 11, X, 5),
        status(100, SlotState::Dead),
        created(100, 12),
        write(100, 12, X, 6),
        write(100, 11, Y, 7),
        block(100, 12, 12, (99, 99)),
        finalize(100, 12),
    ];
    let outcome = expect(&updates, &[(100, 12)]);
    assert_eq!(outcome.state().1, BTreeMap::from([(X, 6)]));
    let mut late = updates.to_vec();
    late.insert(7, status(100, SlotState::Dead));
    let outcome = play(&late);
    assert!(
        outcome.ready.is_empty() && outcome.fault.is_some(),
        "the only bank left is reported dead, then final: start over"
    );
    late.swap(6, 7);
    late.swap(7, 8);
    assert!(play(&late).fault.is_some());
    let decided_first = [
        created(100, 12),
        confirm(100, 12),
        status(100, SlotState::Dead),
        write(100, 12, X, 6),
        block(100, 12, 12, (99, 99)),
    ];
    expect(&decided_first, &[(100, 12)]);
}

#[test]
fn a_skipped_slot_with_data_is_freed_by_the_next_block() {
    let updates = [
        created(100, 13),
        write(100, 13, Q, 1),
        created(101, 14),
        write(101, 14, X, 7),
        block(101, 14, 14, (99, 99)),
        confirm(101, 14),
        write(100, 13, Q, 2),
    ];
    let outcome = expect(&updates, &[(101, 14)]);
    assert_eq!(outcome.state().1, BTreeMap::from([(X, 7)]));
}

#[test]
fn an_undecided_ancestor_is_the_bank_with_the_parent_blockhash() {
    let updates = [
        created(100, 15),
        write(100, 15, X, 8),
        block(100, 15, 15, (99, 99)),
        created(100, 16),
        write(100, 16, X, 9),
        block(100, 16, 16, (99, 99)),
        created(101, 17),
        write(101, 17, Y, 1),
        block(101, 17, 17, (100, 16)),
        finalize(101, 17),
    ];
    let outcome = expect(&updates, &[(100, 16), (101, 17)]);
    assert_eq!(outcome.state().1, BTreeMap::from([(X, 9), (Y, 1)]));
    let mut other = updates.to_vec();
    other.push(confirm(100, 15));
    assert!(play(&other).fault.is_some(), "the child decided otherwise");
}

#[test]
fn accounts_may_come_before_their_bank_and_the_status_before_the_block() {
    let updates = [
        write(100, 18, CLOCK, 1),
        created(100, 18),
        write(100, 18, X, 1),
        confirm(100, 18),
        block(100, 18, 18, (99, 99)),
    ];
    let outcome = expect(&updates, &[(100, 18)]);
    assert_eq!(outcome.state().1, BTreeMap::from([(CLOCK, 1), (X, 1)]));
    let mut early = updates.to_vec();
    early.insert(0, finalize(100, 18));
    expect(&early, &[(100, 18)]);
}

#[test]
fn a_block_that_is_replayed_in_another_bank_is_committed_once() {
    let updates = [
        created(100, 19),
        write(100, 19, X, 1),
        block(100, 19, 1, (99, 99)),
        created(100, 20),
        write(100, 20, X, 1),
        block(100, 20, 1, (99, 99)),
        confirm(100, 20),
    ];
    let outcome = expect(&updates, &[(100, 20)]);
    assert_eq!(outcome.ready.len(), 1);
    assert_eq!(outcome.ready[0].block.accounts.len(), 1);
    let mut undecided = updates[..6].to_vec();
    undecided.extend([block(101, 21, 21, (100, 1)), confirm(101, 21)]);
    assert_eq!(slots_of(&play(&undecided).ready), [100, 101]);
}

#[test]
fn a_new_stream_knows_no_bank_of_the_former_one() {
    let mut first = assembler((TIP, TIP));
    let mut ready = Vec::new();
    for update in [created(100, 21), write(100, 21, X, 1)] {
        first.push(update, &mut ready).unwrap();
    }
    drop(first);
    // Replayed from slot 98, before the tip: the numbers are those of another validator.
    let second = [
        created(98, 1),
        block(98, 1, 98, (97, 97)),
        confirm(98, 1),
        created(99, 2),
        write(99, 2, X, 9),
        block(99, 2, 99, (98, 98)),
        confirm(99, 2),
        created(100, 3),
        write(100, 3, X, 2),
        block(100, 3, 3, (99, 99)),
        confirm(100, 3),
    ];
    let outcome = play(&second);
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.state().1, BTreeMap::from([(X, 2)]));
}

#[test]
fn the_tips_slot_is_compared_with_the_bank_that_was_taken() {
    let other_tip = Some(Fault::Gap(Gap {
        tip_slot: TIP,
        slot: TIP,
        parent_slot: TIP,
        kind: GapKind::OtherTip,
    }));
    let [loser, winner] = [block(99, 4, 1_000, (98, 98)), block(99, 5, 99, (98, 98))];
    for status in [confirm, finalize] {
        for order in [
            [loser.clone(), winner.clone(), status(99, 5)],
            [status(99, 5), winner.clone(), loser.clone()],
            [loser.clone(), status(99, 5), winner.clone()],
        ] {
            assert_eq!(play(&order).fault, None, "another bank of the tip's slot");
        }
        let outcome = play(&[winner.clone(), loser.clone(), status(99, 4)]);
        assert_eq!(outcome.fault, other_tip);
        assert!(play(&[status(99, 4), loser.clone()]).fault.is_some());
        assert!(play(&[status(99, 4), status(99, 5)]).fault.is_some());
    }
    let many: Vec<Update> = (100..100_000)
        .map(|bank| block(99, bank, bank, (98, 98)))
        .collect();
    assert_eq!(play(&many).fault, None, "bounded");
}

#[test]
fn a_status_without_a_bank_means_the_only_one() {
    let unnamed = |state| status(100, state);
    for state in [SlotState::Confirmed, SlotState::Finalized] {
        let one = [
            write(100, 7, X, 1),
            block(100, 7, 7, (99, 99)),
            unnamed(state),
        ];
        assert_eq!(slots_of(&play(&one).ready), [100]);
        let early = [
            unnamed(state),
            write(100, 7, X, 1),
            block(100, 7, 7, (99, 99)),
        ];
        assert_eq!(slots_of(&play(&early).ready), [100]);
        let several = [created(100, 7), created(100, 8), unnamed(state)];
        assert!(play(&several).fault.is_some());
        let late = [
            unnamed(state),
            created(100, 7),
            created(100, 8),
            unnamed(state),
        ];
        assert!(play(&late).fault.is_some());
    }
}

#[test]
fn messages_with_and_without_banks_do_not_mix_in_a_slot() {
    let numbered = write(100, 7, X, 1);
    let plain = account(100, X, 1, 1);
    for updates in [[numbered.clone(), plain.clone()], [plain.clone(), numbered]] {
        let Some(Fault::Malformed { slot: 100, what }) = play(&updates).fault else {
            panic!("no fault")
        };
        assert_eq!(what, "messages with and without the number of a bank");
    }
    assert!(play(&[plain, confirm(100, 7)]).fault.is_some());
}

#[test]
fn banks_are_bounded_in_bytes() {
    let flood: Vec<Update> = (1..4_000).map(|bank| created(100, bank)).collect();
    let full = play(&flood).fault;
    assert!(matches!(full, Some(Fault::BufferFull { slot: 100, .. })));
    let abandoned = |bank| state_of(100, bank, SlotState::Abandoned);
    let flood: Vec<Update> = (1..40_000).map(abandoned).collect();
    let full = play(&flood).fault;
    assert!(matches!(full, Some(Fault::BufferFull { slot: 100, .. })));
    // What is discarded makes room.
    let mut turns = Vec::new();
    for bank in 1..40 {
        turns.extend([write(100, bank, X, 1), abandoned(bank)]);
        turns.push(Update {
            bank: Some(bank),
            ..account(101 + bank, Y, 1, 20_000)
        });
    }
    let small = BufferLimits {
        buffer_bytes_max: 1 << 20,
        ..LIMITS
    };
    let slots = BlockAssembler::new(Some((TIP, hash(TIP))), true, small);
    assert_eq!(outcome_of(slots, &turns).fault, None);
}
