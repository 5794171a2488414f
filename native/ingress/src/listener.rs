//! A listener of one edge: its endpoint, on a thread of its own, and what the event loop may do.

use std::net::UdpSocket;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use quinn::{Endpoint, Runtime, TokioRuntime};
use sys::error::{Error, Result};
use sys::shares::owner_of;
use sys::turns::Waiter;
use tokio::runtime::{Builder, Handle};
use tokio::time::{sleep, timeout};

use crate::close::Close;
use crate::connection;
use crate::connection_ids::endpoint_config;
use crate::dialect::Dialect;
use crate::event::Event;
use crate::shared::{Shared, Verdict, count, lock};
use crate::socket::Unbuffered;
use crate::tls::{Pem, server_config};

/// From so many on a client has to prove its address first, so that invented ones take no room.
const HANDSHAKES_UNPROVEN: usize = 32;

/// How often a drain looks whether connections are left.
const DRAIN_STEP: Duration = Duration::from_millis(10);
/// Time for the last packets of an endpoint that ends.
const END: Duration = Duration::from_millis(500);

pub struct Options {
    /// A bound UDP socket, of which a copy is used.
    pub descriptor: RawFd,
    /// Of this edge, among those of the machine.
    pub slot: u8,
    /// The same for all edges of the machine.
    pub reset_key: Vec<u8>,
    /// Absent: a self-signed certificate is made.
    pub pem: Option<Pem>,
    pub dialect: Dialect,
}

/// A listener in numbers.
pub struct Stats {
    pub connections: usize,
    pub handshakes: usize,
    pub streams: usize,
    pub stream_bytes: usize,
    /// Clients that were told to come back, because too many connect.
    pub handshakes_refused: u64,
    /// Streams for which there was no room.
    pub streams_refused: u64,
    /// Streams that were too long, or were not written in time.
    pub streams_reset: u64,
}

/// An open listener. It ends when it is dropped.
pub struct Listener {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    runtime: Handle,
}

