//! One stream: takes requests, walks along the chain, and makes updates as its client reads them.
//! What the client does not read is not made: the kept feed is the queue of all streams.

mod passed;

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};
use tonic::{Status, Streaming};
use yellowstone_grpc_proto::geyser::SlotStatus;

use crate::calls::Event;
use crate::codec::Asked;
use crate::content::Block;
use crate::control::Control;
use crate::filter::{Commitment, Filters};
use crate::message::{Update, block_footer, block_meta, ping, pong, slot};
use crate::network::{Network, Position};
use crate::pace::Pace;
use crate::sending::Sending;
use crate::shared::Shared;
use crate::source::{Follow, Passing};
use crate::status::{internal, no_entries, no_transactions};
use crate::walk::{Step, Walk};

/// As Yellowstone.
const PING: Duration = Duration::from_secs(10);
/// Between two requests that set filters, and between two pings, of one stream.
const FILTERS_STEP: Duration = Duration::from_millis(100);
const PING_STEP: Duration = Duration::from_millis(10);
/// Updates between two looks for requests.
const UPDATES_AT_ONCE: u32 = 64;

/// What is still to be sent of a block.
enum Part {
    Content(Block),
    /// For filters with certificates, or for those without.
    Footer(Block, bool),
    Meta(Block),
    Slot(Block, SlotStatus),
}

pub struct Subscription {
    pub shared: Arc<Shared>,
    pub control: Arc<Control>,
    pub network: Arc<Network>,
    pub pace: Arc<Pace>,
    pub filters_max: usize,
    /// It is one of `SubscribeDeshred`.
    pub is_deshred: bool,
    state: State,
}

struct State {
    requests: Option<Streaming<Asked>>,
    /// The next request is not read before.
    requests_from: Instant,
    position: watch::Receiver<Position>,
    ping_at: Instant,
    filters: Filters,
    next_filters: Option<Filters>,
    pongs: VecDeque<i32>,
    walk: Option<Walk>,
    /// In its place, of what is passed through.
    follow: Option<Follow>,
    passing: Option<Passing>,
    parts: VecDeque<Part>,
    sending: Option<Sending>,
    turns: u32,
    is_over: bool,
}

impl Subscription {
    pub fn new(
        shared: Arc<Shared>,
        control: Arc<Control>,
        network: Arc<Network>,
        (filters_max, is_deshred): (usize, bool),
        requests: Streaming<Asked>,
    ) -> Subscription {
        let pace = shared.paces.of(&control.access);
        let state = State {
            requests: Some(requests),
            requests_from: Instant::now() + pace.take_request(0, std::time::Instant::now()),
            position: network.position(),
            ping_at: Instant::now() + PING,
            filters: Filters::default(),
            next_filters: None,
            pongs: VecDeque::new(),
            walk: None,
            follow: None,
            passing: None,
            parts: VecDeque::new(),
            sending: None,
            turns: 0,
            is_over: false,
        };
        Subscription {
            pace,
            shared,
            control,
            network,
            filters_max,
            is_deshred,
            state,
        }
    }

    /// The next update; the last one is an error, because a stream of the chain has no end.
    pub async fn next(&mut self) -> Option<Result<Update, Status>> {
        if self.state.is_over {
            return None;
        }
        self.control.set_active();
        let update = match self.produce().await {
            Ok(update) if self.is_deshred => self.send(update.into_deshred()).await,
            Ok(update) => self.send(update).await,
            Err(status) => Err(status),
        };
        self.state.is_over = update.is_err();
        self.control.set_active();
        Some(update)
    }

    /// Counts an update, and waits for the pace of the access.
    async fn send(&mut self, update: Update) -> Result<Update, Status> {
        let bytes = update.byte_count();
        let wait = self.pace.take_update(bytes, std::time::Instant::now());
        if !wait.is_zero() {
            self.control.set_waiting(wait);
            // Ended earlier where the stream has to end.
            let _ = timeout(wait, self.control.ending.notified()).await;
        }
        self.control.check()?;
        self.control.messages.fetch_add(1, Ordering::Relaxed);
        self.control
            .bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
        self.shared.counts.add(bytes);
        Ok(update)
    }

    async fn produce(&mut self) -> Result<Update, Status> {
        loop {
            self.control.check()?;
            self.state.turns += 1;
            if self.state.turns >= UPDATES_AT_ONCE {
                self.state.turns = 0;
                self.take_request().await?;
            }
            if let Some(id) = self.state.pongs.pop_front() {
                return Ok(pong(id));
            }
            if Instant::now() >= self.state.ping_at {
                self.state.ping_at = Instant::now() + PING;
                return Ok(ping());
            }
            if let Some(update) = self.next_of_content().or_else(|| self.next_of_batch()) {
                return Ok(update);
            }
            if let Some(part) = self.state.parts.pop_front() {
                if let Some(update) = self.begin(part).await? {
                    return Ok(update);
                }
                continue;
            }
            if let Some(filters) = self.state.next_filters.take() {
                self.apply(filters).await?;
                continue;
            }
            if self.state.follow.is_some() {
                self.begin_batch().await?;
                continue;
            }
            let step = match &mut self.state.walk {
                Some(walk) => walk.next(&self.network).await?,
                None => None,
            };
            match step {
                Some(step) => self.plan(step),
                None => self.wait().await?,
            }
        }
    }

    fn next_of_content(&mut self) -> Option<Update> {
        let State {
            filters, sending, ..
        } = &mut self.state;
        let update = sending.as_mut()?.next(filters);
        if update.is_none() {
            *sending = None;
            self.control.hold(0);
        }
        update
    }

