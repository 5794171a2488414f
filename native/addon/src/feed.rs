//! The Yellowstone feed of an indexer.

use std::sync::Arc;

use ingest::geyser::{
    AccountsFilter, BlockSink, Event, FeedReader, FlatEvent, GeyserConfig, SubscriptionPlan,
    Transactions,
};
use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use store::Scope;
use sys::error::Result as Checked;

use crate::arguments::{count, integer, whole, wrong};
use crate::failure::{Result, guard};
use crate::indexer::Indexer;
use crate::tasks::THREADS_MAX;

/// Maximum events queued for the event loop. Events are hints; the store is authoritative.
const EVENTS_MAX: usize = 1024;

/// How to read a feed. The accounts to ask for are those of the store's scope.
#[napi(object)]
pub struct FeedOptions {
    pub endpoint: String,
    pub x_token: Option<String>,
    pub ca_certificate_pem: Option<String>,
    /// Where an empty store begins; absent is the live head.
    pub start_slot: Option<f64>,
    /// `auto`, `blocks`, `accounts`, `scoped` or `narrow`.
    pub plan: String,
    /// A value of `feed.transactions`.
    pub transactions: String,
    pub accept_zstd: bool,
    pub connect_timeout_ms: f64,
    pub block_silence_ms: f64,
    pub keepalive_interval_ms: f64,
    pub keepalive_timeout_ms: f64,
    pub backoff_initial_ms: f64,
    pub backoff_factor: f64,
    pub backoff_max_ms: f64,
    pub backoff_long_ms: f64,
    pub failures_max: f64,
    pub gap_attempts_max: f64,
    pub reorder_blocks_max: f64,
    pub buffer_bytes_max: f64,
    pub group_blocks_max: f64,
    pub group_bytes_max: f64,
    pub decode_bytes_max: f64,
    pub window_bytes: f64,
    pub stop_timeout_ms: f64,
    pub threads: f64,
}

/// One thing that happened on a feed; `kind` is `connected`, `footersRefused`, `server`,
/// `serverLosesUpdates`, `committed`, `disconnected`, `gap`, `unhealthy` or `healthy`. Members that
/// a kind has no use for are 0, empty or absent.
#[napi(object, object_from_js = false)]
pub struct FeedEvent {
    pub kind: String,
    pub text: String,
    /// `unhealthy` only: `unreachable`, `refused`, `stalled`, `gap` or `store`.
    pub cause: String,
    pub slot: Option<f64>,
    pub block_height: f64,
    pub accounts: f64,
    pub apply_micros: f64,
    pub feed_lag_ms: Option<f64>,
    pub buffered_bytes: f64,
    /// `connected` only: whether block footers are requested.
    pub has_footers: bool,
    /// `committed` only: whether the server named the block's bank.
    pub is_by_bank: bool,
    /// `committed` only: messages of abandoned banks since the block before.
    pub dropped: f64,
    pub retry_in_ms: f64,
}

impl FeedEvent {
    fn of(event: Event) -> FeedEvent {
        let flat = FlatEvent::from(event);
        FeedEvent {
            kind: flat.kind.into(),
            text: flat.text,
            cause: flat.cause.into(),
            slot: flat.slot.map(|slot| slot as f64),
            block_height: flat.block_height as f64,
            accounts: flat.accounts as f64,
            apply_micros: flat.apply_micros as f64,
            feed_lag_ms: flat.feed_lag_ms.map(|ms| ms as f64),
            buffered_bytes: flat.buffered_bytes as f64,
            has_footers: flat.has_footers,
            is_by_bank: flat.is_by_bank,
            dropped: flat.dropped as f64,
            retry_in_ms: flat.retry_in_ms as f64,
        }
    }
}

pub(crate) type OnEvent =
    ThreadsafeFunction<FeedEvent, (), FeedEvent, Status, false, false, EVENTS_MAX>;

pub(crate) fn to_config(options: FeedOptions, scope: &Scope) -> Checked<GeyserConfig> {
    let bytes = |number: f64, name: &str| count(number, name).map(|bytes| bytes as usize);
    let number = |number: f64, name: &str| whole(number, u32::MAX, name);
    Ok(GeyserConfig {
        endpoint: options.endpoint,
        x_token: options.x_token,
        ca_certificate_pem: options.ca_certificate_pem,
        accounts: AccountsFilter::from(scope),
        plan: SubscriptionPlan::of_name(&options.plan).ok_or_else(|| wrong("plan"))?,
        start_slot: options
            .start_slot
            .map(|slot| integer(slot, "startSlot"))
            .transpose()?,
        transactions: Transactions::of_name(&options.transactions)
            .ok_or_else(|| wrong("transactions"))?,
        accept_zstd: options.accept_zstd,
        connect_timeout_ms: count(options.connect_timeout_ms, "connectTimeoutMs")?,
        block_silence_ms: count(options.block_silence_ms, "blockSilenceMs")?,
        keepalive_interval_ms: count(options.keepalive_interval_ms, "keepaliveIntervalMs")?,
        keepalive_timeout_ms: count(options.keepalive_timeout_ms, "keepaliveTimeoutMs")?,
        backoff_initial_ms: count(options.backoff_initial_ms, "backoffInitialMs")?,
        backoff_factor: number(options.backoff_factor, "backoffFactor")?,
        backoff_max_ms: count(options.backoff_max_ms, "backoffMaxMs")?,
        backoff_long_ms: count(options.backoff_long_ms, "backoffLongMs")?,
        failures_max: number(options.failures_max, "failuresMax")?,
        gap_attempts_max: number(options.gap_attempts_max, "gapAttemptsMax")?,
        reorder_blocks_max: number(options.reorder_blocks_max, "reorderBlocksMax")? as usize,
        buffer_bytes_max: bytes(options.buffer_bytes_max, "bufferBytesMax")?,
        group_blocks_max: number(options.group_blocks_max, "groupBlocksMax")? as usize,
        group_bytes_max: bytes(options.group_bytes_max, "groupBytesMax")?,
        decode_bytes_max: bytes(options.decode_bytes_max, "decodeBytesMax")?,
        window_bytes: number(options.window_bytes, "windowBytes")?,
        stop_timeout_ms: count(options.stop_timeout_ms, "stopTimeoutMs")?,
        threads: whole(options.threads, THREADS_MAX, "threads")? as usize,
    })
}

/// Starts a feed that writes into a sink.
pub(crate) fn start<S: BlockSink>(
    config: GeyserConfig,
    sink: Arc<S>,
    on_event: OnEvent,
) -> Checked<FeedReader> {
    ingest::geyser::start(config, sink, move |event| {
        // Never blocks: the event loop may be in `stopFeed`, which waits for this thread.
        on_event.call(
            FeedEvent::of(event),
            ThreadsafeFunctionCallMode::NonBlocking,
        );
    })
}

#[napi]
impl Indexer {
    /// Begins to apply a feed's blocks to the store, on threads of its own.
    #[napi(ts_args_type = "options: FeedOptions, onEvent: (event: FeedEvent) => void")]
    pub fn start_feed(&mut self, options: FeedOptions, on_event: OnEvent) -> Result<()> {
        guard(|| {
            let store = Arc::clone(self.store()?);
            let config = to_config(options, &store.options().scope)?;
            self.feed = Some(start(config, store, on_event)?);
            Ok(())
        })
    }

    /// Ends the feed; the commit under way is finished first.
    #[napi]
    pub fn stop_feed(&mut self) -> Result<()> {
        guard(|| self.feed.take().map_or(Ok(()), |feed| feed.stop()))
    }
}
