//! What other threads hand to an event loop: a queue, and who may wake the loop while it ends.

use std::collections::VecDeque;
use std::sync::PoisonError;

#[cfg(feature = "model")]
use shuttle::sync::{Mutex, RwLock};
#[cfg(not(feature = "model"))]
use std::sync::{Mutex, RwLock};

/// Items for a loop that is woken with `wake` from any thread until [`LoopQueue::close`].
pub struct LoopQueue<T> {
    /// `None` once the loop has ended: later items are dropped.
    items: Mutex<Option<VecDeque<T>>>,
    /// Whether the loop may be woken. Threads hold it while they do so, and the loop, which never
    /// takes it before, waits for them before it closes its handle.
    is_open: RwLock<bool>,
}

impl<T> Default for LoopQueue<T> {
    fn default() -> LoopQueue<T> {
        LoopQueue {
            items: Mutex::new(Some(VecDeque::new())),
            is_open: RwLock::new(true),
        }
    }
}

impl<T> LoopQueue<T> {
    /// The lock is released before the loop is woken: the loop has short time slices, so it runs at
    /// once, and would wait for a niced thread that it has just preempted.
    pub fn push(&self, item: T, wake: impl Fn()) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = items.as_mut() else {
            return;
        };
        waiting.push_back(item);
        drop(items);
        self.wake(wake);
    }

    pub fn take(&self) -> Option<T> {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.as_mut()?.pop_front()
    }

    /// Wakes the loop again if something waits.
    pub fn wake_for_rest(&self, wake: impl Fn()) {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let has_waiting = items.as_ref().is_some_and(|waiting| !waiting.is_empty());
        drop(items);
        if has_waiting {
            self.wake(wake);
        }
    }

    fn wake(&self, wake: impl Fn()) {
        let is_open = self.is_open.read().unwrap_or_else(PoisonError::into_inner);
        if *is_open {
            wake();
        }
    }

    /// The loop ends. What waits is dropped, and no thread wakes the loop once this has returned.
    pub fn close(&self) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = items.take();
        drop(items);
        // Outside of the lock: what is dropped may push.
        drop(waiting);
        *self.is_open.write().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

#[cfg(all(test, feature = "model"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use shuttle::sync::{Arc, Condvar};
    use shuttle::{check_pct, check_random, thread};

    const PUSHERS: usize = 3;
    const ITEMS_EACH: usize = 2;
    const RUNS: usize = 20_000;

    /// A handle as that of libuv: several wake-ups may be one, and none may come after its end.
    #[derive(Default)]
    struct Handle {
        state: Mutex<(bool, bool)>,
        woken: Condvar,
    }

    impl Handle {
        fn send(&self) {
            let mut state = self.state.lock().unwrap();
            assert!(!state.1, "the loop is not woken after its end");
            state.0 = true;
            drop(state);
            self.woken.notify_one();
        }

        fn wait(&self) {
            let mut state = self.state.lock().unwrap();
            while !state.0 {
                state = self.woken.wait(state).unwrap();
            }
            state.0 = false;
        }

        fn close(&self) {
            self.state.lock().unwrap().1 = true;
        }
    }

    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// A loop that takes one item a turn and ends after `taken_max`.
    fn run(taken_max: usize) {
        let queue = Arc::new(LoopQueue::<Counted>::default());
        let handle = Arc::new(Handle::default());
        let dropped = Arc::new(AtomicUsize::new(0));
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|_| {
                let (queue, handle) = (Arc::clone(&queue), Arc::clone(&handle));
                let dropped = Arc::clone(&dropped);
                thread::spawn(move || {
                    for _ in 0..ITEMS_EACH {
                        queue.push(Counted(Arc::clone(&dropped)), || handle.send());
                    }
                })
            })
            .collect();
        let mut taken = 0;
        // A wake-up that is lost leaves this waiting for ever, which the scheduler reports.
        while taken < taken_max {
            handle.wait();
            taken += usize::from(queue.take().is_some());
            queue.wake_for_rest(|| handle.send());
        }
        queue.close();
        handle.close();
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert!(queue.take().is_none());
        assert_eq!(dropped.load(SeqCst), PUSHERS * ITEMS_EACH, "each item once");
    }

    #[test]
    fn no_wake_up_is_lost_and_none_comes_after_the_end() {
        for taken_max in [PUSHERS * ITEMS_EACH, 3, 0] {
            check_random(move || run(taken_max), RUNS);
            check_pct(move || run(taken_max), RUNS, 3);
        }
    }
}
