//! Property tests with random chains of slots with several banks.

use ingest::geyser::{BlockMeta, Content, SlotState, Update};
use proptest::prelude::*;

use crate::bank_messages::*;
use crate::messages::*;
use crate::properties::interleave;

/// A chain after the tip of which each slot has up to three banks, one of which wins.
#[derive(Debug, Clone)]
struct Delivery {
    updates: Vec<Update>,
    winners: Vec<(u64, u64)>,
}

fn deliveries() -> impl Strategy<Value = Delivery> {
    let bank = prop::collection::vec((0u8..5, 1u64..100), 0..5);
    // The banks, which one wins, how its status comes, and whether the losers are announced.
    let slot = (
        prop::collection::vec(bank, 1..4),
        any::<prop::sample::Index>(),
        0u8..4,
        0u8..3,
    );
    let slots = prop::collection::vec(slot, 1..5);
    (slots, any::<u64>()).prop_map(|(slots, seed)| {
        let mut streams = Vec::new();
        let mut winners: Vec<(u64, u64)> = Vec::new();
        let mut next_bank = 0;
        let count = slots.len();
        for (at, (banks, winner, statuses, told)) in slots.into_iter().enumerate() {
            let slot = TIP + 1 + at as u64;
            let parent = winners
                .last()
                .map_or((TIP, TIP), |(slot, bank)| (*slot, *bank));
            let winner = winner.index(banks.len());
            let mut won = None;
            for (nth, accounts) in banks.into_iter().enumerate() {
                next_bank += 1;
                let bank = next_bank;
                let mut stream: Vec<Update> = accounts
                    .iter()
                    .map(|(key, lamports)| write(slot, bank, *key, *lamports))
                    .collect();
                stream.insert(stream.len() / 2, created(slot, bank));
                stream.push(block(slot, bank, bank, parent));
                if nth == winner {
                    won = Some((slot, bank));
                    // The last slot has a status; of others, the child decides, too.
                    let (is_confirmed, is_final) = (statuses & 1 > 0, statuses & 2 > 0);
                    if is_confirmed || (!is_final && at + 1 == count) {
                        stream.push(confirm(slot, bank));
                    }
                    if is_final {
                        stream.push(finalize(slot, bank));
                    }
                } else if told == 0 {
                    stream.push(state_of(slot, bank, SlotState::Abandoned));
                    stream.push(write(slot, bank, 9, 1));
                }
                streams.push(stream);
            }
            winners.extend(won);
        }
        let updates = interleave(streams, seed);
        Delivery { updates, winners }
    })
}

proptest! {
    #[test]
    fn any_interleaving_of_banks_gives_the_winning_blocks(delivery in deliveries()) {
        let outcome = play(&delivery.updates);
        prop_assert_eq!(&outcome.fault, &None);
        let is_of_winner = |update: &&Update| {
            update.bank.is_some_and(|bank| delivery.winners.contains(&(update.slot, bank)))
        };
        let alone: Vec<Update> =
            delivery.updates.iter().filter(is_of_winner).cloned().collect();
        prop_assert_eq!(outcome.state(), play(&alone).state());
        prop_assert_eq!(outcome.ready.len(), delivery.winners.len());
        prop_assert!(outcome.ready.iter().all(|ready| ready.origin.is_by_bank));
    }

    #[test]
    fn any_messages_of_banks_keep_the_byte_count_correct(
        messages in prop::collection::vec(
            (97u64..105, prop::option::of(1u64..5), 0u8..9, 0u64..8, 95u64..105), 0..200,
        )
    ) {
        let mut slots = assembler((TIP, TIP));
        let mut ready = Vec::new();
        for (slot, bank, kind, number, parent) in messages {
            let update = match kind {
                0 => block(slot, 0, number, (parent, number)),
                1 => confirm(slot, 0),
                2 => finalize(slot, 0),
                3 => status(slot, SlotState::Dead),
                4 => created(slot, 0),
                5 => state_of(slot, 0, SlotState::Abandoned),
                _ => account(slot, number as u8, number, number as usize),
            };
            // The assembler is not usable after a fault.
            if slots.push(Update { bank, ..update }, &mut ready).is_err() {
                return Ok(());
            }
        }
        let tip = ready.last().map_or((TIP, hash(TIP)), |ready| (ready.block.slot, ready.block.blockhash));
        let last = BlockMeta { parent_blockhash: tip.1, ..block_meta(1_000, tip.0) };
        for update in [of(1_000, 1, Content::Meta(last)), confirm(1_000, 1)] {
            // A status without a bank, and several banks of its slot.
            if slots.push(update, &mut ready).is_err() {
                return Ok(());
            }
        }
        prop_assert_eq!(ready.last().map(|ready| ready.block.slot), Some(1_000));
        prop_assert_eq!(slots.buffered_bytes(), 0);
    }
}
