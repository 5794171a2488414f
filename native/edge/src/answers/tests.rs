use std::sync::Arc;

use super::*;
use crate::cells::owned;
use crate::limits::tests::{limits, table};
use crate::limits::{InUse, LimitTable, Limits};

/// Answers every body but `no` with itself.
struct Echo;

impl PointReads for Echo {
    fn answer(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        (body != b"no").then(|| out.extend_from_slice(body))?;
        Some(1)
    }
}

const NOW: Clock = &|| Some(1_700_000_000_000_000_000);
const MS: f64 = 1_700_000_000_000.0;

fn answers() -> Answers<Echo> {
    let version = owned(2);
    let store = |cell, value: f64| {
        let word = version.word(cell).unwrap();
        word.store(value.to_bits() as i64, SeqCst);
    };
    store(ACCESS_VERSION, 3.0);
    store(LEASE_END, f64::INFINITY);
    Answers::new(version, (2, 64), Counts::new(vec![1.0], 2))
}

/// Where its slots are: that of the minute, and that of the second method.
const MINUTE: usize = 1;
const METHOD: usize = 96;

/// What the access has in use, and the requests that were charged.
fn used(table: &LimitTable) -> (InUse, u32) {
    (table.in_use(7), table.take_charged(7))
}

fn entry(table: &Arc<LimitTable>) -> Entry<Echo> {
    let usage = owned(2 * 96);
    let minute = Slot::new(&usage, MINUTE, 0).unwrap();
    Entry {
        version: 3.0,
        valid_from_ms: MS,
        valid_until_ms: MS + 1.0,
        access: Rc::new(Access::new(table.clone(), 7, 0, limits(1.0, 2.0, 1.0))),
        usage,
        minute,
        methods_at: Box::new([0, METHOD]),
        minute_ends_ms: MS + 1.0,
        reads: Echo,
    }
}

fn figure(answers: &Answers<Echo>, slot: usize) -> f64 {
    let cells = &answers.tokens[&b"t"[..]].usage;
    f64::from_bits(cells.word(slot + FIGURES_AT).unwrap().load(SeqCst) as u64)
}

#[test]
fn a_registered_token_is_answered_within_its_limits_and_counted() {
    let (mut answers, table) = (answers(), table(2, 1));
    assert!(answers.answer(b"t", b"hi", NOW).is_none());
    answers.register(b"t", entry(&table));
    assert_eq!(answers.answer(b"t", b"hi", NOW), Some(&b"hi"[..]));
    assert!(answers.answer(b"t", b"no", NOW).is_none());
    assert_eq!(answers.answer(b"t", b"hi", NOW), Some(&b"hi"[..]));
    assert!(answers.answer(b"t", b"hi", NOW).is_none(), "over the rate");
    assert!(answers.answer(b"u", b"hi", NOW).is_none());
    assert_eq!(
        [figure(&answers, MINUTE), figure(&answers, METHOD)],
        [2.0, 2.0]
    );
    let cells = &answers.tokens[&b"t"[..]].usage;
    let first = (METHOD + LATENCIES_AT) * 2;
    let buckets = first..first + BUCKETS;
    let bucket = |at| cells.half(at).unwrap().load(SeqCst);
    assert_eq!(buckets.map(bucket).sum::<i32>(), 2, "durations");
    assert_eq!(answers.take_counts()[3], 2.0);
    assert_eq!(used(&table), (InUse::default(), 2));
}

fn refusing(limits: Limits) -> Rc<Access> {
    Rc::new(Access::new(table(1, 1), 7, 0, limits))
}

#[test]
fn whatever_has_changed_is_declined() {
    let changes: [fn(&mut Entry<Echo>); 11] = [
        |entry| entry.version = 2.0,
        |entry| entry.valid_from_ms = MS + 1.0,
        |entry| entry.valid_until_ms = MS,
        |entry| entry.minute_ends_ms = MS,
        |entry| entry.access = refusing(limits(1.0, 2.0, 0.0)),
        |entry| entry.access = refusing(limits(0.0, 2.0, 1.0)),
        |entry| entry.minute.at = 2 * 96,
        |entry| entry.minute.state = 1,
        |entry| entry.methods_at = Box::new([0]),
        |entry| entry.methods_at = Box::new([METHOD, 0]),
        |entry| entry.methods_at = Box::new([0, 2 * 96 - LATENCIES_AT]),
    ];
    for change in changes {
        let (mut answers, table) = (answers(), table(2, 1));
        let mut changed = entry(&table);
        change(&mut changed);
        answers.register(b"t", changed);
        assert!(answers.answer(b"t", b"hi", NOW).is_none());
        assert_eq!(used(&table), (InUse::default(), 0), "nothing is taken");
    }
}

#[test]
fn a_lease_that_has_ended_is_declined() {
    let ends = [
        (f64::INFINITY, true),
        (boot_ms() + 60_000.0, true),
        (boot_ms(), false),
        (0.0, false),
        (f64::NAN, false),
    ];
    for (end_ms, is_answered) in ends {
        let (mut answers, table) = (answers(), table(2, 1));
        answers.register(b"t", entry(&table));
        let cell = answers.version.word(LEASE_END).unwrap();
        cell.store(end_ms.to_bits() as i64, SeqCst);
        let answer = answers.answer(b"t", b"hi", NOW).is_some();
        assert_eq!(answer, is_answered, "{end_ms}");
        assert_eq!(used(&table).1 > 0, is_answered, "{end_ms}");
    }
}

#[test]
fn tokens_are_bounded_and_a_closed_location_answers_nothing() {
    let (mut answers, table) = (answers(), table(1, 1));
    for token in [b"a", b"b", b"c"] {
        answers.register(token, entry(&table));
    }
    assert_eq!(answers.tokens.len(), 1);
    answers.close();
    answers.register(b"d", entry(&table));
    assert!(answers.answer(b"d", b"hi", NOW).is_none());
}
