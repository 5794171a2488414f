//! Bounded thread pools for reads that take longer than a point read. On libuv's four threads a
//! slow scan would delay signature checks and DNS.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::error::{Error, Result};

type Job = Box<dyn FnOnce() + Send>;

struct Queue {
    jobs: VecDeque<Job>,
    running: usize,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    queue_max: usize,
}

/// A fixed number of threads with a bounded queue.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The load of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    pub waiting: usize,
    pub running: usize,
}

fn lock(shared: &Shared) -> MutexGuard<'_, Queue> {
    // A job's panic is caught outside the lock, so the queue is consistent even if the lock is
    // poisoned.
    shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Adds `niceness` to the niceness of each thread (Linux keeps it per thread), so that scans
    /// yield to point reads.
    pub fn new(name: &str, threads: usize, niceness: i32, queue_max: usize) -> Result<Pool> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                running: 0,
                is_closed: false,
            }),
            wake: Condvar::new(),
            queue_max,
        });
        let mut pool = Pool {
            shared: Arc::clone(&shared),
            threads: Vec::with_capacity(threads),
        };
        for index in 0..threads.max(1) {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || work(&shared, niceness))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Queues a job. If the queue is full, drops the job and fails with [`Error::Overloaded`].
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut queue = lock(&self.shared);
        if queue.is_closed || queue.jobs.len() >= self.shared.queue_max {
            return Err(Error::Overloaded);
        }
        queue.jobs.push_back(Box::new(job));
        // Release the lock first: the woken thread takes it immediately.
        drop(queue);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Whether `submit` would queue a job now. Exact where one thread alone submits.
    pub fn has_room(&self) -> bool {
        let queue = lock(&self.shared);
        !queue.is_closed && queue.jobs.len() < self.shared.queue_max
    }

    pub fn depth(&self) -> Depth {
        let queue = lock(&self.shared);
        Depth {
            waiting: queue.jobs.len(),
            running: queue.running,
        }
    }
}

impl Drop for Pool {
    /// Drops queued jobs and joins the threads. Each running job is bounded by its deadline.
    fn drop(&mut self) {
        let mut queue = lock(&self.shared);
        queue.is_closed = true;
        let waiting = std::mem::take(&mut queue.jobs);
        drop(queue);
        drop(waiting);
        self.shared.wake.notify_all();
        let this = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // A job of this pool may drop the last handle, and a thread cannot join itself.
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}

fn work(shared: &Shared, niceness: i32) {
    if niceness > 0 {
        // SAFETY: plain integers; `who` 0 with PRIO_PROCESS is the calling thread on Linux.
        let own = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: plain integers. A thread may always raise its niceness. If the call fails, scans
        // run at the priority of the other threads.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, own + niceness) };
        // A thread inherits its creator's slice. The event loop has a short slice so that it does
        // not wait for pool threads, so reset it here.
        let _ = crate::process::set_slice(0);
    }
    loop {
        let mut queue = lock(shared);
        let job = loop {
            if let Some(job) = queue.jobs.pop_front() {
                break job;
            }
            if queue.is_closed {
                return;
            }
            queue = shared
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        };
        queue.running += 1;
        drop(queue);
        // A job answers its caller when it is dropped, so the caller sees a panic as a failure and
        // the thread survives.
        let _ = catch_unwind(AssertUnwindSafe(job));
        lock(shared).running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

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
        let pool = Pool::new("test", 2, 0, 16).unwrap();
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
        let pool = Arc::new(Pool::new("test", 2, 0, 4_096).unwrap());
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
        let pool = Pool::new("test", 1, 0, 8).unwrap();
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
        let pool = Pool::new("test", 1, 0, 2).unwrap();
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
}