    /// The parts of a block in their order: content, block meta, status, then what became final.
    fn plan(&mut self, Step { block, rooted }: Step) {
        let State { filters, parts, .. } = &mut self.state;
        let is_finalized = filters.commitment == Commitment::Finalized;
        let whole = |block: &Block| {
            let footers = [false, true].map(|is_whole| Part::Footer(block.clone(), is_whole));
            let [short, long] = footers;
            [
                Part::Content(block.clone()),
                short,
                long,
                Part::Meta(block.clone()),
            ]
        };
        if !is_finalized {
            parts.extend(whole(&block));
        }
        parts.push_back(Part::Slot(block, SlotStatus::SlotConfirmed));
        for root in rooted {
            if is_finalized {
                parts.extend(whole(&root));
            }
            parts.push_back(Part::Slot(root, SlotStatus::SlotFinalized));
        }
    }

    async fn begin(&mut self, part: Part) -> Result<Option<Update>, Status> {
        match part {
            Part::Content(block) => {
                if self.state.filters.has_content() {
                    self.begin_content(&block).await?;
                }
                Ok(None)
            }
            Part::Footer(block, has_certificates) => {
                let names = self.state.filters.footers(has_certificates);
                if names.is_empty() {
                    return Ok(None);
                }
                block.check_kept()?;
                Ok(block_footer(&names, &block, has_certificates))
            }
            Part::Meta(block) => {
                let names = &self.state.filters.blocks_meta;
                if names.is_empty() {
                    return Ok(None);
                }
                block.check_kept()?;
                Ok(Some(block_meta(names, &block)))
            }
            Part::Slot(block, status) => {
                let names = self.state.filters.slots(status);
                Ok((!names.is_empty()).then(|| slot(&names, &block, status)))
            }
        }
    }

    async fn begin_content(&mut self, block: &Block) -> Result<(), Status> {
        let generation = self.state.walk.map_or(0, |walk| walk.generation());
        let content = self.network.content(generation, block.tip.slot).await?;
        self.control.hold(content.slot);
        let filters = &self.state.filters;
        if content.lacks_transactions && filters.has_transactions() {
            return Err(no_transactions(content.slot));
        }
        if filters.has_entries() && block.lacks_entries(&content) {
            return Err(no_entries(content.slot));
        }
        self.state.sending = Some(Sending::of(filters, block, content).await);
        Ok(())
    }

    /// Uses filters from the next block on, or from the slot that they name; at PROCESSED from the
    /// next update on.
    async fn apply(&mut self, filters: Filters) -> Result<(), Status> {
        let state = &mut self.state;
        if filters.commitment == Commitment::Processed {
            let kinds = filters.kinds();
            state.walk = None;
            match &mut state.follow {
                Some(follow) => follow.need(kinds)?,
                none => *none = Some(self.network.hub(self.is_deshred)?.follow(kinds)?),
            }
        } else {
            state.follow = None;
            state.walk = match (filters.from_slot, state.walk) {
                (Some(from), _) => Some(Walk::from_slot(&self.network, from).await?),
                (None, Some(walk)) => Some(walk),
                (None, None) => Some(Walk::live(&self.network).await?),
            };
        }
        state.filters = filters;
        Ok(())
    }

    /// Takes requests that are there; the latest filters win.
    async fn take_request(&mut self) -> Result<(), Status> {
        while Instant::now() >= self.state.requests_from {
            let Some(requests) = &mut self.state.requests else {
                return Ok(());
            };
            match requests.next().now_or_never() {
                None => return Ok(()),
                Some(request) => self.handle(request).await?,
            }
        }
        Ok(())
    }

    async fn handle(&mut self, request: Option<Result<Asked, Status>>) -> Result<(), Status> {
        let Some(request) = request.transpose()? else {
            // A client that has no more to say still listens.
            self.state.requests = None;
            return Ok(());
        };
        if let Some(id) = request.ping() {
            self.state.requests_from = Instant::now() + PING_STEP;
            self.state.pongs.push_back(id);
            return Ok(());
        }
        let bytes = request.byte_count();
        let wait = self.pace.take_request(bytes, std::time::Instant::now());
        self.state.requests_from = Instant::now() + FILTERS_STEP.max(wait);
        let (served, filters_max) = (self.network.served(), self.filters_max);
        // Up to 100,000 addresses are decoded: streams of others have their turns meanwhile.
        let parse = spawn_blocking(move || request.parse(&served, filters_max));
        self.state.next_filters = Some(parse.await.map_err(|_| internal())??);
        Ok(())
    }

    /// Waits for a request, a block, the time of a ping, or the end.
    async fn wait(&mut self) -> Result<(), Status> {
        let state = &mut self.state;
        let until_ping = state.ping_at.saturating_duration_since(Instant::now());
        self.control.set_waiting(until_ping);
        let requests_from = state.requests_from;
        let next_request = async {
            match &mut state.requests {
                Some(requests) => {
                    sleep_until(requests_from).await;
                    requests.next().await
                }
                None => pending().await,
            }
        };
        let next_batch = async {
            match &mut state.follow {
                Some(follow) => follow.changed().await,
                None => pending().await,
            }
        };
        let request = tokio::select! {
            request = next_request => Some(request),
            () = next_batch => None,
            _ = state.position.changed(), if state.walk.is_some() => None,
            () = sleep_until(state.ping_at) => None,
            () = self.control.ending.notified() => None,
        };
        self.control.set_active();
        match request {
            Some(request) => self.handle(request).await,
            None => Ok(()),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.control.finish();
        self.shared.controls.remove(self.control.call);
        let event = Event::Ended {
            call: self.control.call,
            messages: self.control.messages.load(Ordering::Relaxed),
            bytes: self.control.bytes.load(Ordering::Relaxed),
        };
        self.shared.push_own(&self.control.access, event);
    }
}
