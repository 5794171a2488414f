//! One rule, one test; frames as they stand on the wire.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::account_json::DataSlice;
use crate::encoding::encode_pubkey;
use crate::fanout::LogsOf;
use crate::store::Filter;
use crate::store::tests::account;

fn to_account(key: u8) -> Interest {
    Interest::Account {
        pubkey: [key; 32],
        view: BASE64,
    }
}

fn to_program(filters: Vec<Filter>) -> Interest {
    Interest::Program {
        program: [9; 32],
        filters: Arc::from(filters),
        view: BASE64,
    }
}

#[test]
fn frames_as_they_stand_on_the_wire() {
    let bench = Bench::new();
    bench.apply(&block(1, vec![account([1; 32], 5, [9; 32], b"old")]));
    bench.add(1, to_account(1));
    bench.add(2, to_program(vec![]));
    bench.add(3, Interest::Logs(LogsOf::All));
    bench.add(4, Interest::Slot);
    bench.add(5, Interest::Root);
    assert_eq!(
        bench.texts(),
        Vec::<String>::new(),
        "what is there is not told"
    );

    let failed = [8, 0, 0, 0, 2, 25, 0, 0, 0, 7, 0, 0, 0];
    let logs = (&[[1; 32]][..], &["Program log: \"a\"", "b"][..]);
    bench.apply(&Block {
        root: Some(1),
        transactions: vec![transaction(0, Some(&failed), Some(logs))],
        ..block(2, vec![account([1; 32], u64::MAX, [9; 32], b"abc")])
    });
    let account = format!(
        r#"{{"lamports":18446744073709551615,"data":["YWJj","base64"],"owner":"{}","executable":false,"rentEpoch":18446744073709551615,"space":3}}"#,
        encode_pubkey(&[9; 32])
    );
    let pubkey = encode_pubkey(&[1; 32]);
    let head = r#"{"jsonrpc":"2.0","method":""#;
    let context = r#"{"context":{"slot":2},"value":"#;
    let signature = "1".repeat(64);
    let expected = [
        format!(
            r#"{head}slotNotification","params":{{"result":{{"slot":2,"parent":1,"root":1}},"subscription":4}}}}"#
        ),
        format!(r#"{head}rootNotification","params":{{"result":1,"subscription":5}}}}"#),
        format!(
            r#"{head}accountNotification","params":{{"result":{context}{account}}},"subscription":1}}}}"#
        ),
        format!(
            r#"{head}programNotification","params":{{"result":{context}{{"pubkey":"{pubkey}","account":{account}}}}},"subscription":2}}}}"#
        ),
        format!(
            r#"{head}logsNotification","params":{{"result":{context}{{"signature":"{signature}","err":{{"InstructionError":[2,{{"Custom":7}}]}},"logs":["Program log: \"a\"","b"]}}}},"subscription":3}}}}"#
        ),
    ];
    assert_eq!(bench.texts(), expected);
    assert_eq!(bench.texts(), Vec::<String>::new(), "nothing is told twice");
}

#[test]
fn a_closed_account_is_zeroes_for_itself_and_nothing_for_its_program() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![account([1; 32], 5, [9; 32], b"old")]);
    bench.add(1, to_account(1));
    bench.add(2, to_program(vec![]));
    bench.frames();
    bench.apply_accounts(2, vec![account([1; 32], 0, [9; 32], b"left over")]);
    let frames = bench.frames();
    assert_eq!(frames.len(), 1);
    let json: Value = serde_json::from_str(&frames[0].2).unwrap();
    let closed = serde_json::json!({
        "lamports": 0, "data": ["", "base64"], "owner": "11111111111111111111111111111111",
        "executable": false, "rentEpoch": 0, "space": 0,
    });
    assert_eq!(json["params"]["result"]["value"], closed);
}

