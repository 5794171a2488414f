//! One subscription, from connect to end.

use std::time::{Duration, Instant};

use futures::channel::mpsc;
use futures::{FutureExt, StreamExt};
use tokio::time::{MissedTickBehavior, interval};
use tonic::Status;
use yellowstone_grpc_proto::geyser::{SubscribeRequest, SubscribeUpdate};

use super::applier::{ApplierHandle, QueueFull};
use super::block_assembler::{BlockAssembler, BufferLimits};
use super::client::{Subscription, Updates, VersionQuery, subscribe};
use super::config::GeyserConfig;
use super::failure::Failure;
use super::request::{ping_request, subscribe_request};
use super::translate::{Message, Taken, translate};
use super::update::{Content, Ready, Update};

/// Maximum messages to read in one batch before timers and the writer are checked again.
const BATCH_MESSAGES_MAX: usize = 256;

/// One subscription's state.
pub struct Session<'a> {
    config: &'a GeyserConfig,
    applier: &'a ApplierHandle,
    slots: BlockAssembler,
    taken: Taken,
    ready: Vec<Ready>,
    requests: mpsc::Sender<SubscribeRequest>,
    pings: i32,
    last_message: Instant,
    last_block: Instant,
}

impl<'a> Session<'a> {
    /// Connects and subscribes. `tip` must be the applier's settled tip.
    pub async fn open(
        config: &'a GeyserConfig,
        applier: &'a ApplierHandle,
        tip: Option<(u64, [u8; 32])>,
        from_slot: Option<u64>,
        has_footers: bool,
    ) -> Result<(Session<'a>, Updates, VersionQuery), Failure> {
        let limits = BufferLimits {
            buffer_bytes_max: config.buffer_bytes_max,
            reorder_blocks_max: config.reorder_blocks_max,
        };
        let request = subscribe_request(config, from_slot, has_footers);
        let (subscription, query) = subscribe(config, request).await?;
        let Subscription { requests, updates } = subscription;
        let now = Instant::now();
        let session = Session {
            config,
            applier,
            slots: BlockAssembler::new(tip, from_slot.is_some(), limits),
            taken: Taken::of(config),
            ready: Vec::new(),
            requests,
            pings: 0,
            last_message: now,
            last_block: now,
        };
        Ok((session, updates, query))
    }

    /// Reads until the stream ends or a limit ends it. `Ok` means that the applier failed and
    /// stores the error. `on_news` is called on each applier notification.
    pub async fn run(
        mut self,
        mut stream: Updates,
        mut on_news: impl FnMut(),
    ) -> Result<(), Failure> {
        let tick_ms = (self.config.block_silence_ms / 8).max(1);
        let mut clock = interval(Duration::from_millis(tick_ms));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.applier.news() => {
                    on_news();
                    if self.applier.progress().has_failed {
                        return Ok(());
                    }
                }
                _ = clock.tick() => self.check_clock()?,
                message = stream.next() => {
                    let read = self.take(message).and_then(|()| self.take_batch(&mut stream));
                    self.offer_ready()?;
                    read?;
                }
            }
        }
    }

    /// Reads messages that are already available. Polling the timers for each message would cost
    /// more than the message.
    fn take_batch(&mut self, stream: &mut Updates) -> Result<(), Failure> {
        for _ in 0..BATCH_MESSAGES_MAX {
            match stream.next().now_or_never() {
                Some(message) => self.take(message)?,
                None => break,
            }
        }
        self.last_message = Instant::now();
        self.applier.set_slots_bytes(self.slots.buffered_bytes());
        Ok(())
    }

    fn take(&mut self, message: Option<Result<SubscribeUpdate, Status>>) -> Result<(), Failure> {
        let update = match message {
            Some(Ok(update)) => update,
            Some(Err(status)) => return Err(Failure::from_status(self.config, &status)),
            None => return Err(Failure::Passing("the feed closed the stream".to_string())),
        };
        match translate(update, self.taken).map_err(Failure::from_fault)? {
            Message::Update(update) => self.push(update),
            Message::Updates(updates) => {
                updates.into_iter().try_for_each(|update| self.push(update))
            }
            Message::Ping => {
                self.answer_ping();
                Ok(())
            }
            Message::Other => Ok(()),
        }
    }

    /// Where CONFIRMED and FINALIZED of a block arrive together, the block waits for the second
    /// one, so that it is final when it is written. It waits for no data, which would need memory.
    fn push(&mut self, update: Update) -> Result<(), Failure> {
        if !matches!(update.content, Content::Status(_)) {
            self.offer_ready()?;
        }
        let pushed = self.slots.push(update, &mut self.ready);
        pushed.map_err(Failure::from_fault)
    }

    /// Gives the complete blocks to the writer, with the newest root that is known now.
    fn offer_ready(&mut self) -> Result<(), Failure> {
        for mut ready in self.ready.drain(..) {
            self.last_block = Instant::now();
            ready.block.root = self.slots.root();
            ready.block.has_details = self.taken.transactions;
            if let Err(QueueFull(queue_bytes_max)) = self.applier.offer(ready) {
                return Err(Failure::Passing(format!(
                    "the feed is faster than the index: over {queue_bytes_max} bytes of blocks \
                     wait for the writer (bufferBytesMax)"
                )));
            }
        }
        Ok(())
    }

    /// Middleboxes close connections without outgoing traffic. A full request channel already has
    /// outgoing traffic, so a failed send is ignored.
    fn answer_ping(&mut self) {
        self.pings = self.pings.wrapping_add(1);
        let _ = self.requests.try_send(ping_request(self.pings));
    }

    fn check_clock(&self) -> Result<(), Failure> {
        let silence_ms = self.config.block_silence_ms;
        let silence = Duration::from_millis(silence_ms);
        if self.last_block.elapsed() < silence {
            return Ok(());
        }
        Err(Failure::Stuck(if self.last_message.elapsed() < silence {
            format!(
                "the stream is alive, but brought no block for {silence_ms} ms (blockSilenceMs)"
            )
        } else {
            format!("no message for {silence_ms} ms (blockSilenceMs)")
        }))
    }
}
