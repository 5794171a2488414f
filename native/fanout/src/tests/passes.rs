//! Limits of a pass, and losses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use store::testing::noise;

#[test]
fn deleted_slots_are_reported_lost() {
    let kept = Options {
        feed_ms: 400,
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
    assert_eq!(bench.frames().len(), 1, "and continues at the tip");
    // A slot that is too large to store is a hole too.
    let small = Options {
        feed_bytes_max: 1_000,
        ..options()
    };
    let bench = Bench::with(1 << 20, &small);
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    bench.apply_accounts(2, vec![account([2; 32], 1, [9; 32], &noise(1, 2_000))]);
    assert!(bench.pass().is_lost);
}

#[test]
fn skipped_slots_are_not_lost() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.frames();
    let skipping = Block {
        parent_slot: 1,
        parent_blockhash: store::testing::hash(1),
        ..block(7, vec![account([1; 32], 1, [9; 32], b"")])
    };
    bench.apply(&skipping);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn nothing_is_lost_without_subscriptions_to_changes() {
    let kept = Options {
        feed_ms: 200,
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
fn nothing_is_lost_without_subscriptions() {
    let kept = Options {
        feed_ms: 200,
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
    // The first block comes long after the last pass.
    bench.add(1, to_account(1));
    assert!(bench.frames().is_empty());
    bench.apply_accounts(10, vec![account([1; 32], 1, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn full_pass_resumes_where_it_ended() {
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
        // Removed while its frame is pending.
        bench.fanout.remove(3);
        // A new subscription begins with the next slot.
        bench.add(9, to_account(1));
        let ids: Vec<u32> = bench.frames().iter().map(|(id, _, _)| *id).collect();
        assert_eq!(ids, [2, 4]);
        assert_eq!(bench.pass().slot, Some(2));
    }
}

#[test]
fn failed_pass_is_a_loss() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_parsed(1));
    bench.frames();
    bench.apply_accounts(2, vec![token_account(1)]);
    bench.temporary.damage_account(&MINT);
    let failed = bench.fanout.pass(&bench.temporary.store).unwrap_err();
    assert!(failed.detail().contains("only 5 bytes"), "{failed}");
    assert!(bench.pass().is_lost);
    bench.apply_accounts(3, vec![account([1; 32], 3, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn damaged_changes_are_a_loss() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    bench.add(1, to_account(1));
    bench.add(2, Interest::Slot);
    bench.frames();
    bench.apply_accounts(2, vec![account([1; 32], 2, [9; 32], b"")]);
    bench.temporary.damage_feed(2);
    let pass = bench.pass();
    assert_eq!((pass.is_lost, pass.damaged_slot), (true, Some(2)));
    bench.apply_accounts(3, vec![account([1; 32], 3, [9; 32], b"")]);
    assert_eq!(bench.frames().len(), 2, "and continues at the tip");
}

#[test]
fn subscription_gets_every_later_block() {
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
            // The subscription may be removed at any time.
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
        // The first frame may be of a slot that was unread when it was added. Then each slot comes
        // once.
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
