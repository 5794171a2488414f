//! Subscriptions to signatures: seen before or after they are added, and final at once or later.

use super::*;

fn to_signature(n: u8, is_finalized: bool, wants_received: bool) -> Interest {
    Interest::Signature {
        signature: signature(n),
        is_finalized,
        wants_received,
    }
}

/// Subscription, whether the frame is its last, slot and value.
fn sent(bench: &Bench) -> Vec<(u32, bool, u64, String)> {
    bench
        .frames()
        .into_iter()
        .map(|(id, flags, text)| {
            let json: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json["method"], "signatureNotification");
            let result = &json["params"]["result"];
            let slot = result["context"]["slot"].as_u64().unwrap();
            (id, flags == 1, slot, result["value"].to_string())
        })
        .collect()
}

const SUCCESS: &str = r#"{"err":null}"#;
const RECEIVED: &str = r#""receivedSignature""#;

#[test]
fn outcome_is_sent_once_and_ends_the_subscription() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_signature(1, false, false));
    bench.add(2, to_signature(2, false, true));
    assert!(sent(&bench).is_empty());
    let failed = [4, 0, 0, 0];
    let block = with_transactions(
        2,
        vec![
            transaction(2, Some(&failed), Some((&[], &[]))),
            transaction(1, None, None),
        ],
    );
    bench.apply(&block);
    let fee = r#"{"err":"InsufficientFundsForFee"}"#.to_string();
    let expected = [
        (2, false, 2, RECEIVED.to_string()),
        (2, true, 2, fee),
        (1, true, 2, SUCCESS.to_string()),
    ];
    assert_eq!(sent(&bench), expected);
    assert_eq!(bench.fanout.stats().subscriptions, 0);
    bench.fanout.remove(1);
}

#[test]
fn confirmed_outcome_is_sent_at_once() {
    let bench = Bench::new();
    bench.apply(&with_transactions(1, vec![transaction(1, None, None)]));
    bench.apply(&with_transactions(2, vec![transaction(2, None, None)]));
    bench.frames();
    bench.add(1, to_signature(1, false, true));
    bench.add(2, to_signature(2, false, false));
    let expected = [
        (1, false, 1, RECEIVED.to_string()),
        (1, true, 1, SUCCESS.to_string()),
        (2, true, 2, SUCCESS.to_string()),
    ];
    assert_eq!(sent(&bench), expected);
    // In the order in which they were added, even for the same signature.
    bench.add(4, to_signature(2, false, true));
    bench.add(5, to_signature(1, false, false));
    bench.add(6, to_signature(2, false, false));
    let expected = [
        (4, false, 2, RECEIVED.to_string()),
        (4, true, 2, SUCCESS.to_string()),
        (5, true, 1, SUCCESS.to_string()),
        (6, true, 2, SUCCESS.to_string()),
    ];
    assert_eq!(sent(&bench), expected);
    // Added before the pass that reads its slot: written once.
    bench.add(3, to_signature(3, false, false));
    bench.apply(&with_transactions(3, vec![transaction(3, None, None)]));
    assert_eq!(sent(&bench), [(3, true, 3, SUCCESS.to_string())]);
}

/// With Alpenglow a block can be final when it is written; on TowerBFT the root is 32 slots behind.
#[test]
fn a_final_outcome_is_sent_with_the_block_that_is_final() {
    for behind in [0, 1, 32] {
        let bench = Bench::new();
        bench.apply(&with_root(1, 1));
        bench.frames();
        bench.add(1, to_signature(7, true, true));
        bench.add(2, to_signature(7, false, false));
        bench.add(3, Interest::Root);
        bench.add(4, Interest::Slot);
        let mut frames = Vec::new();
        for slot in 2..=40 {
            let transactions = if slot == 3 {
                vec![transaction(7, None, None)]
            } else {
                vec![]
            };
            let mut block = with_transactions(slot, transactions);
            block.root = Some(u64::max(slot.saturating_sub(behind), 1));
            bench.apply(&block);
            frames.extend(bench.frames().into_iter().map(|(id, _, _)| (slot, id)));
        }
        let of = |wanted: u32| -> Vec<u64> {
            let own = frames.iter().filter(|(_, id)| *id == wanted);
            own.map(|(slot, _)| *slot).collect()
        };
        assert_eq!(
            of(1),
            [3, 3 + behind],
            "received, then final {behind} slots later"
        );
        assert_eq!(of(2), [3], "confirmed with its block");
        assert_eq!(
            of(3),
            (2 + behind..=40).collect::<Vec<_>>(),
            "each root once"
        );
        let slot = |found: &(u64, u32)| found.0 == 2;
        let first: Vec<u32> = frames
            .iter()
            .filter(|found| slot(found))
            .map(|(_, id)| *id)
            .collect();
        assert_eq!(first[0], 4, "a slot comes before it is a root");
    }
}

#[test]
fn final_outcome_waits_for_the_root() {
    let bench = Bench::new();
    bench.apply(&with_transactions(1, vec![transaction(1, None, None)]));
    bench.frames();
    bench.add(1, to_signature(1, true, true));
    bench.add(2, to_signature(2, true, false));
    bench.add(3, to_signature(2, true, false));
    assert_eq!(sent(&bench), [(1, false, 1, RECEIVED.to_string())]);
    bench.apply(&with_transactions(2, vec![transaction(2, None, None)]));
    assert!(sent(&bench).is_empty());
    bench.apply(&with_root(3, 1));
    assert_eq!(sent(&bench), [(1, true, 1, SUCCESS.to_string())]);
    bench.fanout.remove(3);
    bench.apply(&with_root(4, 3));
    assert_eq!(sent(&bench), [(2, true, 2, SUCCESS.to_string())]);
    bench.add(4, to_signature(2, true, false));
    assert_eq!(
        sent(&bench),
        [(4, true, 2, SUCCESS.to_string())],
        "final already"
    );
    assert_eq!(bench.fanout.stats().subscriptions, 0);
}

#[test]
fn hole_in_the_feed_loses_no_outcome() {
    let kept = Options {
        feed_ms: 200,
        ..options()
    };
    let bench = Bench::with(1 << 20, &kept);
    bench.apply_accounts(1, vec![]);
    for n in 1..=2 {
        bench.add(n.into(), to_signature(n, false, false));
    }
    bench.frames();
    bench.apply(&with_transactions(2, vec![transaction(1, None, None)]));
    bench.apply_accounts(3, vec![]);
    let pass = bench.pass();
    assert!(pass.is_lost);
    assert_eq!(split(&pass).len(), 1, "the signatures outlast the changes");
    bench.apply(&with_transactions(4, vec![transaction(2, None, None)]));
    assert_eq!(sent(&bench), [(2, true, 4, SUCCESS.to_string())]);
}
