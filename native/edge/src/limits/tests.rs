use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use proptest::prelude::*;

use super::access::Limit;
use super::table::{CHARGED, add, halves};
use super::*;
use crate::memory::{AtomicI64, Memory};
use crate::rate::Rate;

const MS: i64 = 1_000_000;
const NOW: i64 = 1_700_000_000_000 * MS;

/// Words in files that are removed at once.
#[cfg(not(miri))]
fn memory(counts: [usize; 2]) -> [Memory; 2] {
    let dir = tempfile::tempdir().unwrap();
    let mut names = ["limits", "counts"].into_iter();
    counts.map(|count| Memory::open(&dir.path().join(names.next().unwrap()), count).unwrap())
}

#[cfg(miri)]
fn memory(counts: [usize; 2]) -> [Memory; 2] {
    counts.map(Memory::new)
}

pub fn table(edges: usize, rows: usize) -> Arc<LimitTable> {
    let words = LimitTable::words(edges, rows).unwrap();
    Arc::new(LimitTable::new(memory(words), edges, rows))
}

pub fn limits(per_second: f64, burst: f64, in_flight: f64) -> Limits {
    Limits {
        requests_per_second_max: per_second,
        requests_burst_max: burst,
        requests_in_flight_max: in_flight,
        sockets_max: 2.0,
    }
}

fn at(now: i64) -> impl Fn() -> Option<i64> {
    move || Some(now)
}

fn pass(access: &Access, now: i64) -> bool {
    let taken = access.acquire(&at(now));
    if taken.is_ok() {
        access.release(1);
    }
    taken.is_ok()
}

#[test]
fn counts_of_a_word_wrap_by_themselves() {
    let word = AtomicI64::new(0);
    add(&word, 0, -1);
    add(&word, 1, i32::MAX);
    assert_eq!(halves(word.load(SeqCst)), [-1, i32::MAX]);
    add(&word, 0, 1);
    add(&word, 1, 1);
    assert_eq!(halves(word.load(SeqCst)), [0, i32::MIN]);
}

#[test]
fn a_row_of_another_access_is_given_up() {
    let table = table(2, 1);
    let limits = limits(10.0, 3.0, 2.0);
    let [one, other] =
        [(7, 0), (8, 1)].map(|(key, edge)| Access::new(table.clone(), key, edge, limits));
    assert!(one.acquire(&at(NOW)).is_ok());
    assert_eq!(
        other.acquire(&at(NOW + 60_000 * MS)),
        Err(Refusal::Full),
        "in flight"
    );
    one.release(1);
    assert_eq!(
        other.acquire(&at(NOW)),
        Err(Refusal::Full),
        "its burst has not recovered"
    );
    assert!(other.acquire(&at(NOW + 60_000 * MS)).is_ok());
    assert_eq!((table.in_use(7).requests, table.in_use(8).requests), (0, 1));
    assert_eq!(one.acquire(&at(NOW + 120_000 * MS)), Err(Refusal::Full));
    assert_eq!(
        table.in_use(8).requests,
        1,
        "nothing of the other is counted in it"
    );
    other.release(1);
    assert!(pass(&one, NOW + 120_000 * MS));
}

#[test]
fn a_process_that_stopped_while_it_assigned_a_row_blocks_no_other() {
    let (table, limits) = (table(2, 1), limits(10.0, 3.0, 2.0));
    let row = table.row(0);
    table.lock(1);
    row.words[0].store(-1, SeqCst);
    assert!(pass(&Access::new(table.clone(), 7, 0, limits), NOW));
    table.clear_edge(1);
    let started = std::time::Instant::now();
    table.lock(0);
    table.lock(1);
    assert!(started.elapsed().as_secs() < 60, "waits for a bounded time");
}

#[test]
fn a_batch_longer_than_the_burst_is_never_admitted() {
    let access = Access::new(table(1, 1), 7, 0, limits(100.0, 90.0, 9.0));
    // The burst is whole again when the batch is counted.
    for later in [0, 10 * MS, 10_000 * MS] {
        let now = NOW + 20_000 * MS + later;
        assert!(access.acquire(&at(now - later)).is_ok());
        let Err(Refusal::Over(over)) = access.acquire_batch(91, 9, &at(now)) else {
            panic!("admitted after {later} ns");
        };
        assert_eq!(
            (over.limit, over.retry_after_ms),
            (Limit::RequestsBurst, None)
        );
        assert_eq!(over.calls_max, Some(90));
        assert!((89..=90).contains(&over.remaining), "{}", over.remaining);
        access.release(1);
    }
    let now = NOW + 60_000 * MS;
    assert!(access.acquire(&at(now)).is_ok());
    assert_eq!(access.acquire_batch(90, 9, &at(now)), Ok(9));
}

