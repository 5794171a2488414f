//! Random commits, kills, moves and slow readers: what a client saw and its gaps are the whole
//! sequence.

use proptest::collection::vec;
use proptest::prelude::*;

use super::replay::{busy_block, cursor_of, json, resumed, text_of, to_program};
use super::*;
use crate::{LogsOf, Place};

/// What happens to a client and the machines that it uses.
#[derive(Debug, Clone)]
enum Event {
    /// The next block of the chain reaches one of the machines.
    Commit(prop::sample::Index),
    Pass(prop::sample::Index),
    /// The client's socket has frames enough, or not.
    Hold(bool),
    /// The edge of the client is killed, or it moves: it resumes at a machine.
    Reconnect(prop::sample::Index),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(Event::Commit),
        4 => any::<prop::sample::Index>().prop_map(Event::Pass),
        1 => any::<bool>().prop_map(Event::Hold),
        2 => any::<prop::sample::Index>().prop_map(Event::Reconnect),
    ]
}

struct Machine {
    bench: Bench,
    applied: usize,
}

/// A client of one subscription.
struct Client {
    interest: Interest,
    at: usize,
    id: u32,
    seen: Vec<Value>,
    gaps: Vec<(u64, u64)>,
    cursor: Option<String>,
}

impl Client {
    fn take(&mut self, machine: usize, pass: &Pass) {
        for (id, _, text) in split(pass) {
            if machine != self.at || id != self.id {
                continue;
            }
            let mut frame = json(&text);
            self.cursor = cursor_of(&frame);
            assert!(self.cursor.is_some());
            frame["params"]["subscription"] = Value::Null;
            let gap = &frame["params"]["result"]["gap"];
            match (gap["from"].as_u64(), gap["to"].as_u64()) {
                (Some(first), Some(last)) => self.gaps.push((first, last)),
                _ => self.seen.push(frame),
            }
        }
    }

    /// A client that has no cursor yet knows of nothing before.
    fn connect(&mut self, at: usize, machines: &[Machine], begin: &str) {
        machines[self.at].bench.fanout.remove(self.id);
        (self.at, self.id) = (at, self.id + 1);
        let from = self.cursor.as_deref().unwrap_or(begin);
        let subscription = resumed(self.interest.clone(), Some(from), self.id);
        machines[at].bench.add(self.id, subscription);
    }
}

fn slot_of(frame: &Value) -> u64 {
    let result = &frame["params"]["result"];
    let of = [&result["context"]["slot"], &result["slot"], result];
    of.into_iter().find_map(Value::as_u64).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_was_seen_and_gaps_are_everything(
        blocks in vec((vec(1u8..6, 0..6), 0u8..4, 1u64..4), 2..24),
        events in vec(event(), 1..120),
        which in 0usize..5,
        feed_ms in prop_oneof![Just(600u64), Just(100_000)],
        chunk in prop_oneof![Just(1usize), 100usize..3_000, Just(1 << 20)],
    ) {
        let logs = Interest::Logs(LogsOf::All);
        let interest = [to_account(2), to_program(), logs, Interest::Slot, Interest::Root][which].clone();
        let chain: Vec<Block> = (1u64..).zip(&blocks).map(|(slot, (accounts, count, behind))| {
            let transactions: Vec<u8> = (0..*count).collect();
            busy_block(slot, accounts, &transactions, slot.saturating_sub(*behind))
        }).collect();
        let begin = text_of(1, if interest == Interest::Root { Place::Root } else { Place::End });

        // The reference: one machine that is never left.
        let whole = Bench::new();
        whole.apply(&chain[0]);
        whole.add(1, resumed(interest.clone(), Some(&begin), 1));
        let mut expected = Vec::new();
        for block in &chain[1..] {
            whole.apply(block);
            for (_, _, text) in whole.frames() {
                let mut frame = json(&text);
                frame["params"]["subscription"] = Value::Null;
                expected.push(frame);
            }
        }

        let kept = Options { feed_ms, ..options() };
        let mut machines: Vec<Machine> = (0..2).map(|_| {
            let bench = Bench::with(chunk, &kept);
            bench.apply(&chain[0]);
            Machine { bench, applied: 1 }
        }).collect();
        let mut client = Client {
            interest, at: 0, id: 0, seen: Vec::new(), gaps: Vec::new(), cursor: None,
        };
        client.connect(0, &machines, &begin);
        for event in &events {
            match event {
                Event::Commit(index) => {
                    let machine = &mut machines[index.index(2)];
                    if let Some(block) = chain.get(machine.applied) {
                        machine.bench.apply(block);
                        machine.applied += 1;
                    }
                }
                Event::Pass(index) => {
                    let at = index.index(2);
                    let pass = machines[at].bench.pass();
                    client.take(at, &pass);
                    if pass.is_lost && at == client.at {
                        // Its socket is closed.
                        client.connect(at, &machines, &begin);
                    }
                }
                Event::Hold(is_held) => {
                    machines[client.at].bench.fanout.hold(client.id, *is_held);
                }
                Event::Reconnect(index) => client.connect(index.index(2), &machines, &begin),
            }
        }
        // In the end every machine has the chain.
        machines[client.at].bench.fanout.hold(client.id, false);
        for machine in &machines {
            for block in &chain[machine.applied..] {
                machine.bench.apply(block);
            }
        }
        for _ in 0..100_000 {
            let pass = machines[client.at].bench.pass();
            client.take(client.at, &pass);
            if pass.is_lost {
                client.connect(client.at, &machines, &begin);
            } else if !pass.has_more {
                break;
            }
        }
        let mut rest = client.seen.iter().peekable();
        for frame in &expected {
            if rest.peek() == Some(&frame) {
                rest.next();
                continue;
            }
            let slot = slot_of(frame);
            prop_assert!(
                client.gaps.iter().any(|(first, last)| (*first..=*last).contains(&slot)),
                "lost {frame}; gaps {:?}", client.gaps
            );
        }
        prop_assert_eq!(rest.next(), None, "doubled or out of order");
        if feed_ms > 600 {
            prop_assert_eq!(&client.gaps, &Vec::new());
        }
    }
}
