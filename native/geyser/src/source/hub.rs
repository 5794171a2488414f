//! One call of one network: what its streams need of the source, and what has come.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ingest::geyser::Kinds;
use tokio::sync::{Notify, watch};
use tonic::Status;

use super::batch::Batch;
use super::ring::{End, Entry, Ring};
use crate::calls::lock;
use crate::status::{no_call, no_filters};

/// What a source does not allow is not asked of it again for this long: for all other streams each
/// attempt is an interruption.
const BARRED: Duration = Duration::from_secs(600);

/// How many streams there are, and how many need each kind.
#[derive(Debug, Default)]
struct Demand {
    streams: usize,
    accounts: usize,
    transactions: usize,
    blocks_meta: usize,
}

impl Demand {
    fn change(&mut self, kinds: Kinds, change: impl Fn(&mut usize)) {
        for (is_needed, count) in [
            (kinds.accounts, &mut self.accounts),
            (kinds.transactions, &mut self.transactions),
            (kinds.blocks_meta, &mut self.blocks_meta),
        ] {
            if is_needed {
                change(count);
            }
        }
    }
}

/// What the source has refused.
#[derive(Debug, Default)]
struct Refusals {
    /// Until then it is not asked whether it has the call.
    call: Option<Instant>,
    kinds: Kinds,
    /// A request for slots alone, and so any.
    all: bool,
    until: Option<Instant>,
}

/// A call in numbers; counts are since the server was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubStats {
    pub is_open: bool,
    /// Streams of the source that were opened.
    pub opened: u64,
    pub updates: u64,
    /// Of open streams.
    pub losses: u64,
}

/// A call of a network.
#[derive(Debug, Default)]
pub struct Hub {
    ring: Mutex<Ring>,
    /// The number of the next entry.
    tail: watch::Sender<u64>,
    demand: Mutex<Demand>,
    /// Wakes the reader once a stream needs more.
    pub changed: Notify,
    refusals: Mutex<Refusals>,
    /// Bytes of all batches, and those of the ring.
    pub resident: Arc<AtomicUsize>,
    ring_bytes: AtomicUsize,
    pub is_open: AtomicBool,
    pub opened: AtomicU64,
    pub updates: AtomicU64,
    losses: AtomicU64,
}

fn has(some: Kinds, of: Kinds) -> bool {
    (some.accounts && of.accounts)
        || (some.transactions && of.transactions)
        || (some.blocks_meta && of.blocks_meta)
}

impl Hub {
    /// Begins a stream with the next update.
    pub fn follow(self: &Arc<Self>, kinds: Kinds) -> Result<Follow, Status> {
        self.check(kinds)?;
        {
            let mut demand = lock(&self.demand);
            demand.streams += 1;
            demand.change(kinds, |count| *count += 1);
        }
        self.changed.notify_one();
        Ok(Follow {
            hub: Arc::clone(self),
            kinds,
            next: lock(&self.ring).tail(),
            news: self.tail.subscribe(),
        })
    }

    fn check(&self, kinds: Kinds) -> Result<(), Status> {
        let now = Instant::now();
        let refusals = lock(&self.refusals);
        if refusals.call.is_some_and(|until| now < until) {
            return Err(no_call());
        }
        match refusals.until {
            Some(until) if now < until && (refusals.all || has(refusals.kinds, kinds)) => {
                Err(no_filters())
            }
            _ => Ok(()),
        }
    }

    /// What the source is asked for now; `None` where no stream is open.
    pub fn wanted(&self) -> Option<Kinds> {
        let demand = lock(&self.demand);
        let refusals = lock(&self.refusals);
        let is_current = refusals.until.is_some_and(|until| Instant::now() < until);
        let allows = |kind: fn(&Kinds) -> bool| !(is_current && kind(&refusals.kinds));
        let kinds = Kinds {
            accounts: demand.accounts > 0 && allows(|kinds| kinds.accounts),
            transactions: demand.transactions > 0 && allows(|kinds| kinds.transactions),
            blocks_meta: demand.blocks_meta > 0 && allows(|kinds| kinds.blocks_meta),
        };
        (demand.streams > 0).then_some(kinds)
    }

