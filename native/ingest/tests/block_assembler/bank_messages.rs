//! Messages of banks, and functions that compare end states.

use std::collections::BTreeMap;

use ingest::geyser::{BlockAssembler, BlockMeta, Content, Fault, Ready, SlotState, Update};

use crate::messages::*;

/// What a store has: the tip, and lamports by account.
pub type State = ((u64, [u8; 32]), BTreeMap<u8, u64>);

pub const TIP: u64 = 99;
pub const X: u8 = 1;
pub const Y: u8 = 2;
pub const Q: u8 = 3;
pub const CLOCK: u8 = 4;

pub fn of(slot: u64, bank: u64, content: Content) -> Update {
    Update {
        slot,
        bank: Some(bank),
        content,
    }
}

pub fn state_of(slot: u64, bank: u64, state: SlotState) -> Update {
    of(slot, bank, Content::Status(state))
}

pub fn created(slot: u64, bank: u64) -> Update {
    state_of(slot, bank, SlotState::CreatedBank)
}

pub fn confirm(slot: u64, bank: u64) -> Update {
    state_of(slot, bank, SlotState::Confirmed)
}

pub fn finalize(slot: u64, bank: u64) -> Update {
    state_of(slot, bank, SlotState::Finalized)
}

/// The account `key` with that many lamports.
pub fn write(slot: u64, bank: u64, key: u8, lamports: u64) -> Update {
    Update {
        bank: Some(bank),
        ..account(slot, key, lamports, 1)
    }
}

/// Block meta with blockhashes of any number; those of the bank, mostly.
pub fn block(slot: u64, bank: u64, blockhash: u64, parent: (u64, u64)) -> Update {
    let meta = BlockMeta {
        blockhash: hash(blockhash),
        parent_blockhash: hash(parent.1),
        ..block_meta(slot, parent.0)
    };
    of(slot, bank, Content::Meta(meta))
}

pub fn assembler(tip: (u64, u64)) -> BlockAssembler {
    BlockAssembler::new(Some((tip.0, hash(tip.1))), true, LIMITS)
}

pub struct Outcome {
    pub ready: Vec<Ready>,
    pub fault: Option<Fault>,
    pub buffered_bytes: usize,
}

impl Outcome {
    /// The tip and the accounts after all blocks; all accounts had 0 lamports.
    pub fn state(&self) -> State {
        let mut state: State = ((TIP, hash(TIP)), BTreeMap::new());
        for Ready { block, .. } in &self.ready {
            assert_eq!((block.parent_slot, block.parent_blockhash), state.0);
            state.0 = (block.slot, block.blockhash);
            let written = block.accounts.iter().map(|a| (a.pubkey[0], a.lamports));
            state.1.extend(written);
        }
        state
    }
}

pub fn outcome_of(mut slots: BlockAssembler, updates: &[Update]) -> Outcome {
    let mut ready = Vec::new();
    let pushed = updates.iter().cloned();
    let fault = pushed
        .map(|update| slots.push(update, &mut ready))
        .find_map(Result::err);
    Outcome {
        ready,
        fault,
        buffered_bytes: slots.buffered_bytes(),
    }
}

pub fn play(updates: &[Update]) -> Outcome {
    outcome_of(assembler((TIP, TIP)), updates)
}

/// Plays a sequence, and its winning banks alone, and compares the end states.
#[track_caller]
pub fn expect(updates: &[Update], winners: &[(u64, u64)]) -> Outcome {
    let outcome = play(updates);
    assert_eq!(outcome.fault, None);
    let is_of_winner = |update: &&Update| {
        update
            .bank
            .is_some_and(|bank| winners.contains(&(update.slot, bank)))
    };
    let alone: Vec<Update> = updates.iter().filter(is_of_winner).cloned().collect();
    let expected = play(&alone);
    assert_eq!(expected.fault, None);
    let slots: Vec<u64> = winners.iter().map(|(slot, _)| *slot).collect();
    assert_eq!(slots_of(&expected.ready), slots, "the winning banks alone");
    assert_eq!(outcome.state(), expected.state());
    assert_eq!(slots_of(&outcome.ready), slots);
    assert_eq!(outcome.buffered_bytes, 0, "nothing stays in the buffer");
    outcome
}
