//! Resumed subscriptions: where they go on, gaps, and whose turn it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::{Cursor, IS_REPLAYED, LogsOf, Place, Resume, Subscription};
use store::testing::{account, hash};

const PROGRAM: [u8; 32] = [9; 32];

pub(super) fn resumed(interest: Interest, cursor: Option<&str>, socket: u32) -> Subscription {
    Subscription {
        interest,
        has_cursors: true,
        resume: cursor.map(|text| Resume {
            cursor: Cursor::parse(text).unwrap(),
            access: Arc::from("access"),
            socket,
        }),
    }
}

pub(super) fn cursor_of(frame: &Value) -> Option<String> {
    let params = &frame["params"];
    let result = &params["result"];
    let places = [&result["context"], result, params];
    let found = places.into_iter().find_map(|of| of["cursor"].as_str());
    found.map(str::to_string)
}

pub(super) fn to_program() -> Interest {
    Interest::Program {
        program: PROGRAM,
        filters: Arc::from([]),
        view: BASE64,
    }
}

pub(super) fn text_of(slot: u64, place: Place) -> String {
    let mut out = Vec::new();
    let [check @ .., _, _, _, _, _, _, _, _] = *hash(slot).first_chunk::<16>().unwrap();
    Cursor { slot, check, place }.push(&mut out);
    String::from_utf8(out).unwrap()
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A block with accounts, failed transactions that name one of them, and a root.
pub(super) fn busy_block(slot: u64, accounts: &[u8], transactions: &[u8], root: u64) -> Block {
    let accounts = accounts
        .iter()
        .map(|n| account([*n; 32], slot + 1, PROGRAM, b"data"));
    Block {
        transactions: transactions
            .iter()
            .map(|n| {
                let n = (slot as u8).wrapping_mul(8).wrapping_add(*n);
                transaction(n, None, Some((&[[1; 32]], &["line"])))
            })
            .collect(),
        root: Some(root),
        ..block(slot, accounts.collect())
    }
}

#[test]
fn a_subscription_goes_on_after_its_cursor() {
    let interests = || {
        [
            to_account(2),
            to_program(),
            Interest::Logs(LogsOf::Mentions([1; 32])),
            Interest::Slot,
            Interest::Root,
        ]
    };
    let bench = Bench::new();
    bench.apply(&busy_block(1, &[], &[], 0));
    for (id, interest) in (1..).zip(interests()) {
        bench.add(id, resumed(interest, None, 0));
    }
    bench.frames();
    for slot in 2..=6 {
        bench.apply(&busy_block(slot, &[1, 2, 3], &[0, 1, 2], slot - 1));
    }
    let mut all: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for (id, _, text) in bench.frames() {
        let mut frame = json(&text);
        frame["params"]["subscription"] = Value::Null;
        all.entry(id).or_default().push(frame);
    }
    // From each cursor on each subscription gets what followed it.
    let mut next = 100;
    for (of, interest) in (1..).zip(interests()) {
        let whole = &all[&of];
        for (at, frame) in whole.iter().enumerate() {
            let cursor = cursor_of(frame).unwrap();
            bench.add(next, resumed(interest.clone(), Some(&cursor), next));
            let again = bench.frames().into_iter().map(|(id, flags, text)| {
                assert_eq!((id, flags), (next, IS_REPLAYED));
                let mut frame = json(&text);
                frame["params"]["subscription"] = Value::Null;
                frame
            });
            assert_eq!(again.collect::<Vec<_>>(), whole[at + 1..], "{interest:?}");
            next += 1;
        }
    }
    // All of them have joined the tip.
    bench.apply(&busy_block(7, &[2], &[0], 6));
    let frames = bench.frames();
    assert_eq!(frames.len() as u32, 5 + next - 100);
    assert!(frames.iter().all(|(_, flags, _)| *flags == 0));
}

#[test]
fn a_place_of_another_subscription_is_kept() {
    let bench = Bench::new();
    for slot in 1..=3 {
        bench.apply(&busy_block(slot, &[1, 2, 3], &[0], 0));
    }
    let at = |place| text_of(2, place);
    // The number of frames of the slots 2 and 3, of three accounts and a transaction each.
    let logs = Interest::Logs(LogsOf::All);
    let cases = [
        (to_program(), at(Place::Slot), 6),
        (to_program(), at(Place::Account([2; 16])), 4),
        (to_program(), at(Place::Account([9; 16])), 3),
        (to_program(), at(Place::Transaction([16; 16])), 3),
        (to_program(), at(Place::End), 3),
        (logs.clone(), at(Place::Slot), 2),
        (logs.clone(), at(Place::Account([9; 16])), 2),
        (logs.clone(), at(Place::Transaction([16; 16])), 1),
        (logs, at(Place::End), 1),
        (Interest::Slot, at(Place::Account([2; 16])), 1),
    ];
    for (id, (interest, cursor, count)) in (1..).zip(cases) {
        bench.add(id, resumed(interest.clone(), Some(&cursor), id));
        assert_eq!(bench.frames().len(), count, "{interest:?} {cursor}");
    }
}

#[test]
fn what_cannot_go_on_begins_with_a_gap() {
    let kept = Options {
        feed_ms: 600,
        ..options()
    };
    let bench = Bench::with(1 << 20, &kept);
    for slot in 3..=8 {
        bench.apply(&busy_block(slot, &[1], &[0], slot - 1));
    }
    bench.frames();
    let other = {
        let mut out = Vec::new();
        Cursor {
            slot: 7,
            check: [1; 8],
            place: Place::Slot,
        }
        .push(&mut out);
        String::from_utf8(out).unwrap()
    };
    let logs = Interest::Logs(LogsOf::All);
    let cases = [
        (to_account(1), text_of(4, Place::Slot), 4, "pruned"),
        (to_account(1), text_of(2, Place::End), 2, "pruned"),
        (Interest::Slot, text_of(2, Place::Slot), 2, "pruned"),
        (Interest::Root, text_of(2, Place::Root), 2, "pruned"),
        (to_account(1), other.clone(), 7, "fork"),
        (Interest::Root, other, 7, "fork"),
        (to_account(1), text_of(9_000, Place::Slot), 8, "ahead"),
        (logs, text_of(7, Place::Transaction([9; 16])), 7, "unknown"),
    ];
    for (id, (interest, cursor, first, reason)) in (1..).zip(cases) {
        bench.add(id, resumed(interest.clone(), Some(&cursor), id));
        let frames = bench.frames();
        let [(_, 0, text)] = &frames[..] else {
            panic!("{reason}: {frames:?}");
        };
        let frame = json(text);
        assert_eq!(frame["method"], "gapNotification");
        let last = if interest == Interest::Root { 7 } else { 8 };
        let gap = serde_json::json!({ "from": first, "to": last, "reason": reason });
        assert_eq!(frame["params"]["result"]["gap"], gap, "{interest:?}");
        // The cursor of the gap is one to go on from.
        let cursor = cursor_of(&frame).unwrap();
        bench.add(id + 100, resumed(interest, Some(&cursor), id));
        assert!(bench.frames().is_empty());
    }
    bench.apply(&busy_block(9, &[1], &[0], 8));
    assert_eq!(bench.frames().len(), 16);
}

#[test]
fn a_cursor_of_a_newer_store_waits_for_its_slot() {
    let bench = Bench::new();
    bench.add(1, resumed(to_account(1), Some(&text_of(3, Place::End)), 1));
    assert!(bench.frames().is_empty(), "in an empty store");
    for slot in 1..=3 {
        bench.apply(&busy_block(slot, &[1], &[], 0));
        assert!(bench.frames().is_empty());
    }
    bench.apply(&busy_block(4, &[1], &[], 0));
    assert_eq!(bench.frames().len(), 1);
}

#[test]
fn a_held_socket_waits_and_others_go_on() {
    let bench = Bench::with(500, &options());
    for slot in 1..=40 {
        bench.apply(&busy_block(slot, &[1, 2], &[], 0));
    }
    let from = text_of(1, Place::End);
    bench.add(1, resumed(to_program(), Some(&from), 1));
    bench.add(2, resumed(to_program(), Some(&from), 2));
    let first = split(&bench.pass());
    bench.fanout.hold(1, true);
    let before = first.iter().filter(|(id, _, _)| *id == 1).count();
    let rest = bench.frames();
    assert!(rest.iter().all(|(id, _, _)| *id == 2));
    assert!(!bench.pass().has_more, "the held one is no work");
    bench.fanout.hold(1, false);
    assert_eq!(before + bench.frames().len(), 78);
}

#[test]
fn accesses_take_turns() {
    let bench = Bench::with(2_000, &options());
    for slot in 1..=100 {
        bench.apply(&busy_block(slot, &[1, 2, 3], &[], 0));
    }
    let from = text_of(1, Place::End);
    for id in 1..=200 {
        bench.add(id, resumed(to_program(), Some(&from), id));
    }
    let mut alone = resumed(to_account(1), Some(&from), 900);
    if let Some(resume) = &mut alone.resume {
        resume.access = Arc::from("another");
    }
    bench.add(900, alone);
    let (mut passes, mut count) = (0, 0);
    while count < 99 {
        passes += 1;
        let pass = split(&bench.pass());
        count += pass.iter().filter(|(id, _, _)| *id == 900).count();
    }
    assert!(passes <= 60, "{passes} passes of about 4,000 for all");
}

#[test]
fn a_failed_pass_loses_replays_too() {
    let bench = Bench::new();
    for slot in 1..=3 {
        bench.apply_accounts(slot, vec![token_account(1)]);
    }
    bench.add(1, resumed(to_parsed(1), Some(&text_of(1, Place::End)), 1));
    bench.temporary.damage_account(&MINT);
    bench.fanout.pass(&bench.temporary.store).unwrap_err();
    assert!(bench.pass().is_lost);
}

#[test]
fn damaged_changes_are_gaps() {
    let bench = Bench::new();
    for slot in 1..=4 {
        bench.apply(&busy_block(slot, &[1, 2], &[0], 0));
    }
    bench.temporary.damage_feed(3);
    let from = text_of(1, Place::End);
    let logs = Interest::Logs(LogsOf::All);
    for (id, interest) in (1..).zip([to_account(1), logs, Interest::Slot]) {
        bench.add(id, resumed(interest, Some(&from), 1));
    }
    let pass = bench.pass();
    assert_eq!((pass.is_lost, pass.damaged_slot), (false, Some(3)));
    let mut frames = split(&pass);
    frames.extend(bench.frames());
    let shown: Vec<(u32, String)> = frames
        .iter()
        .map(|(id, _, text)| {
            let frame = json(text);
            let result = &frame["params"]["result"];
            let gap = &result["gap"];
            let event = match gap["reason"].as_str() {
                Some(reason) => format!("{reason} {} to {}", gap["from"], gap["to"]),
                None if *id == 3 => result["slot"].to_string(),
                None => result["context"]["slot"].to_string(),
            };
            (*id, event)
        })
        .collect();
    let of = |id| -> Vec<&str> {
        let of_id = shown.iter().filter(|(of, _)| *of == id);
        of_id.map(|(_, event)| event.as_str()).collect()
    };
    // The account of slot 3 was read before the damage in its transactions.
    assert_eq!(of(1), ["2", "3", "damaged 3 to 3", "4"]);
    assert_eq!(of(2), ["2", "damaged 3 to 3", "4"]);
    assert_eq!(of(3), ["2", "3", "4"]);
}

#[test]
fn slots_that_lack_accounts_are_gaps() {
    let bench = Bench::new();
    bench.apply(&busy_block(1, &[], &[], 0));
    let store = &bench.temporary.store;
    // Loaded as of slot 2, with an account of slot 4.
    let base = store::Tip {
        slot: 2,
        blockhash: hash(2),
        ..store.tip().unwrap().unwrap()
    };
    let newer = account([1; 32], 7, PROGRAM, b"data");
    let record = [&store::encode_head(&newer.at(4))[..], &newer.data].concat();
    let mut loaded = store.catch_up(1, &base).unwrap();
    loaded
        .take(&[1; 32], 4, store::Newest::Kept(&record))
        .unwrap();
    loaded.finish(&base).unwrap();
    for (id, interest) in (1..).zip([to_program(), Interest::Slot]) {
        bench.add(id, resumed(interest.clone(), None, 1));
        bench.add(id + 10, interest);
    }
    bench.frames();
    for slot in 3..=5 {
        bench.apply(&busy_block(slot, &[1, 2], &[], 0));
    }
    let shown = |frames: Vec<Frame>| -> Vec<(u32, u64, bool)> {
        let of_program = frames
            .into_iter()
            .filter(|(_, _, text)| !text.contains("slotNotif"));
        let rows = of_program.map(|(id, _, text)| {
            let result = &json(&text)["params"]["result"];
            let gap = &result["gap"];
            let slot = [&gap["from"], &result["context"]["slot"]];
            let slot = slot.into_iter().find_map(Value::as_u64).unwrap();
            (id, slot, gap.is_object())
        });
        rows.collect()
    };
    let expected = [
        (1, 3, false),
        (11, 3, false),
        (1, 3, true),
        (1, 4, false),
        (11, 4, false),
        (1, 4, true),
        (1, 5, false),
        (11, 5, false),
        (1, 5, false),
        (11, 5, false),
    ];
    assert_eq!(shown(bench.frames()), expected);
    // A cursor before them begins with one gap.
    bench.add(21, resumed(to_program(), Some(&text_of(2, Place::End)), 2));
    assert_eq!(shown(bench.frames()), [(21, 2, true)]);
    bench.add(22, resumed(to_program(), Some(&text_of(4, Place::End)), 2));
    assert_eq!(shown(bench.frames()), [(22, 5, false), (22, 5, false)]);
}
