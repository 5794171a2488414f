use std::cell::Cell;

use super::*;

const SECOND: i64 = 1_000_000_000;
const NOW: i64 = 1_000 * SECOND;

fn at(now: i64) -> impl Fn() -> Option<i64> {
    move || Some(now)
}

fn take(rate: Rate, word: &AtomicI64, count: i64, now: i64) -> i64 {
    rate.take(word, count, Stale::Spent, &at(now)).unwrap()
}

#[test]
fn a_burst_then_one_request_per_interval() {
    let (rate, word) = (Rate::new(10.0, 2.0), AtomicI64::new(0));
    assert_eq!(
        take(rate, &word, 1, NOW),
        SECOND / 10,
        "the rest of the burst"
    );
    assert!(rate.allows(&word, &at(NOW)));
    assert_eq!(take(rate, &word, 1, NOW), 0);
    assert!(!rate.allows(&word, &at(NOW)));
    assert_eq!(take(rate, &word, 1, NOW), -SECOND / 10, "how long to wait");
    assert_eq!(take(rate, &word, 1, NOW + SECOND / 10 - 1), -1);
    assert_eq!(take(rate, &word, 1, NOW + SECOND / 10), 0);
}

#[test]
fn all_requests_of_a_call_or_none() {
    let (rate, word) = (Rate::new(1.0, 3.0), AtomicI64::new(0));
    assert_eq!(take(rate, &word, 4, SECOND), -SECOND);
    assert_eq!(take(rate, &word, 3, SECOND), 0);
    assert_eq!(take(rate, &word, 2, 3 * SECOND), 0);
    assert!(take(rate, &word, i64::MAX, 3 * SECOND) < 0);
    assert_eq!(rate.take(&word, 1, Stale::Spent, &|| None), None);
}

#[test]
fn a_process_that_was_stopped_after_it_read_the_clock_is_not_refused() {
    let (rate, word) = (Rate::new(1_000.0, 1.0), AtomicI64::new(0));
    let now = Cell::new(10 * SECOND);
    let clock = || {
        let read = now.replace(20 * SECOND);
        // Stopped here for ten seconds, in which another process takes requests.
        if read < 20 * SECOND {
            take(rate, &word, 1, read + 9 * SECOND);
        }
        Some(read)
    };
    assert_eq!(rate.take(&word, 1, Stale::Spent, &clock), Some(0));
    let stored = word.load(SeqCst);
    assert_eq!(stored, 20 * SECOND + rate.interval_ns, "not set back");

    // The clock was read before the call.
    let first = Cell::new(Some(10 * SECOND));
    let late = || first.take().or(Some(30 * SECOND));
    assert_eq!(rate.take(&word, 1, Stale::Spent, &late), Some(0));
    assert_eq!(word.load(SeqCst), 30 * SECOND + rate.interval_ns);
}

#[test]
fn a_time_that_lies_too_far_ahead_is_a_spent_burst_or_a_whole_one() {
    let far = 1_000_000 * SECOND;
    let (rate, word) = (Rate::new(1.0, 1.0), AtomicI64::new(far));
    assert_eq!(take(rate, &word, 1, SECOND), -SECOND);
    assert_eq!(
        take(rate, &word, 1, 2 * SECOND),
        0,
        "open an interval later"
    );
    word.store(far, SeqCst);
    let fresh = || rate.take(&word, 1, Stale::Fresh, &at(SECOND));
    assert_eq!(fresh(), Some(0));
    assert!(fresh() < Some(0));
}

#[test]
fn any_rate_is_within_the_bounds() {
    let numbers = [
        0.0,
        -1.0,
        1e-300,
        1e-9,
        0.3,
        1e9,
        1e300,
        f64::INFINITY,
        f64::NAN,
    ];
    for (per_second, burst) in numbers
        .iter()
        .flat_map(|one| numbers.map(|two| (*one, two)))
    {
        let (rate, word) = (Rate::new(per_second, burst), AtomicI64::new(0));
        assert!(rate.interval_ns >= 1 && rate.burst_ns >= 0 && rate.burst() >= 0);
        for now in [-(1 << 61), 0, NOW, 1 << 61] {
            let _ = take(rate, &word, i64::MAX, now);
            assert!(rate.charge(&word, i64::MAX, &at(now)) >= 0);
            word.store(i64::MAX, SeqCst);
            assert!(rate.owe(&word, i64::MAX, now) >= 0);
        }
    }
    assert!(!Rate::new(0.0, 100.0).allows(&AtomicI64::new(0), &at(NOW)));
}