#[test]
fn requests_are_reported_once_and_their_counts_wrap() {
    let table = table(1, 1);
    let access = Access::new(table.clone(), 7, 0, limits(1_000.0, 100.0, 9.0));
    let charged = || table.assigned().map(|row| row.charged).collect::<Vec<_>>();
    assert!(charged().is_empty());
    for _ in 0..3 {
        assert!(pass(&access, NOW));
    }
    assert_eq!((charged(), table.take_charged(7)), (vec![3], 3));
    assert_eq!((charged(), table.take_charged(7)), (vec![3], 0));
    assert_eq!(table.take_charged(8), 0);
    add(&table.row(0).words[CHARGED], 0, -1);
    assert_eq!((charged(), table.take_charged(7)), (vec![2], u32::MAX));
    assert!(pass(&access, NOW));
    assert_eq!((charged(), table.take_charged(7)), (vec![3], 1));
}

#[test]
fn debts_to_other_machines_go_to_a_bound_beyond_the_burst() {
    let table = table(1, 1);
    assert_eq!(
        (table.cost_ns(7, 5), table.owe(7, 5, NOW)),
        (0, 0),
        "no row"
    );
    let access = Access::new(table.clone(), 7, 0, limits(1_000.0, 100.0, 9.0));
    assert!(pass(&access, NOW));
    let owed = table.cost_ns(7, 2_000);
    assert_eq!(owed, 2_000 * MS);
    assert_eq!(
        table.owe(7, owed, NOW),
        owed - 999 * MS,
        "0.9 s and the rest of the burst"
    );
    assert_eq!(table.owe(7, owed, NOW), owed);
    assert!(!pass(&access, NOW + 900 * MS));
    assert!(pass(&access, NOW + 901 * MS));
    assert_eq!(
        table.owe(7, i64::MAX, NOW + 10_000 * MS),
        i64::MAX - 1_000 * MS
    );
}

#[test]
fn words_of_any_content_are_answered() {
    let (table, limits) = (table(1, 2), limits(10.0, 3.0, 2.0));
    let access = Access::new(table.clone(), 7, 0, limits);
    for content in [i64::MIN, -1, 1, i64::MAX] {
        assert!(access.acquire(&at(NOW)).is_ok() || content != i64::MIN);
        for word in table.row(0).words.iter().chain(table.row(1).words) {
            word.store(content, SeqCst);
        }
        let _ = (
            access.acquire(&at(NOW)),
            access.acquire_batch(i64::MAX, i32::MAX, &at(NOW)),
        );
        let _ = (
            access.acquire_more(i64::MAX, &at(NOW)),
            access.acquire_socket(&at(NOW)),
        );
        access.charge_reply(i64::MIN, i64::MAX, &at(NOW));
        let _ = (
            table.owe(7, i64::MAX, NOW),
            table.owe(content, i64::MAX, NOW),
        );
        let _ = (
            table.take_charged(content),
            table.in_use(content),
            access.open_sockets(),
        );
        assert!(table.assigned().count() <= 2);
        for word in table.row(0).words.iter().chain(table.row(1).words) {
            word.store(0, SeqCst);
        }
    }
    assert!(LimitTable::words(256, 5_000).is_err() && LimitTable::words(1, 0).is_err());
}

/// The documented rule, without words that are shared: a bucket of so many nanoseconds that drains.
struct Bucket {
    debt_ns: i128,
    at: i64,
}

proptest! {
    #[test]
    fn verdicts_are_those_of_a_bucket_that_drains(
        per_second in 1u32..2_000,
        burst in 1u32..50,
        steps in prop::collection::vec((0i64..400_000_000, 1i64..60, any::<bool>()), 1..200),
    ) {
        let rate = Rate::new(f64::from(per_second), f64::from(burst));
        let interval = i128::from(1_000_000_000u32.div_ceil(per_second));
        let capacity = interval * i128::from(burst);
        let word = AtomicI64::new(0);
        let (mut bucket, mut now) = (Bucket { debt_ns: 0, at: NOW }, NOW);
        for (wait, count, is_reply) in steps {
            now += wait;
            bucket.debt_ns = (bucket.debt_ns - i128::from(now - bucket.at)).max(0);
            bucket.at = now;
            let cost = i128::from(count) * interval;
            if is_reply {
                let room = ((2 * capacity - bucket.debt_ns) / interval).max(0);
                let taken = room.min(i128::from(count));
                prop_assert_eq!(i128::from(rate.charge(&word, count, &at(now))), taken);
                bucket.debt_ns += taken * interval;
                continue;
            }
            let left = capacity - bucket.debt_ns - cost;
            let taken = rate.take(&word, count, crate::Stale::Spent, &at(now));
            prop_assert_eq!(taken.map(i128::from), Some(left));
            if left >= 0 {
                bucket.debt_ns += cost;
            }
            let allows = capacity - bucket.debt_ns >= interval;
            prop_assert_eq!(rate.allows(&word, &at(now)), allows);
        }
        prop_assert!(word.load(SeqCst) <= now + rate.burst_ns * 2);
    }
}
