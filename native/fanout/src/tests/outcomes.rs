//! Tests of outcomes as JSON.

use serde_json::{Value, json};

use crate::outcomes::{AWAITED_BYTES, AWAITED_MAX, AwaitedTransaction, Blockhashes, push_outcomes};
use store::testing::{block, open, options};
use store::{AccountUpdate, Block, Store, TransactionUpdate};

fn awaited(byte: u8, blockhash: [u8; 32], since: u64) -> Vec<u8> {
    [&[byte; 64][..], &blockhash, &[0; 32], &since.to_be_bytes()].concat()
}

fn answer(store: &Store, rows: &[Vec<u8>]) -> Value {
    let rows = AwaitedTransaction::decode_all(&rows.concat()).unwrap();
    let mut out = Vec::new();
    push_outcomes(&store.snapshot().unwrap(), &rows, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn each_known_transaction_has_its_outcome() {
    let temporary = open(&options());
    let store = &temporary.store;
    assert_eq!(answer(store, &[]), Value::Null);
    let outcome = |byte: u8, error: Option<Vec<u8>>| TransactionUpdate {
        signature: [byte; 64],
        index: u32::from(byte) + 5,
        error,
        details: None,
    };
    for slot in 1..=40 {
        let transactions = match slot {
            20 => vec![outcome(1, None)],
            21 => vec![outcome(
                2,
                Some(vec![8, 0, 0, 0, 2, 25, 0, 0, 0, 0x71, 0x17, 0, 0]),
            )],
            _ => vec![],
        };
        let block = Block {
            transactions,
            ..block(slot, vec![])
        };
        store.apply(&block).unwrap();
    }
    let known = store.snapshot().unwrap().block(30).unwrap().unwrap();
    let last_valid = known.block_height + 150;
    let found = answer(
        store,
        &[
            awaited(1, [0; 32], 0),
            awaited(2, known.blockhash, 21),
            awaited(1, known.blockhash, 39),
            awaited(3, [7; 32], 0),
            awaited(4, [0; 32], 0),
        ],
    );
    let unknown = answer(store, &[awaited(3, [7; 32], 0)]);
    assert_eq!(unknown["transactions"], json!([]));
    let tip = store.tip().unwrap().unwrap();
    assert_eq!(
        found,
        json!({
            "slot": 40,
            "blockHeight": tip.block_height,
            "knownAfter": 1,
            "transactions": [
                { "index": 0, "slot": 20, "position": 6, "error": null },
                { "index": 1, "slot": 21, "position": 7, "error": { "InstructionError": [2, { "Custom": 6001 }] } },
                { "index": 2, "blockhashSlot": 30, "lastValidBlockHeight": last_valid },
            ],
        })
    );
}

#[test]
fn a_call_reads_the_blocks_once() {
    let temporary = open(&options());
    let store = &temporary.store;
    let mut blockhashes = Blockhashes::default();
    store.apply(&block(1, vec![])).unwrap();
    {
        let snapshot = store.snapshot().unwrap();
        let tip = snapshot.tip().copied();
        let hash = tip.unwrap().blockhash;
        assert_eq!(blockhashes.find(&snapshot, &[7; 32]).unwrap(), None);
        assert_eq!(blockhashes.find(&snapshot, &hash).unwrap(), tip);
    }
    store.apply(&block(2, vec![])).unwrap();
    let snapshot = store.snapshot().unwrap();
    let tip = snapshot.tip().copied();
    let hash = tip.unwrap().blockhash;
    let found = blockhashes.find(&snapshot, &hash).unwrap();
    assert_eq!(found, None, "they were not read again");
    let mut others = Blockhashes::default();
    assert_eq!(others.find(&snapshot, &hash).unwrap(), tip);
}

#[test]
fn a_row_of_another_length_is_refused() {
    for length in [1, AWAITED_BYTES - 1, AWAITED_BYTES + 1] {
        assert_eq!(AwaitedTransaction::decode_all(&vec![1; length]), None);
    }
    assert_eq!(AwaitedTransaction::decode_all(&[]), Some(vec![]));
    let many = |count: usize| AwaitedTransaction::decode_all(&vec![1; count * AWAITED_BYTES]);
    assert_eq!(many(AWAITED_MAX).map(|rows| rows.len()), Some(AWAITED_MAX));
    assert_eq!(many(AWAITED_MAX + 1), None);
}

#[test]
fn a_nonce_is_told_with_the_slot_of_its_account() {
    let temporary = open(&options());
    let store = &temporary.store;
    let nonce = |value: u8, owner: [u8; 32]| AccountUpdate {
        is_signed: false,
        pubkey: [5; 32],
        lamports: 1,
        rent_epoch: 0,
        executable: false,
        owner,
        data: [&[1; 40][..], &[value; 32], &[0; 8]].concat(),
    };
    let mut row = awaited(3, [7; 32], 0);
    row[96..128].fill(5);
    let asked = |slot: u64, account: Option<AccountUpdate>| {
        let block = Block {
            root: slot.checked_sub(2),
            ..block(slot, account.into_iter().collect())
        };
        store.apply(&block).unwrap();
        answer(store, std::slice::from_ref(&row))
    };
    let first = asked(1, None);
    assert_eq!(first["transactions"], json!([]));
    assert_eq!(first.get("finalized"), None);
    let stored = asked(2, Some(nonce(7, [0; 32])));
    let expected = json!([{ "index": 0, "nonceSlot": 2, "hasNonce": true }]);
    assert_eq!(stored["transactions"], expected);
    let advanced = asked(3, Some(nonce(8, [0; 32])));
    let expected = json!([{ "index": 0, "nonceSlot": 3, "hasNonce": false }]);
    assert_eq!(advanced["transactions"], expected);
    let height = store.snapshot().unwrap().block(1).unwrap().unwrap();
    let finalized = json!({ "slot": 1, "blockHeight": height.block_height });
    assert_eq!(advanced["finalized"], finalized);
    let other = asked(4, Some(nonce(7, [1; 32])));
    let expected = json!([{ "index": 0, "nonceSlot": 4, "hasNonce": false }]);
    assert_eq!(
        other["transactions"], expected,
        "no account of the System program"
    );
}
