//! A lane: a connection that is kept, and streams on it.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use sys::backoff::Backoff;
use sys::error::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::client;
use crate::options::Options;
use crate::reason::of_connection;
use crate::stream::{End, Sent, greet, send_answered, send_one_way};

/// A connection that lasted for so long was a good one: the next attempt follows soon.
const LASTING: Duration = Duration::from_secs(10);

/// Longest wait for the peer to learn that a lane has ended.
const CLOSE_WAIT: Duration = Duration::from_millis(200);

/// One thread serves all lanes: a transaction takes it some 50 µs.
static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();

fn runtime() -> Result<&'static Runtime> {
    let made = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("lanes")
            .enable_all()
            .build()
            .map_err(|error| error.to_string())
    });
    made.as_ref()
        .map_err(|error| Error::Internal(error.clone()))
}

/// What is known of a lane at an instant.
#[derive(Clone, Default)]
pub struct State {
    /// Counts the changes.
    pub version: u64,
    pub is_connected: bool,
    pub is_closed: bool,
    /// Connections that were opened, and attempts that failed.
    pub connects: u64,
    pub failures: u64,
    /// Why the last connection or attempt ended; may contain what the peer said.
    pub reason: String,
}

#[derive(Clone, Default)]
struct Current {
    state: State,
    connection: Option<Connection>,
}

/// A way to one peer, open before it is needed. It reconnects in the background.
pub struct Lane {
    options: Arc<Options>,
    current: Arc<watch::Sender<Current>>,
    streams: Arc<Semaphore>,
}

impl Lane {
    /// Begins to connect.
    pub fn open(options: Options) -> Result<Lane> {
        let config = client::config(&options)?;
        let lane = Lane {
            streams: Arc::new(Semaphore::new(options.streams_max)),
            options: Arc::new(options),
            current: Arc::new(watch::Sender::new(Current::default())),
        };
        let (options, current) = (Arc::clone(&lane.options), Arc::clone(&lane.current));
        runtime()?.spawn(keep(options, config, current));
        Ok(lane)
    }

    /// Sends bytes at most once, on a stream of their own. `done` is called once, on a thread of
    /// the lanes or before this returns; the bytes may still be under way then.
    pub fn send(&self, bytes: Vec<u8>, done: impl FnOnce(Sent) + Send + 'static) -> Result<()> {
        let began = Instant::now();
        let runtime = runtime()?;
        let Some(connection) = self.current.borrow().connection.clone() else {
            done(Sent::unsent(End::Unreachable, "not connected"));
            return Ok(());
        };
        let Ok(permit) = Arc::clone(&self.streams).try_acquire_owned() else {
            done(Sent::unsent(End::Full, "too many in flight"));
            return Ok(());
        };
        let options = Arc::clone(&self.options);
        runtime.spawn(async move {
            if options.is_answered {
                send_answered(connection, bytes, &options, began, done).await;
            } else {
                send_one_way(connection, bytes, &options, began, done).await;
            }
            drop(permit);
        });
        Ok(())
    }

    /// Streams in flight.
    pub fn in_flight(&self) -> usize {
        self.options.streams_max - self.streams.available_permits()
    }

    pub fn state(&self) -> State {
        self.current.borrow().state.clone()
    }

    /// Calls `done` once, with a state after this version; of a lane that is closed at once.
    pub fn after(&self, version: u64, done: impl FnOnce(State) + Send + 'static) -> Result<()> {
        let mut changes = self.current.subscribe();
        runtime()?.spawn(async move {
            let is_news =
                |current: &Current| current.state.version > version || current.state.is_closed;
            let state = match changes.wait_for(is_news).await {
                Ok(current) => current.state.clone(),
                Err(_) => State {
                    is_closed: true,
                    ..State::default()
                },
            };
            done(state);
        });
        Ok(())
    }

    /// Ends the connection, and what is in flight on it.
    pub fn close(&self) {
        change(&self.current, |current| {
            current.connection = None;
            current.state.is_connected = false;
            current.state.is_closed = true;
        });
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.close();
    }
}

fn change(current: &watch::Sender<Current>, change: impl FnOnce(&mut Current)) {
    current.send_modify(|current| {
        change(current);
        current.state.version += 1;
    });
}

/// Resolves when the lane is closed.
async fn closed(current: &watch::Sender<Current>) {
    let mut changes = current.subscribe();
    // The sender is borrowed, so it is not dropped.
    let _ = changes.wait_for(|current| current.state.is_closed).await;
}

/// Connects, and does so again whenever the connection has ended, until the lane is closed.
async fn keep(options: Arc<Options>, config: ClientConfig, current: Arc<watch::Sender<Current>>) {
    let mut backoff = Backoff::new(options.pause_min, options.pause_max);
    loop {
        let opening = timeout(options.connect_wait, connect(&options, &config));
        let opened = tokio::select! {
            opened = opening => opened.unwrap_or_else(|_| Err("no connection in time".into())),
            () = closed(&current) => return,
        };
        let reason = match opened {
            Ok((endpoint, connection)) => {
                let since = Instant::now();
                change(&current, |current| {
                    current.connection = Some(connection.clone());
                    current.state.is_connected = true;
                    current.state.connects += 1;
                });
                let reason = tokio::select! {
                    error = connection.closed() => of_connection(&error),
                    () = closed(&current) => return leave(&endpoint, &connection).await,
                };
                if since.elapsed() >= LASTING {
                    backoff.reset();
                }
                reason
            }
            Err(reason) => {
                current.send_modify(|current| current.state.failures += 1);
                reason
            }
        };
        change(&current, |current| {
            current.connection = None;
            current.state.is_connected = false;
            current.state.reason = reason;
        });
        tokio::select! {
            () = sleep(backoff.pause()) => {}
            () = closed(&current) => return,
        }
    }
}

/// Ends a connection, and has the peer know.
async fn leave(endpoint: &Endpoint, connection: &Connection) {
    connection.close(VarInt::from_u32(0), b"client_closed");
    let _ = timeout(CLOSE_WAIT, endpoint.wait_idle()).await;
}

/// Opens a connection from a socket of its own: the address of the peer may be of another family
/// than before.
async fn connect(
    options: &Options,
    config: &ClientConfig,
) -> std::result::Result<(Endpoint, Connection), String> {
    let resolved = tokio::net::lookup_host((options.host.as_str(), options.port)).await;
    let mut addresses = resolved.map_err(|_| "the name has no address".to_string())?;
    let address = addresses.next().ok_or("the name has no address")?;
    let any: SocketAddr = if address.is_ipv6() {
        ([0u16; 8], 0).into()
    } else {
        ([0u8; 4], 0).into()
    };
    let endpoint = Endpoint::client(any).map_err(|error| format!("no socket: {}", error.kind()))?;
    let connecting = endpoint
        .connect_with(config.clone(), address, &options.server_name)
        .map_err(|_| "the address cannot be used".to_string())?;
    let connection = connecting.await.map_err(|error| of_connection(&error))?;
    if let Some(greeting) = &options.greeting
        && let Err(reason) = greet(&connection, greeting).await
    {
        // A peer that has closed has said why.
        let closed = connection.close_reason();
        leave(&endpoint, &connection).await;
        return Err(closed.map_or(reason, |error| of_connection(&error)));
    }
    Ok((endpoint, connection))
}
