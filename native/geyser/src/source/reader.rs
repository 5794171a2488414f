//! Reads the source while a stream needs it: one stream of a call, whoever needs what.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt};
use ingest::geyser::{
    AccountsFilter, GeyserConfig, Kinds, Refused, Subscription, Transactions, classify, open_stream,
};
use sys::backoff::Backoff;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tonic::Status;

use super::batch::{Batches, Malformed};
use super::call::{Call, Taken};
use super::hub::Hub;
use super::ring::End;
use crate::filter::Served;

/// How long a stream of the source stays open without a need, at least: clients that come and go
/// open and close none.
const LINGER: Duration = Duration::from_secs(10);
/// How often the clock is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A stream that lasted for so long was a good one: the next attempt follows soon.
const LASTING: Duration = Duration::from_secs(10);
/// Messages that are read before what they bring is passed on.
const MESSAGES_AT_ONCE: usize = 256;

/// Where a call is read from, and who is interested.
pub struct Source {
    /// Its servers, in their order.
    pub servers: Vec<GeyserConfig>,
    /// What the index of the network has, and the slot of its tip; 0 before the first block.
    pub served: Box<dyn Fn() -> Served + Send + Sync>,
    pub tip: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Of the log: no token, and of endpoints no path.
    pub report: Box<dyn Fn(String) + Send + Sync>,
}

/// Reads as long as the server lives.
pub async fn run<C: Call>(hub: Arc<Hub>, source: Source) {
    let Some(first) = source.servers.first() else {
        return;
    };
    let [min, max, long] = [
        first.backoff_initial_ms,
        first.backoff_max_ms,
        first.backoff_long_ms,
    ]
    .map(Duration::from_millis);
    let mut backoff = Backoff::new(min, max);
    let mut at = 0;
    loop {
        while hub.wanted().is_none() {
            hub.changed.notified().await;
        }
        let began = Instant::now();
        let serving = AssertUnwindSafe(serve::<C>(&hub, &source, &mut at)).catch_unwind();
        let end = serving.await.unwrap_or(Some(End::Interrupted(0)));
        hub.is_open.store(false, Ordering::Relaxed);
        let Some(end) = end else {
            continue;
        };
        if began.elapsed() >= LASTING {
            backoff.reset();
        } else {
            at = (at + 1) % source.servers.len();
        }
        let pause = match end {
            End::NoCall | End::Yielded(_) => long,
            _ => backoff.pause(),
        };
        if end == End::NoCall {
            hub.bar_call(pause);
        }
        hub.end(end);
        sleep(pause).await;
    }
}

/// A server's configuration with what the index takes.
fn scoped(server: &GeyserConfig, served: &Served) -> GeyserConfig {
    let transactions = match served.kept.has_votes() {
        true => Transactions::FullAndVotes,
        false => Transactions::Full,
    };
    GeyserConfig {
        accounts: AccountsFilter::from(&served.scope),
        transactions,
        ..server.clone()
    }
}

/// Opens a stream at the first server that has one, and reads it; `None` where nobody needs it any
/// more.
async fn serve<C: Call>(hub: &Arc<Hub>, source: &Source, at: &mut usize) -> Option<End> {
    let served = (source.served)();
    let count = source.servers.len();
    let mut has_call = false;
    for step in 0..count {
        let index = (*at + step) % count;
        let kinds = hub.wanted()?;
        let config = scoped(source.servers.get(index)?, &served);
        match open_stream(&config, C::PATH, C::request(&config, kinds)).await {
            Ok(stream) => {
                *at = index;
                hub.opened.fetch_add(1, Ordering::Relaxed);
                hub.is_open.store(true, Ordering::Relaxed);
                return Reader::<C>::new(hub, source, &config, kinds)
                    .read(stream)
                    .await;
            }
            Err((refused, text)) => {
                (source.report)(text);
                has_call |= refused != Refused::Call;
                if refused == Refused::Filters {
                    hub.bar(kinds);
                }
            }
        }
    }
    Some(if has_call {
        End::Unreachable
    } else {
        End::NoCall
    })
}

/// Why a reader stops.
enum Stop {
    Idle,
    /// The index gains nothing: where the source allows few streams, this one may be in its way.
    Yielded,
    Failed(Refused, String),
}

impl From<Malformed> for Stop {
    fn from(Malformed(what): Malformed) -> Stop {
        Stop::Failed(
            Refused::Other,
            format!("the source sent {what} that is malformed"),
        )
    }
}

struct Reader<'r, C> {
    hub: &'r Arc<Hub>,
    source: &'r Source,
    config: &'r GeyserConfig,
    asked: Kinds,
    /// What the last request has added.
    fresh: Kinds,
    batches: Batches,
    pings: i32,
    last: Instant,
    /// The tip of the index, and when it was seen first.
    tip: (u64, Instant),
    /// When it was last seen whether less is needed.
    shrunk: Instant,
    was_idle: bool,
    call: std::marker::PhantomData<C>,
}

type Open<C> = Subscription<<C as Call>::Request, <C as Call>::Update>;