    /// The source does not allow these kinds, which it was asked for last. Of several it is most
    /// likely the accounts, which cost it most.
    pub fn bar(&self, kinds: Kinds) {
        let mut refusals = lock(&self.refusals);
        let now = Instant::now();
        if refusals.until.is_some_and(|until| until <= now) {
            (refusals.kinds, refusals.all) = (Kinds::default(), false);
        }
        refusals.until = Some(now + BARRED);
        if kinds == Kinds::default() {
            refusals.all = true;
        } else if kinds.accounts {
            refusals.kinds.accounts = true;
        } else {
            refusals.kinds.transactions |= kinds.transactions;
            refusals.kinds.blocks_meta |= kinds.blocks_meta;
        }
    }

    /// The source does not have the call, and is not asked again before `pause` has passed.
    pub fn bar_call(&self, pause: Duration) {
        lock(&self.refusals).call = Some(Instant::now() + pause);
    }

    pub fn push(&self, batches: Vec<Batch>) {
        let mut count = 0;
        self.change(|ring| {
            for batch in batches {
                count += batch.items.len();
                ring.push(Entry::Batch(Arc::new(batch)));
            }
        });
        self.updates.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// All streams end with this, after what came before.
    pub fn end(&self, end: End) {
        if matches!(end, End::Interrupted(_) | End::Yielded(_)) {
            self.losses.fetch_add(1, Ordering::Relaxed);
        }
        self.change(|ring| ring.push(Entry::End(end)));
    }

    /// Nobody is left.
    pub fn clear(&self) {
        self.change(Ring::clear);
    }

    fn change(&self, change: impl FnOnce(&mut Ring)) {
        let mut ring = lock(&self.ring);
        change(&mut ring);
        self.ring_bytes.store(ring.byte_count(), Ordering::Relaxed);
        self.tail.send_replace(ring.tail());
    }

    /// Bytes that streams hold in memory beside the ring.
    pub fn held_bytes(&self) -> usize {
        let ring = self.ring_bytes.load(Ordering::Relaxed);
        self.resident.load(Ordering::Relaxed).saturating_sub(ring)
    }

    pub fn stats(&self) -> HubStats {
        let loaded = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HubStats {
            is_open: self.is_open.load(Ordering::Relaxed),
            opened: loaded(&self.opened),
            updates: loaded(&self.updates),
            losses: loaded(&self.losses),
        }
    }
}

/// The position of a stream in the queue. The source is read while there is one.
#[derive(Debug)]
pub struct Follow {
    hub: Arc<Hub>,
    kinds: Kinds,
    next: u64,
    news: watch::Receiver<u64>,
}

impl Follow {
    /// Its filters need other kinds from now on.
    pub fn need(&mut self, kinds: Kinds) -> Result<(), Status> {
        self.hub.check(kinds)?;
        {
            let mut demand = lock(&self.hub.demand);
            demand.change(kinds, |count| *count += 1);
            demand.change(self.kinds, |count| *count -= 1);
        }
        self.kinds = kinds;
        self.hub.changed.notify_one();
        Ok(())
    }

    /// The next batch; `None` before it has come.
    pub fn next(&mut self) -> Result<Option<Arc<Batch>>, Status> {
        let entry = lock(&self.hub.ring).get(self.next)?;
        match entry {
            // A source that could not be read may have refused what this stream needs.
            Some(Entry::End(End::Unreachable)) => {
                self.hub.check(self.kinds)?;
                Err(End::Unreachable.status())
            }
            Some(Entry::End(end)) => Err(end.status()),
            Some(Entry::Batch(batch)) => {
                self.next += 1;
                Ok(Some(batch))
            }
            None => Ok(None),
        }
    }

    /// Waits until there may be another one.
    pub async fn changed(&mut self) {
        let next = self.next;
        // Fails once the server has ended, which ends the stream, too.
        let _ = self.news.wait_for(|&tail| tail > next).await;
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let mut demand = lock(&self.hub.demand);
        demand.streams -= 1;
        demand.change(self.kinds, |count| *count -= 1);
    }
}
