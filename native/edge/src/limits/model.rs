//! Edges that change one table at a time, in orders that a scheduler chooses. Every access to a
//! word is sequentially consistent, so that the orders of their steps are all that can happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use super::*;
use crate::memory::Memory;

const NOW: i64 = 1_700_000_000_000_000_000;
/// By then every burst has recovered.
const LATER: i64 = NOW + 60_000_000_000;
const RUNS: usize = 20_000;
/// Steps of the scheduler that a change may come between.
const DEPTH: usize = 4;

fn check(test: impl Fn() + Send + Sync + Clone + 'static) {
    let config = || {
        let mut config = Config::new();
        config.failure_persistence = shuttle::FailurePersistence::Print;
        config
    };
    Runner::new(RandomScheduler::new(RUNS), config()).run(test.clone());
    Runner::new(PctScheduler::new(DEPTH, RUNS), config()).run(test);
}

fn table(edges: usize, rows: usize) -> Arc<LimitTable> {
    let memory = LimitTable::words(edges, rows).unwrap().map(Memory::new);
    Arc::new(LimitTable::new(memory, edges, rows))
}

fn access(table: &Arc<LimitTable>, key: i64, edge: usize, burst: f64, in_flight: f64) -> Access {
    let limits = Limits {
        requests_per_second_max: 1.0,
        requests_burst_max: burst,
        requests_in_flight_max: in_flight,
        sockets_max: 1.0,
    };
    Access::new(table.clone(), key, edge, limits)
}

fn in_threads(edges: usize, run: impl Fn(usize) + Send + Sync + 'static) {
    let run = Arc::new(run);
    let spawn = |edge| {
        let run = run.clone();
        thread::spawn(move || run(edge))
    };
    let threads: Vec<_> = (0..edges).map(spawn).collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
}

#[test]
fn edges_share_one_row_and_take_a_burst_exactly() {
    check(|| {
        let table = table(3, 4);
        let admitted = Arc::new(AtomicI64::new(0));
        let (shared, count) = (table.clone(), admitted.clone());
        in_threads(3, move |edge| {
            let access = access(&shared, 7, edge, 4.0, 9.0);
            for _ in 0..2 {
                if access.acquire(&|| Some(NOW)).is_ok() {
                    count.fetch_add(1, SeqCst);
                    access.release(1);
                }
            }
        });
        assert_eq!(admitted.load(SeqCst), 4);
        assert_eq!(table.assigned().count(), 1, "an access has one row");
        assert_eq!(table.in_use(7), InUse::default());
        assert_eq!(table.take_charged(7), 4);
    });
}

#[test]
fn no_more_are_in_flight_than_the_limit() {
    check(|| {
        let table = table(3, 2);
        let open = Arc::new([AtomicI64::new(0), AtomicI64::new(0)]);
        in_threads(3, move |edge| {
            let access = access(&table, 7, edge, 100.0, 1.0);
            let held = |count: &AtomicI64| {
                assert_eq!(count.fetch_add(1, SeqCst), 0);
                thread::yield_now();
                count.fetch_sub(1, SeqCst);
            };
            if access.acquire(&|| Some(NOW)).is_ok() {
                held(&open[0]);
                access.release(1);
            }
            if access.acquire_socket(&|| Some(NOW)).is_ok() {
                held(&open[1]);
                access.release_socket();
            }
        });
    });
}

/// Whether an access with a request in flight has its row. One that tries to take the row hides it
/// for a moment.
fn is_found(table: &LimitTable, key: i64) -> bool {
    (0..1_000).any(|_| {
        thread::yield_now();
        table.in_use(key).requests >= 1
    })
}

#[test]
fn a_row_in_use_is_not_given_to_another_access() {
    check(|| {
        // Two rows for three accesses, each at two edges.
        let table = table(3, 2);
        let shared = table.clone();
        in_threads(3, move |edge| {
            for (key, now) in [(edge, NOW), ((edge + 1) % 3, LATER)] {
                let key = key as i64 + 1;
                let access = access(&shared, key, edge, 8.0, 9.0);
                if access.acquire(&|| Some(now)).is_ok() {
                    assert!(is_found(&shared, key), "the row is another's");
                    access.release(1);
                }
            }
        });
        for key in 1..=3 {
            assert_eq!(table.in_use(key), InUse::default());
        }
        let keys: Vec<_> = table.assigned().map(|row| row.key).collect();
        assert!(
            keys.len() < 2 || keys[0] != keys[1],
            "an access has one row"
        );
    });
}

#[test]
fn what_is_reported_meanwhile_is_reported_once() {
    check(|| {
        let table = table(2, 1);
        let reported = Arc::new(AtomicI64::new(0));
        let (shared, sum) = (table.clone(), reported.clone());
        in_threads(3, move |edge| {
            if edge == 2 {
                sum.fetch_add(i64::from(shared.take_charged(7)), SeqCst);
                shared.owe(7, 1_000_000_000, NOW);
                return;
            }
            let access = access(&shared, 7, edge, 9.0, 9.0);
            for _ in 0..2 {
                assert!(access.acquire(&|| Some(NOW)).is_ok());
                access.charge_reply(1, 2, &|| Some(NOW));
                access.release(1);
            }
        });
        let rest = i64::from(table.take_charged(7));
        assert_eq!(reported.load(SeqCst) + rest, 8);
        assert_eq!(table.assigned().next().map(|row| row.charged), Some(8));
    });
}
