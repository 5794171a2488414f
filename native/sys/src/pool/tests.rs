use super::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn options(threads: usize, queue_max: usize) -> Options {
    Options {
        threads,
        niceness: 0,
        queue_max,
        share: Share::Whole,
    }
}

fn dynamic(threads: usize, queue_max: usize) -> Options {
    let share = Share::Dynamic;
    Options {
        share,
        ..options(threads, queue_max)
    }
}

/// Occupies one thread of the pool until the returned sender sends or is dropped.
fn occupy(pool: &Pool) -> mpsc::Sender<()> {
    let (started, is_started) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    pool.submit(move || {
        started.send(()).unwrap();
        let _ = is_released.recv();
    })
    .unwrap();
    is_started.recv().unwrap();
    release
}

#[test]
fn runs_jobs_and_survives_a_panic() {
    let pool = Pool::new("test", options(2, 16)).unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.submit(|| panic!("a job that fails")).unwrap();
    for n in 0..8 {
        let sender = sender.clone();
        pool.submit(move || sender.send(n).unwrap()).unwrap();
    }
    let mut seen: Vec<i32> = (0..8)
        .map(|_| receiver.recv_timeout(Duration::from_secs(5)).unwrap())
        .collect();
    seen.sort();
    assert_eq!(seen, (0..8).collect::<Vec<_>>());
}