impl Listener {
    /// Begins to listen, on a thread of its own.
    pub fn open(options: Options) -> Result<Listener> {
        let shared = Arc::new(Shared::new(options.dialect));
        let own = Arc::clone(&shared);
        let (sender, opened) = mpsc::channel();
        thread::Builder::new().name("quic".into()).spawn(move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(sender.send(Err(Error::from(error)))),
            };
            runtime.block_on(async move {
                match open_endpoint(&options) {
                    Ok(endpoint) => {
                        let _ = sender.send(Ok((endpoint.clone(), Handle::current())));
                        accept(own, endpoint).await;
                    }
                    Err(error) => drop(sender.send(Err(error))),
                }
            });
        })?;
        let ended = |_| Error::Internal("the thread of the listener has ended".into());
        let (endpoint, runtime) = opened.recv().map_err(ended)??;
        Ok(Listener {
            shared,
            endpoint,
            runtime,
        })
    }

    /// The next events, for one waiter at a time.
    pub fn receive(&self, waiter: Waiter<Event>) {
        self.shared.queue.receive(waiter);
    }

    /// Admits a connection of an access. False where it has ended, or is one too many, and closed.
    pub fn admit(&self, connection: u32, access: &str) -> bool {
        let owner: Arc<str> = access.into();
        let Some(connections) = self.shared.by_access.take(Arc::clone(&owner)) else {
            self.refuse(connection, Close::ConnectionLimit);
            return false;
        };
        self.decide(connection, Verdict::Admitted { owner, connections })
    }

    /// Closes a connection that waits, a little later: its client connects again at once.
    pub fn refuse(&self, connection: u32, close: Close) {
        self.decide(connection, Verdict::Refused(close));
    }

    fn decide(&self, connection: u32, verdict: Verdict) -> bool {
        let mut connections = lock(&self.shared.connections);
        let waiting = connections.get_mut(&connection);
        let Some(sender) = waiting.and_then(|opened| opened.verdict.take()) else {
            return false;
        };
        drop(connections);
        sender.send(verdict).is_ok()
    }

    /// Closes a connection. After it has returned, no answer leaves on it.
    pub fn close(&self, connection: u32, close: Close) {
        let connections = lock(&self.shared.connections);
        let opened = connections.get(&connection);
        let opened = opened.map(|opened| opened.connection.clone());
        drop(connections);
        if let Some(opened) = opened {
            close.apply(&opened);
        }
    }

    /// Takes no stream of a connection, or takes them again: of an access that is over its limits.
    pub fn pause(&self, connection: u32, is_paused: bool) {
        if let Some(opened) = lock(&self.shared.connections).get(&connection) {
            opened.paused.send_replace(is_paused);
        }
    }

    /// Answers a transaction, once; on a unidirectional stream nobody reads it.
    pub fn answer(&self, stream: u64, status: u16, words: String) {
        let answer = lock(&self.shared.pending).remove(&stream);
        if let Some(answer) = answer {
            let _ = answer.send((status, words));
        }
    }

    /// Uses another certificate for new connections.
    pub fn use_certificate(&self, pem: &Pem) -> Result<()> {
        self.endpoint
            .set_server_config(Some(server_config(Some(pem), self.shared.dialect)?));
        Ok(())
    }

    /// Accepts no more connections, and closes each one that has no transaction without an answer.
    /// `done` is called when none is left.
    pub fn drain(&self, done: Box<dyn FnOnce() + Send>) {
        self.shared.draining.send_replace(true);
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            while !lock(&shared.connections).is_empty() {
                sleep(DRAIN_STEP).await;
            }
            done();
        });
    }

    pub fn stats(&self) -> Stats {
        let Shared { counts, .. } = &*self.shared;
        let loaded = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            connections: self.shared.by_access.amount(),
            handshakes: self.shared.handshakes.amount(),
            streams: self.shared.streams.amount(),
            stream_bytes: self.shared.bytes.amount(),
            handshakes_refused: loaded(&counts.handshakes_refused),
            streams_refused: loaded(&counts.streams_refused),
            streams_reset: loaded(&counts.streams_reset),
        }
    }

    /// The port that it listens on.
    pub fn port(&self) -> Result<u16> {
        Ok(self.endpoint.local_addr()?.port())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let close = Close::Unavailable;
        self.shared.draining.send_replace(true);
        self.shared.queue.close();
        lock(&self.shared.pending).clear();
        self.endpoint.close(close.code(), close.reason().as_bytes());
    }
}

fn open_endpoint(options: &Options) -> Result<Endpoint> {
    let config = server_config(options.pem.as_ref(), options.dialect)?;
    let socket: UdpSocket = sys::datagram::duplicate(options.descriptor)?;
    let runtime = Arc::new(TokioRuntime);
    let socket = Arc::new(Unbuffered(runtime.wrap_udp_socket(socket)?));
    let ids = endpoint_config(options.slot, &options.reset_key);
    Ok(Endpoint::new_with_abstract_socket(
        ids,
        Some(config),
        socket,
        runtime,
    )?)
}

/// Until the endpoint is closed.
async fn accept(shared: Arc<Shared>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let handshake = shared.handshakes.take(owner_of(incoming.remote_address()));
        let is_draining = *shared.draining.borrow();
        let Some(handshake) = handshake.filter(|_| !is_draining) else {
            count(&shared.counts.handshakes_refused);
            incoming.refuse();
            continue;
        };
        let is_unproven = !incoming.remote_address_validated() && incoming.may_retry();
        if is_unproven && shared.handshakes.amount() > HANDSHAKES_UNPROVEN {
            let _ = incoming.retry();
            continue;
        }
        tokio::spawn(connection::run(Arc::clone(&shared), incoming, handshake));
    }
    let _ = timeout(END, endpoint.wait_idle()).await;
}