#[test]
fn each_slot_is_told_as_it_was() {
    let bench = Bench::new();
    bench.add(1, to_account(1));
    bench.frames();
    let blocks: Vec<Block> = (1..=5)
        .map(|slot| {
            // Within a slot only the last write counts.
            let write = |byte| account([1; 32], slot, [9; 32], &[byte; 3]);
            block(slot, vec![write(0), write(slot as u8)])
        })
        .collect();
    // The first one begins an empty store, the others share a commit.
    bench.apply(&blocks[0]);
    bench.temporary.store.apply_all(&blocks[1..]).unwrap();
    let seen: Vec<(u64, u64)> = bench
        .texts()
        .iter()
        .map(|text| {
            let json: Value = serde_json::from_str(text).unwrap();
            let result = &json["params"]["result"];
            let slot = result["context"]["slot"].as_u64().unwrap();
            (slot, result["value"]["lamports"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(seen, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
}

#[test]
fn a_slice_and_an_encoding_are_kept_to() {
    let bench = Bench::new();
    let view = |encoding, offset, length| View {
        encoding,
        slice: Some(DataSlice { offset, length }),
    };
    let views = [
        (
            view(Encoding::Base64, 1, 2),
            serde_json::json!(["YmM=", "base64"]),
        ),
        (
            view(Encoding::Base58, 0, 1),
            serde_json::json!(["2g", "base58"]),
        ),
        (
            view(Encoding::Base64, 999, 1),
            serde_json::json!(["", "base64"]),
        ),
        (
            view(Encoding::Base58, 0, 129),
            serde_json::json!(["error: data too large for bs58 encoding", "base58"]),
        ),
        (
            view(Encoding::JsonParsed, 0, 0),
            serde_json::json!([base64_simd::STANDARD.encode_to_string(data()), "base64"]),
        ),
    ];
    for (id, (view, _)) in (1..).zip(&views) {
        let pubkey = [1; 32];
        bench.add(
            id,
            Interest::Account {
                pubkey,
                view: *view,
            },
        );
    }
    bench.frames();
    bench.apply_accounts(1, vec![account([1; 32], 1, [9; 32], &data())]);
    let frames = bench.texts();
    assert_eq!(frames.len(), views.len());
    for (text, (_, data)) in frames.iter().zip(&views) {
        let json: Value = serde_json::from_str(text).unwrap();
        assert_eq!(&json["params"]["result"]["value"]["data"], data);
    }
}

fn data() -> Vec<u8> {
    let mut data = b"abc".to_vec();
    data.resize(200, 7);
    data
}

#[test]
fn what_the_feed_no_longer_holds_is_called_lost() {
    let kept = Options {
        feed_slots_max: 2,
        ..options()
    };
    let bench = Bench::with(1 << 20, &kept);
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    for slot in 2..=4 {
        bench.apply_accounts(slot, vec![account([1; 32], slot, [9; 32], b"")]);
    }
    let pass = bench.pass();
    assert_eq!(
        (pass.is_lost, pass.has_more, pass.slot),
        (true, false, Some(4))
    );
    assert!(pass.frames.is_empty());
    bench.apply_accounts(5, vec![account([1; 32], 5, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 1, "and goes on at the tip");
    // A slot that is too large to be held at all is a hole like any other.
    let small = Options {
        feed_bytes_max: 1_000,
        ..options()
    };
    let bench = Bench::with(1 << 20, &small);
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    bench.apply_accounts(2, vec![account([2; 32], 1, [9; 32], &[0; 2_000])]);
    assert!(bench.pass().is_lost);
}

#[test]
fn slots_that_the_chain_skips_are_no_loss() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    let skipping = Block {
        parent_slot: 1,
        parent_blockhash: crate::store::tests::hash(1),
        ..block(7, vec![account([1; 32], 1, [9; 32], b"")])
    };
    bench.apply(&skipping);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn nobody_who_needs_changes_loses_none() {
    let kept = Options {
        feed_slots_max: 1,
        ..options()
    };
    let bench = Bench::with(1 << 20, &kept);
    bench.apply_accounts(1, vec![]);
    bench.add(1, Interest::Slot);
    bench.add(2, Interest::Root);
    bench.frames();
    for slot in 2..=9 {
        bench.apply(&with_root(slot, slot - 1));
    }
    let slots = bench.frames();
    assert_eq!(slots.len(), 16);
    let roots: Vec<u64> = slots
        .iter()
        .filter(|(id, _, _)| *id == 2)
        .map(|(_, _, text)| {
            serde_json::from_str::<Value>(text).unwrap()["params"]["result"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(roots, (1..=8).collect::<Vec<_>>());
}

#[test]
fn without_subscriptions_nothing_is_missed() {
    let kept = Options {
        feed_slots_max: 1,
        ..options()
    };
    let bench = Bench::with(1 << 20, &kept);
    for slot in 1..=9 {
        bench.apply_accounts(slot, vec![]);
        if slot % 4 == 0 {
            let pass = bench.pass();
            assert_eq!((pass.slot, pass.is_lost), (Some(slot), false));
        }
    }
    // The first one comes long after the last pass.
    bench.add(1, to_account(1));
    assert!(bench.frames().is_empty());
    bench.apply_accounts(10, vec![account([1; 32], 1, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn a_pass_ends_where_it_is_full_and_goes_on_there() {
    let large = 9 << 20;
    for chunk in [1, 500, 1 << 20] {
        let bench = Bench::with(chunk, &options());
        bench.apply_accounts(1, vec![]);
        for id in 1..=4 {
            bench.add(id, to_account(1));
        }
        bench.frames();
        bench.apply_accounts(2, vec![account([1; 32], 1, [9; 32], &vec![7; large])]);
        let first = bench.pass();
        assert_eq!(
            (first.index.len(), first.has_more, first.slot),
            (3, true, Some(1))
        );
        // Removed while it waits for its frame.
        bench.fanout.remove(3);
        // Another one hears of the next slot on.
        bench.add(9, to_account(1));
        let ids: Vec<u32> = bench.frames().iter().map(|(id, _, _)| *id).collect();
        assert_eq!(ids, [2, 4]);
        assert_eq!(bench.pass().slot, Some(2));
    }
}

#[test]
fn a_failed_pass_is_a_loss() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    bench.apply_accounts(2, vec![account([1; 32], 2, [9; 32], b"")]);
    bench.temporary.damage_feed(2);
    let failed = bench.fanout.pass(&bench.temporary.store).unwrap_err();
    assert!(failed.detail().contains("damaged"), "{failed}");
    assert!(bench.pass().is_lost);
    bench.apply_accounts(3, vec![account([1; 32], 3, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn a_subscription_hears_of_every_block_committed_after_it() {
    const SLOTS: u64 = 150;
    let bench = Bench::with(3_000, &options());
    bench.apply_accounts(1, vec![]);
    bench.frames();
    let is_done = AtomicBool::new(false);
    let frames = std::thread::scope(|scope| {
        let passes = scope.spawn(|| {
            let mut frames = Vec::new();
            loop {
                let was_done = is_done.load(Ordering::Acquire);
                frames.extend(bench.frames());
                if was_done {
                    return frames;
                }
            }
        });
        for slot in 2..=SLOTS {
            bench.add(slot as u32, to_account(1));
            bench.apply_accounts(slot, vec![account([1; 32], slot, [9; 32], b"")]);
            // Its end may come at any time, too.
            bench.fanout.remove(slot as u32 - 20);
        }
        is_done.store(true, Ordering::Release);
        passes.join().unwrap()
    });
    let mut heard: HashMap<u32, Vec<u64>> = HashMap::new();
    for (id, _, text) in frames {
        let json: Value = serde_json::from_str(&text).unwrap();
        let slot = json["params"]["result"]["context"]["slot"].as_u64();
        heard.entry(id).or_default().push(slot.unwrap());
    }
    for id in 2..=SLOTS {
        let heard = heard.remove(&(id as u32)).unwrap_or_default();
        // A slot that was not looked at yet when it was added may come first; then each slot once.
        let first = heard.first().copied().unwrap_or(id);
        let in_turn: Vec<u64> = (first..).take(heard.len()).collect();
        assert!(
            first <= id && heard == in_turn,
            "subscription {id}: {heard:?}"
        );
        if id + 20 > SLOTS {
            assert_eq!(heard.last(), Some(&SLOTS), "never removed: {id}");
        }
    }
}

#[test]
fn logs_are_told_to_who_asked_for_them() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, Interest::Logs(LogsOf::All));
    bench.add(2, Interest::Logs(LogsOf::AllWithVotes));
    bench.add(3, Interest::Logs(LogsOf::Mentions([5; 32])));
    bench.frames();
    let mut vote = transaction(1, None, Some((&[[5; 32], [6; 32]], &[])));
    if let Some(details) = &mut vote.details {
        details.is_vote = true;
    }
    let other = transaction(2, None, Some((&[[6; 32]], &["one"])));
    let outcome = transaction(3, None, None);
    bench.apply(&with_transactions(2, vec![vote, other, outcome]));
    let ids: Vec<u32> = bench.frames().iter().map(|(id, _, _)| *id).collect();
    assert_eq!(ids, [2, 3, 1, 2]);
}

#[test]
fn subscriptions_are_bounded_and_ids_are_used_once() {
    let fanout = Fanout::new(FanoutOptions {
        subscriptions_max: 2,
        chunk_bytes_max: 1,
    });
    fanout.add(1, Interest::Slot).unwrap();
    assert!(fanout.add(1, Interest::Root).is_err());
    fanout.add(2, Interest::Slot).unwrap();
    assert!(
        fanout
            .add(3, Interest::Slot)
            .is_err_and(|e| e.detail().contains("subscriptionsMax"))
    );
    fanout.remove(7);
    fanout.remove(2);
    fanout.add(3, Interest::Slot).unwrap();
    assert_eq!(fanout.stats().subscriptions, 2);
}