#[test]
fn every_job_runs_with_sleeping_threads() {
    let pool = Arc::new(Pool::new("test", options(2, 4_096)).unwrap());
    let (sender, receiver) = mpsc::channel();
    let callers: Vec<_> = (0..2u64)
        .map(|caller| {
            let (pool, sender) = (Arc::clone(&pool), sender.clone());
            std::thread::spawn(move || {
                for n in 0..2_000 {
                    let pause = Duration::from_micros([0, 5, 50, 150][n as usize % 4]);
                    let until = Instant::now() + pause;
                    while Instant::now() < until {}
                    let sender = sender.clone();
                    pool.submit(move || sender.send(caller * 10_000 + n).unwrap())
                        .unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    for caller in callers {
        caller.join().unwrap();
    }
    let mut seen: Vec<u64> =
        std::iter::from_fn(|| receiver.recv_timeout(Duration::from_secs(5)).ok()).collect();
    seen.sort_unstable();
    let wanted = (0..2u64).flat_map(|caller| (0..2_000).map(move |n| caller * 10_000 + n));
    assert_eq!(seen, wanted.collect::<Vec<_>>());
    assert_eq!(pool.depth().waiting, 0);
}

#[test]
fn a_single_job_runs_after_any_pause() {
    let pool = Pool::new("test", options(1, 8)).unwrap();
    for pause in [0, 20, 90, 300, 2_000] {
        std::thread::sleep(Duration::from_micros(pause));
        let (sender, receiver) = mpsc::channel();
        pool.submit(move || sender.send(()).unwrap()).unwrap();
        let received = receiver.recv_timeout(Duration::from_secs(5));
        assert_eq!(received, Ok(()), "{pause} µs after");
    }
}

#[test]
fn refuses_jobs_when_the_queue_is_full() {
    let pool = Pool::new("test", options(1, 2)).unwrap();
    let release = occupy(&pool);
    pool.submit(|| {}).unwrap();
    assert!(pool.has_room());
    pool.submit(|| {}).unwrap();
    assert!(!pool.has_room());
    assert!(matches!(pool.submit(|| {}), Err(Error::Overloaded)));
    assert_eq!(
        pool.depth(),
        Depth {
            waiting: 2,
            running: 1
        }
    );
    release.send(()).unwrap();
}

fn owner(name: &str) -> Owner {
    Some(name.into())
}

/// Queues a job of an owner that holds its thread until the returned sender sends or is dropped,
/// and reports its name when it begins.
fn hold(pool: &Pool, name: &'static str, begun: &mpsc::Sender<&'static str>) -> mpsc::Sender<()> {
    let (release, is_released) = mpsc::channel::<()>();
    let begun = begun.clone();
    let job = move |_: &Turn| {
        begun.send(name).unwrap();
        let _ = is_released.recv();
    };
    pool.submit_for(owner(name), job).unwrap();
    release
}

#[test]
fn an_owner_holds_no_more_threads_than_it_leaves_free() {
    let pool = Pool::new("test", dynamic(8, 64)).unwrap();
    let (begun, begins) = mpsc::channel();
    let next = || begins.recv_timeout(Duration::from_secs(5)).unwrap();
    let flood: Vec<_> = (0..12).map(|_| hold(&pool, "flood", &begun)).collect();
    for _ in 0..4 {
        assert_eq!(next(), "flood");
    }
    assert!(begins.recv_timeout(Duration::from_millis(50)).is_err());
    assert_eq!(
        pool.depth(),
        Depth {
            waiting: 8,
            running: 4
        }
    );
    // One after the other: "a" may have a second thread only before "b" and "c" have theirs.
    let others: Vec<_> = ["a", "a", "b", "c"]
        .map(|name| {
            let release = hold(&pool, name, &begun);
            assert_eq!(next(), name);
            release
        })
        .into();
    drop(others);
    for release in flood {
        drop(release);
    }
    for _ in 0..8 {
        assert_eq!(next(), "flood");
    }
}

#[test]
fn one_thread_is_enough_for_each_owner_in_turn() {
    let pool = Pool::new("test", dynamic(1, 64)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let release = occupy(&pool);
    for name in ["a", "a", "a", "b", "c", "b"] {
        let sender = sender.clone();
        let job = move |_: &Turn| sender.send(name).unwrap();
        pool.submit_for(owner(name), job).unwrap();
    }
    release.send(()).unwrap();
    let seen: Vec<_> = (0..6)
        .map(|_| receiver.recv_timeout(Duration::from_secs(5)).unwrap())
        .collect();
    assert_eq!(seen, ["a", "b", "c", "a", "b", "a"]);
}

#[test]
fn who_holds_the_most_threads_yields_to_an_owner_without_one() {
    let pool = Pool::new("test", dynamic(4, 64)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let next = || receiver.recv_timeout(Duration::from_secs(5)).unwrap();
    for name in ["a", "a", "b", "c"] {
        let sender = sender.clone();
        let job = move |turn: &Turn| {
            sender.send((name, "begins")).unwrap();
            let until = Instant::now() + Duration::from_millis(300);
            while Instant::now() < until {
                if turn.must_yield() {
                    return sender.send((name, "yields")).unwrap();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        pool.submit_for(owner(name), job).unwrap();
        // "a" may have a second thread only before the others have theirs.
        assert_eq!(next(), (name, "begins"));
    }
    let job = move |_: &Turn| sender.send(("d", "begins")).unwrap();
    pool.submit_for(owner("d"), job).unwrap();
    assert_eq!([next(), next()], [("a", "yields"), ("d", "begins")]);
    assert!(receiver.recv().is_err(), "and nobody else yields");
}

#[test]
fn an_owner_takes_no_more_of_the_queue_than_it_leaves_free() {
    let pool = Pool::new("test", options(1, 8)).unwrap();
    let release = occupy(&pool);
    let submit = |name| pool.submit_for(owner(name), |_| {});
    for _ in 0..4 {
        submit("flood").unwrap();
    }
    assert!(matches!(submit("flood"), Err(Error::Overloaded)));
    submit("other").unwrap();
    submit("other").unwrap();
    assert!(matches!(submit("other"), Err(Error::Overloaded)));
    submit("third").unwrap();
    pool.submit(|| {}).unwrap();
    assert!(!pool.has_room());
    release.send(()).unwrap();
}

#[test]
fn whatever_runs_its_counts_return_to_zero() {
    let pool = Pool::new("test", dynamic(3, 4_096)).unwrap();
    let (sender, receiver) = mpsc::channel();
    for n in 0..600u32 {
        let sender = sender.clone();
        let job = move |turn: &Turn| {
            turn.must_yield();
            sender.send(n).unwrap();
            assert!(n % 7 != 0, "a job that fails");
        };
        pool.submit_for(owner(["a", "b", "c", "d", "e"][n as usize % 5]), job)
            .unwrap();
    }
    for _ in 0..600 {
        receiver.recv_timeout(Duration::from_secs(5)).unwrap();
    }
    let until = Instant::now() + Duration::from_secs(5);
    while pool.depth().running > 0 && Instant::now() < until {
        std::thread::yield_now();
    }
    let queue = pool.shared.lock();
    assert_eq!(
        (queue.waiting, queue.running_total, queue.yielding),
        (0, 0, 0)
    );
    assert!(queue.jobs.is_empty() && queue.owners.is_empty() && queue.running.is_empty());
}
