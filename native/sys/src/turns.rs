//! What arrives at a listener, until it is taken by the event loop. Clients take turns, so one that
//! sends without end delays none.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Line {
    /// Nobody knows yet who it is.
    Address(IpAddr),
    Access(Arc<str>),
}

/// Takes the next events; `None` once nothing follows.
pub type Waiter<E> = Box<dyn FnOnce(Option<Vec<E>>) + Send>;

/// Of one call, so that the event loop handles others in between.
const EVENTS_AT_ONCE: usize = 16;

/// Events of all clients. How many there are is bounded by those that push: connections, and the
/// shares of streams.
pub struct Queue<E>(Mutex<State<E>>);

impl<E> Default for Queue<E> {
    fn default() -> Queue<E> {
        Queue(Mutex::new(State {
            lines: HashMap::new(),
            turns: VecDeque::new(),
            waiter: None,
            is_closed: false,
        }))
    }
}

struct State<E> {
    lines: HashMap<Line, VecDeque<E>>,
    /// Those that are not empty.
    turns: VecDeque<Line>,
    waiter: Option<Waiter<E>>,
    is_closed: bool,
}

impl<E> State<E> {
    fn take(&mut self) -> Vec<E> {
        let mut taken = Vec::new();
        while taken.len() < EVENTS_AT_ONCE {
            let Some(line) = self.turns.pop_front() else {
                break;
            };
            let Some(events) = self.lines.get_mut(&line) else {
                continue;
            };
            taken.extend(events.pop_front());
            if events.is_empty() {
                self.lines.remove(&line);
            } else {
                self.turns.push_back(line);
            }
        }
        taken
    }
}

impl<E> Queue<E> {
    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, line: &Line, event: E) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        if let Some(events) = state.lines.get_mut(line) {
            events.push_back(event);
        } else {
            state.lines.insert(line.clone(), VecDeque::from([event]));
            state.turns.push_back(line.clone());
        }
        let Some(waiter) = state.waiter.take() else {
            return;
        };
        let events = state.take();
        drop(state);
        waiter(Some(events));
    }

    /// Calls the waiter with the next events, now or once there are some. There is one at a time: a
    /// second call ends the first one.
    pub fn receive(&self, waiter: Waiter<E>) {
        let mut state = self.state();
        let events = state.take();
        if events.is_empty() && !state.is_closed {
            let former = state.waiter.replace(waiter);
            drop(state);
            if let Some(former) = former {
                former(None);
            }
            return;
        }
        drop(state);
        waiter((!events.is_empty()).then_some(events));
    }

    /// Drops what was not taken.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.lines.clear();
        state.turns.clear();
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn receive(queue: &Queue<u32>) -> mpsc::Receiver<Option<Vec<u32>>> {
        let (sender, receiver) = mpsc::channel();
        queue.receive(Box::new(move |events| drop(sender.send(events))));
        receiver
    }

    #[test]
    fn clients_take_turns() {
        let queue = Queue::default();
        let [greedy, other] = ["greedy", "other"].map(|id| Line::Access(id.into()));
        for event in 0..1_000 {
            queue.push(&greedy, event);
        }
        queue.push(&other, 5_000);
        queue.push(&other, 5_001);
        let events = receive(&queue).try_recv().unwrap().unwrap();
        assert_eq!(events.len(), EVENTS_AT_ONCE);
        assert_eq!(events[..4], [0, 5_000, 1, 5_001]);
        assert_eq!(receive(&queue).try_recv().unwrap().unwrap()[0], 14);
    }

    #[test]
    fn a_waiter_gets_the_next_event_or_the_end() {
        let queue = Queue::default();
        let line = Line::Address(IpAddr::from([127, 0, 0, 1]));
        let (first, second) = (receive(&queue), receive(&queue));
        assert_eq!(first.try_recv().unwrap(), None, "there is one waiter");
        queue.push(&line, 1);
        assert_eq!(second.try_recv().unwrap(), Some(vec![1]));
        let third = receive(&queue);
        queue.close();
        assert_eq!(third.try_recv().unwrap(), None);
        queue.push(&line, 2);
        assert_eq!(receive(&queue).try_recv().unwrap(), None);
    }
}
