//! What arrives, until it is taken by the event loop. Clients take turns, so one that sends without
//! end delays none.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a listener reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A client has shown a token, and waits for `admit` or `refuse`.
    Connected {
        connection: u32,
        address: IpAddr,
        token: String,
        wants_protection: bool,
    },
    /// A whole stream of an admitted connection, which waits for `answer`, also if nobody reads it.
    Transaction {
        connection: u32,
        stream: u64,
        bytes: Vec<u8>,
    },
    /// An admitted connection has ended, and nothing more of it follows.
    Closed { connection: u32 },
}

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Line {
    /// Nobody knows yet who it is.
    Address(IpAddr),
    Access(Arc<str>),
}

/// Takes the next events; `None` once nothing follows.
pub type Waiter = Box<dyn FnOnce(Option<Vec<Event>>) + Send>;

/// Of one call, so that the event loop handles others in between.
const EVENTS_AT_ONCE: usize = 16;

/// Events of all clients. How many there are is bounded by those that push: connections, and the
/// shares of streams.
#[derive(Default)]
pub struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    lines: HashMap<Line, VecDeque<Event>>,
    /// Those that are not empty.
    turns: VecDeque<Line>,
    waiter: Option<Waiter>,
    is_closed: bool,
}

impl State {
    fn take(&mut self) -> Vec<Event> {
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

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, line: &Line, event: Event) {
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
    pub fn receive(&self, waiter: Waiter) {
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

    fn receive(queue: &Queue) -> mpsc::Receiver<Option<Vec<Event>>> {
        let (sender, receiver) = mpsc::channel();
        queue.receive(Box::new(move |events| drop(sender.send(events))));
        receiver
    }

    fn closed(connection: u32) -> Event {
        Event::Closed { connection }
    }

    #[test]
    fn clients_take_turns() {
        let queue = Queue::default();
        let [greedy, other] = ["greedy", "other"].map(|id| Line::Access(id.into()));
        for connection in 0..1_000 {
            queue.push(&greedy, closed(connection));
        }
        queue.push(&other, closed(5_000));
        queue.push(&other, closed(5_001));
        let events = receive(&queue).try_recv().unwrap().unwrap();
        assert_eq!(events.len(), EVENTS_AT_ONCE);
        assert_eq!(
            events[..4],
            [closed(0), closed(5_000), closed(1), closed(5_001)]
        );
        assert_eq!(receive(&queue).try_recv().unwrap().unwrap()[0], closed(14));
    }

    #[test]
    fn a_waiter_gets_the_next_event_or_the_end() {
        let queue = Queue::default();
        let line = Line::Address(IpAddr::from([127, 0, 0, 1]));
        let (first, second) = (receive(&queue), receive(&queue));
        assert_eq!(first.try_recv().unwrap(), None, "there is one waiter");
        queue.push(&line, closed(1));
        assert_eq!(second.try_recv().unwrap(), Some(vec![closed(1)]));
        let third = receive(&queue);
        queue.close();
        assert_eq!(third.try_recv().unwrap(), None);
        queue.push(&line, closed(2));
        assert_eq!(receive(&queue).try_recv().unwrap(), None);
    }
}
