//! One rule per test, with exact frames.

use std::sync::Arc;

use super::*;
use crate::LogsOf;
use primitives::encoding::encode_pubkey;
use store::Filter;
use store::testing::account;
use wire::account_json::DataSlice;

fn to_program(filters: Vec<Filter>) -> Interest {
    Interest::Program {
        program: [9; 32],
        filters: Arc::from(filters),
        view: BASE64,
    }
}

#[test]
fn exact_frames() {
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
        "what is stored is not sent"
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
    assert_eq!(bench.texts(), Vec::<String>::new(), "nothing is sent twice");
}

#[test]
fn closed_account_is_zeroed_for_account_and_silent_for_program() {
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
fn each_slot_has_its_state() {
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
    // The first block begins an empty store. The others share a commit.
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
fn applies_slice_and_encoding() {
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
fn logs_reach_matching_subscriptions() {
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
fn subscriptions_are_bounded_and_ids_unique() {
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