impl<'r, C: Call> Reader<'r, C> {
    fn new(
        hub: &'r Arc<Hub>,
        source: &'r Source,
        config: &'r GeyserConfig,
        asked: Kinds,
    ) -> Reader<'r, C> {
        Reader {
            hub,
            source,
            tip: ((source.tip)(), Instant::now()),
            config,
            asked,
            fresh: asked,
            batches: Batches::new(&hub.resident),
            pings: 0,
            last: Instant::now(),
            shrunk: Instant::now(),
            was_idle: false,
            call: std::marker::PhantomData,
        }
    }

    /// Reads to the end, and answers why streams end; `None` where none is left.
    async fn read(mut self, mut stream: Open<C>) -> Option<End> {
        let stop = self.read_on(&mut stream).await;
        // What came before the end is passed on.
        self.hub.push(self.batches.take());
        let (refused, text) = match stop {
            Stop::Failed(refused, text) => (refused, text),
            Stop::Yielded => {
                let text = "a stream was closed: the index gains no blocks, and needs the source";
                (self.source.report)(text.to_string());
                return Some(End::Yielded(self.batches.slot));
            }
            Stop::Idle => {
                self.hub.clear();
                return None;
            }
        };
        (self.source.report)(text);
        if refused == Refused::Filters {
            self.hub.bar(self.fresh);
        }
        Some(match (self.batches.slot, refused) {
            (0, Refused::Call) => End::NoCall,
            (0, _) => End::Unreachable,
            (slot, _) => End::Interrupted(slot),
        })
    }

    async fn read_on(&mut self, stream: &mut Open<C>) -> Stop {
        let mut clock = interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let hub = self.hub;
        loop {
            let done = tokio::select! {
                message = stream.updates.next() => self.take_all(message, stream),
                () = hub.changed.notified() => self.ask(stream, false),
                _ = clock.tick() => self.look(stream),
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    /// A message, and those that are behind it.
    fn take_all(
        &mut self,
        message: Option<Result<C::Update, Status>>,
        stream: &mut Open<C>,
    ) -> Result<(), Stop> {
        self.take(message, stream)?;
        for _ in 1..MESSAGES_AT_ONCE {
            match stream.updates.next().now_or_never() {
                Some(message) => self.take(message, stream)?,
                None => break,
            }
        }
        self.last = Instant::now();
        self.hub.push(self.batches.take());
        Ok(())
    }

    fn look(&mut self, stream: &mut Open<C>) -> Result<(), Stop> {
        self.check_silence()?;
        self.check_index()?;
        if self.shrunk.elapsed() < LINGER {
            return Ok(());
        }
        self.shrunk = Instant::now();
        self.ask(stream, true)
    }

    fn take(
        &mut self,
        message: Option<Result<C::Update, Status>>,
        stream: &mut Open<C>,
    ) -> Result<(), Stop> {
        let update = match message {
            Some(Ok(update)) => update,
            Some(Err(status)) => {
                let (refused, text) = classify(self.config, &status);
                return Err(Stop::Failed(refused, text));
            }
            None => {
                let text = "the source closed the stream".to_string();
                return Err(Stop::Failed(Refused::Other, text));
            }
        };
        if C::take(update, &mut self.batches)? == Taken::Ping {
            self.pings = self.pings.wrapping_add(1);
            // A full channel has outgoing traffic already.
            let _ = stream.requests.try_send(C::ping(self.pings));
        }
        Ok(())
    }

    /// Asks for what streams need more at once, and for less at the end of a while.
    fn ask(&mut self, stream: &mut Open<C>, may_shrink: bool) -> Result<(), Stop> {
        let wanted = match (self.hub.wanted(), may_shrink) {
            (Some(wanted), _) => wanted,
            (None, false) => return Ok(()),
            (None, true) if self.was_idle => return Err(Stop::Idle),
            (None, true) => {
                self.was_idle = true;
                return Ok(());
            }
        };
        self.was_idle = false;
        let asked = match may_shrink {
            true => wanted,
            false => Kinds {
                accounts: self.asked.accounts || wanted.accounts,
                transactions: self.asked.transactions || wanted.transactions,
                blocks_meta: self.asked.blocks_meta || wanted.blocks_meta,
            },
        };
        if asked == self.asked {
            return Ok(());
        }
        self.fresh = Kinds {
            accounts: asked.accounts && !self.asked.accounts,
            transactions: asked.transactions && !self.asked.transactions,
            blocks_meta: asked.blocks_meta && !self.asked.blocks_meta,
        };
        self.asked = asked;
        let request = C::request(self.config, asked);
        stream.requests.try_send(request).map_err(|_| {
            let text = "the source takes no requests".to_string();
            Stop::Failed(Refused::Other, text)
        })
    }

    fn check_index(&mut self) -> Result<(), Stop> {
        let tip = (self.source.tip)();
        if tip != self.tip.0 {
            self.tip = (tip, Instant::now());
        }
        let silence = Duration::from_millis(self.config.block_silence_ms);
        match tip != 0 && self.tip.1.elapsed() >= silence {
            true => Err(Stop::Yielded),
            false => Ok(()),
        }
    }

    fn check_silence(&self) -> Result<(), Stop> {
        let silence_ms = self.config.block_silence_ms;
        if self.last.elapsed() < Duration::from_millis(silence_ms) {
            return Ok(());
        }
        let text = format!("the source sent nothing for {silence_ms} ms (blockSilenceMs)");
        Err(Stop::Failed(Refused::Other, text))
    }
}
