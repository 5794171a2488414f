//! Bounded thread pools for reads that take longer than a point read. On libuv's four threads a
//! slow scan would delay signature checks and DNS.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::error::{Error, Result};

/// Whose job it is: an access. `None` is the service itself.
pub type Owner = Option<Arc<str>>;

type Job = Box<dyn FnOnce(&Turn) + Send>;

/// How many threads one owner may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of them: its jobs never wait for anything but the processor.
    Whole,
    /// As many as it leaves free, and one at least: its jobs may wait for a client.
    Dynamic,
}

struct Queue {
    /// Jobs of each owner, in their order; never an empty queue.
    jobs: HashMap<Owner, VecDeque<Job>>,
    /// The owners of `jobs`, in the order of their turns.
    owners: VecDeque<Owner>,
    waiting: usize,
    running: HashMap<Owner, usize>,
    running_total: usize,
    /// Running jobs that have been told to yield.
    yielding: usize,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    threads: usize,
    share: Share,
    queue_max: usize,
}

/// A fixed number of threads with a bounded queue. Owners take turns, so that no job waits for all
/// of another owner's.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// How a pool is made.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub threads: usize,
    /// Added to the niceness of each thread (Linux keeps it per thread), so that scans yield to
    /// point reads.
    pub niceness: i32,
    /// Jobs that may wait. An owner may take no more of it than it leaves free.
    pub queue_max: usize,
    pub share: Share,
}

/// The load of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    pub waiting: usize,
    pub running: usize,
}

/// The thread that a running job holds.
pub struct Turn {
    shared: Arc<Shared>,
    owner: Owner,
    is_yielding: Cell<bool>,
}

impl Turn {
    /// Whether this job must not wait any longer: another owner that holds no thread waits for one,
    /// none is idle, and no owner holds more of them than this one. Stays true once it was.
    pub fn must_yield(&self) -> bool {
        if self.is_yielding.get() {
            return true;
        }
        let mut queue = self.shared.lock();
        let must_yield = queue.running_total >= self.shared.threads
            && queue.without_thread() > queue.yielding
            && queue.running_of(&self.owner) == queue.running.values().copied().max().unwrap_or(0);
        if must_yield {
            queue.yielding += 1;
            self.is_yielding.set(true);
        }
        must_yield
    }
}

impl Queue {
    fn running_of(&self, owner: &Owner) -> usize {
        self.running.get(owner).copied().unwrap_or(0)
    }

    /// Owners that wait and hold no thread.
    fn without_thread(&self) -> usize {
        let owners = self.owners.iter();
        owners.filter(|owner| self.running_of(owner) == 0).count()
    }

    /// The position of the next owner whose job may run.
    fn next(&self, shared: &Shared) -> Option<usize> {
        let free = shared.threads.saturating_sub(self.running_total + 1);
        let may_run = |owner: &Owner| {
            let running = self.running_of(owner);
            shared.share == Share::Whole || running == 0 || running < free
        };
        self.owners.iter().position(may_run)
    }

    /// Takes the next job that may run, and counts it as running.
    fn take(&mut self, shared: &Shared) -> Option<(Owner, Job)> {
        let owner = self.owners.remove(self.next(shared)?)?;
        let jobs = self.jobs.get_mut(&owner)?;
        let job = jobs.pop_front()?;
        if jobs.is_empty() {
            self.jobs.remove(&owner);
        } else {
            self.owners.push_back(owner.clone());
        }
        self.waiting -= 1;
        self.running_total += 1;
        *self.running.entry(owner.clone()).or_default() += 1;
        Some((owner, job))
    }

    fn end(&mut self, turn: &Turn) {
        self.running_total -= 1;
        if turn.is_yielding.get() {
            self.yielding -= 1;
        }
        if let Some(running) = self.running.get_mut(&turn.owner) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&turn.owner);
            }
        }
    }

    fn has_room(&self, owner: &Owner, queue_max: usize) -> bool {
        let free = queue_max.saturating_sub(self.waiting);
        let own = self.jobs.get(owner).map_or(0, VecDeque::len);
        !self.is_closed && free > 0 && (owner.is_none() || own < free)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A job's panic is caught outside the lock, so the queue is consistent even if the lock is
        // poisoned.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    pub fn new(name: &str, options: Options) -> Result<Pool> {
        let threads = options.threads.max(1);
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                jobs: HashMap::new(),
                owners: VecDeque::new(),
                waiting: 0,
                running: HashMap::new(),
                running_total: 0,
                yielding: 0,
                is_closed: false,
            }),
            wake: Condvar::new(),
            threads,
            share: options.share,
            queue_max: options.queue_max,
        });
        let mut pool = Pool {
            shared: Arc::clone(&shared),
            threads: Vec::with_capacity(threads),
        };
        for index in 0..threads {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || work(&shared, options.niceness))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Queues a job of the service itself.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        self.submit_for(None, |_| job())
    }

    /// Queues a job. If there is no room, drops the job and fails with [`Error::Overloaded`].
    pub fn submit_for(&self, owner: Owner, job: impl FnOnce(&Turn) + Send + 'static) -> Result<()> {
        let mut queue = self.shared.lock();
        if !queue.has_room(&owner, self.shared.queue_max) {
            return Err(Error::Overloaded);
        }
        let jobs = queue.jobs.entry(owner.clone()).or_default();
        jobs.push_back(Box::new(job));
        if jobs.len() == 1 {
            queue.owners.push_back(owner);
        }
        queue.waiting += 1;
        // Release the lock first: the woken thread takes it immediately.
        drop(queue);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Whether `submit` would queue a job now. Exact where one thread alone submits.
    pub fn has_room(&self) -> bool {
        self.shared.lock().has_room(&None, self.shared.queue_max)
    }

    pub fn depth(&self) -> Depth {
        let queue = self.shared.lock();
        Depth {
            waiting: queue.waiting,
            running: queue.running_total,
        }
    }
}

impl Drop for Pool {
    /// Drops queued jobs and joins the threads. Each running job is bounded by its deadline.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.is_closed = true;
        queue.waiting = 0;
        queue.owners.clear();
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

fn lower_priority(niceness: i32) {
    // SAFETY: plain integers; `who` 0 with PRIO_PROCESS is the calling thread on Linux.
    let own = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    // SAFETY: plain integers. A thread may always raise its niceness. If the call fails, scans
    // run at the priority of the other threads.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, own + niceness) };
    // A thread inherits its creator's slice. The event loop has a short slice so that it does
    // not wait for pool threads, so reset it here.
    let _ = crate::process::set_slice(0);
}

fn work(shared: &Arc<Shared>, niceness: i32) {
    if niceness > 0 {
        lower_priority(niceness);
    }
    loop {
        let mut queue = shared.lock();
        let (owner, job) = loop {
            if let Some(next) = queue.take(shared) {
                break next;
            }
            if queue.is_closed {
                return;
            }
            queue = shared
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        };
        // The end of one job can let two others run.
        if queue.next(shared).is_some() {
            shared.wake.notify_one();
        }
        drop(queue);
        let turn = Turn {
            shared: Arc::clone(shared),
            owner,
            is_yielding: Cell::new(false),
        };
        // A job answers its caller when it is dropped, so the caller sees a panic as a failure and
        // the thread survives.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&turn)));
        shared.lock().end(&turn);
    }
}

#[cfg(test)]
mod tests;
