//! Runs subscriptions one after another until stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::applier::{Applier, ApplierHandle, BlockSink, OnEvent};
use super::config::GeyserConfig;
use super::event::{Event, Gap, GapKind};
use super::failure::Failure;
use super::footers::Footers;
use super::group::GroupBounds;
use super::health::Health;
use super::session::Session;
use sys::error::{Error, Result};

/// Interval at which `stop` checks whether the threads have ended.
const STOP_POLL_MS: u64 = 5;

/// A running reader. Drop signals the threads to stop and does not wait for them.
pub struct FeedReader {
    stop: watch::Sender<bool>,
    applier: Applier,
    thread: JoinHandle<()>,
    stop_timeout: Duration,
}

/// Starts reading the feed into `sink` on new threads. Two of them call `on_event`, never at the
/// same time for the same block. `on_event` must return quickly because the writer waits for it.
pub fn start<S: BlockSink>(
    config: GeyserConfig,
    sink: Arc<S>,
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> Result<FeedReader> {
    config.check()?;
    // A panic in the listener must not end the reader or the writer.
    let on_event: OnEvent = Arc::new(move |event| {
        let _ = catch_unwind(AssertUnwindSafe(|| on_event(event)));
    });
    let bounds = GroupBounds {
        blocks_max: config.group_blocks_max,
        bytes_max: config.group_bytes_max,
    };
    let applier = Applier::start(sink, config.buffer_bytes_max, bounds, Arc::clone(&on_event))?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(config.threads)
        .thread_name("slotline-geyser")
        .enable_all()
        .build()?;
    let (stop, stopped) = watch::channel(false);
    let stop_timeout = Duration::from_millis(config.stop_timeout_ms);
    let supervisor = Supervisor {
        health: Health::new(&config),
        footers: Footers::default(),
        applier: applier.handle(),
        config,
        on_event,
        committed: 0,
        last_block: Instant::now(),
    };
    let thread = std::thread::Builder::new()
        .name("slotline-feed".into())
        .spawn(move || run(runtime, supervisor, stopped))?;
    Ok(FeedReader {
        stop,
        applier,
        thread,
        stop_timeout,
    })
}

impl FeedReader {
    /// Ends the subscription, finishes the current commit and drops the queued blocks, which a
    /// later replay delivers again. Fails when the writer does not finish within `stop_timeout_ms`.
    pub fn stop(mut self) -> Result<()> {
        self.signal();
        let start = Instant::now();
        while !(self.applier.is_finished() && self.thread.is_finished()) {
            if start.elapsed() >= self.stop_timeout {
                return Err(Error::Internal(format!(
                    "the feed's writer was not done after {} ms (stopTimeoutMs)",
                    self.stop_timeout.as_millis()
                )));
            }
            std::thread::sleep(Duration::from_millis(STOP_POLL_MS));
        }
        self.applier.join();
        Ok(())
    }

    fn signal(&self) {
        self.stop.send_replace(true);
        self.applier.stop();
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        self.signal();
    }
}

fn run(runtime: Runtime, mut supervisor: Supervisor, mut stopped: watch::Receiver<bool>) {
    runtime.block_on(async {
        tokio::select! {
            // Fails only when the reader was dropped, which also means stop.
            _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
            () = supervisor.supervise() => {}
        }
    });
    // A DNS lookup may block a runtime thread. Do not wait for it.
    runtime.shutdown_background();
}

struct Supervisor {
    config: GeyserConfig,
    applier: ApplierHandle,
    health: Health,
    footers: Footers,
    on_event: OnEvent,
    /// Committed blocks already reported to `health`.
    committed: u64,
    /// When the last of them was seen, or when the reader started.
    last_block: Instant,
}

impl Supervisor {
    /// Never returns. The caller drops the future at an await point.
    async fn supervise(&mut self) {
        let mut failure = None;
        loop {
            // Resume only from a settled tip, and wait until a full queue is empty.
            let apply_error = self.applier.settle().await;
            self.note_progress();
            let tip = self.applier.progress().tip;
            let tip_slot = tip.map(|(slot, _)| slot);
            if let Some(failure) = apply_error.map(from_apply_error).or(failure.take()) {
                let silent_ms = self.last_block.elapsed().as_millis();
                let silent_ms = u64::try_from(silent_ms).unwrap_or(u64::MAX);
                let (events, retry_in_ms) = (self.health).on_failure(&failure, tip_slot, silent_ms);
                events.into_iter().for_each(|event| (self.on_event)(event));
                tokio::time::sleep(Duration::from_millis(retry_in_ms)).await;
            }
            let from_slot = self.health.resume_slot(tip_slot);
            let has_footers = self.footers.are_asked(Instant::now());
            failure = AssertUnwindSafe(self.subscribe_once(tip, from_slot, has_footers))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err(Failure::Stuck("reading the feed panicked".to_string())))
                .err();
            if self.footers.on_end(has_footers, failure.as_ref()) {
                let text = failure.take().map(|failure| failure.text());
                (self.on_event)(Event::FootersRefused(text.unwrap_or_default()));
            }
        }
    }

    async fn subscribe_once(
        &mut self,
        tip: Option<(u64, [u8; 32])>,
        from_slot: Option<u64>,
        has_footers: bool,
    ) -> std::result::Result<(), Failure> {
        let config = self.config.clone();
        let applier = self.applier.clone();
        let opened = Session::open(&config, &applier, tip, from_slot, has_footers).await?;
        let (session, stream, query) = opened;
        (self.on_event)(Event::Connected {
            from_slot,
            has_footers,
        });
        let on_event = Arc::clone(&self.on_event);
        // Beside the stream, which does not wait for it.
        tokio::spawn(async move {
            if let Some(version) = query.ask().await {
                on_event(Event::Server(version));
            }
        });
        let outcome = session.run(stream, || self.note_progress()).await;
        applier.set_slots_bytes(0);
        outcome
    }

    fn note_progress(&mut self) {
        let committed = self.applier.progress().committed;
        if committed > self.committed {
            self.committed = committed;
            self.last_block = Instant::now();
            self.footers.on_committed(self.last_block);
            if let Some(event) = self.health.on_committed() {
                (self.on_event)(event);
            }
        }
    }
}

/// Converts a store error. The assembler already links blocks to the tip, so a chain error means
/// that another process wrote to the store.
fn from_apply_error(error: Error) -> Failure {
    match error {
        Error::NotNextBlock(found) => Failure::Gap(Gap {
            tip_slot: found.tip_slot,
            slot: found.slot,
            parent_slot: found.parent_slot,
            kind: if found.parent_slot > found.tip_slot {
                GapKind::Missing
            } else {
                GapKind::OtherParent
            },
        }),
        Error::DiskReserve(free_bytes) => Failure::Store(format!(
            "the store stopped at its disk reserve (store.diskReserveBytes), {free_bytes} bytes are \
             free"
        )),
        Error::StoreStopped(text) => Failure::Store(format!("the store {text}")),
        other => Failure::Store(format!("the store refused a block: {other}")),
    }
}
