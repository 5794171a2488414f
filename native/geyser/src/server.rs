//! A server of all listeners of a process, on threads of its own, and what the event loop may do.

use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingest::geyser::GeyserConfig;
use sys::error::{Error, Result};
use sys::shares::{Shares, owner_of};
use sys::turns::{Queue, Waiter};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{interval, sleep};
use tokio_rustls::TlsAcceptor;
use tonic::Status;

use crate::calls::{Event, Pending, Verdict, lock};
use crate::connection;
use crate::control::{Control, Controls, END, END_LAGGED};
use crate::filter::transactions::Kept;
use crate::network::Network;
use crate::pace::Paces;
use crate::shared::{Counts, Shared};
use crate::source::{Deshred, HubStats, Processed, Source, run};
use crate::status::{Refusal, shutting_down};
use crate::tls::{Certificates, Pem, server_config};

/// Connections of a process; of one address at most the second number.
const CONNECTIONS_MAX: usize = 4_096;
const CONNECTIONS_OF_ADDRESS: usize = 512;
/// Calls that wait for the event loop; of one address at most the second number.
const WAITING_MAX: usize = 1_024;
const WAITING_OF_ADDRESS: usize = 128;
/// Bytes of contents of slots. Over it the streams that are farthest behind end.
const RESIDENT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// How often streams are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// After a failure of the system, as of descriptors that have run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// As WebSockets have for a large reply.
pub const STALL: Duration = Duration::from_secs(10);
/// How often a drain looks, and how long a change of accesses waits for streams to have ended.
const STEP: Duration = Duration::from_millis(5);
const SETTLE: Duration = Duration::from_millis(100);
/// Reads at once: each is short.
const READS_MAX: usize = 8;

pub struct ListenerOptions {
    /// A listening socket, of which a copy is used.
    pub descriptor: RawFd,
    /// In the order of their precedence; none is no TLS.
    pub certificates: Vec<Pem>,
}

pub struct Options {
    pub listeners: Vec<ListenerOptions>,
    /// Of each network the servers of its source, in their order.
    pub networks: Vec<Vec<GeyserConfig>>,
    pub threads: usize,
    /// What `GetVersion` answers.
    pub version: String,
    /// Bytes of updates a second of one access; more waits.
    pub update_bytes_per_second: f64,
    /// A client that takes nothing of what is due for this long is disconnected.
    pub stall: Duration,
}

/// A server in numbers; counts are since it was opened.
pub struct Stats {
    pub connections: usize,
    pub streams: usize,
    pub messages: u64,
    pub bytes: u64,
    pub refused: u64,
    pub lagged: u64,
    pub resident_bytes: usize,
    /// Of each network with a source: PROCESSED, and `SubscribeDeshred`.
    pub sources: Vec<(usize, [HubStats; 2])>,
}

/// An open server. It ends when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    certificates: Vec<Arc<Certificates>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Begins to listen.
    pub fn open(options: Options) -> Result<Server> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .max_blocking_threads(READS_MAX)
            .thread_name("grpc")
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            pending: Pending::default(),
            controls: Controls::default(),
            paces: Paces::new(options.update_bytes_per_second),
            counts: Counts::default(),
            draining: watch::Sender::new(false),
            waiting: Shares::bounded(WAITING_MAX, WAITING_OF_ADDRESS),
            version: options.version,
            connections: Shares::bounded(CONNECTIONS_MAX, CONNECTIONS_OF_ADDRESS),
            networks: options.networks.iter().map(|of| network_of(of)).collect(),
            next_call: AtomicU64::new(1),
            closing: Mutex::default(),
        });
        let mut all = Vec::new();
        for (index, listener) in options.listeners.iter().enumerate() {
            let certificates = Arc::new(Certificates::default());
            for (at, pem) in listener.certificates.iter().enumerate() {
                certificates.set(at, pem)?;
            }
            let tls = match certificates.is_empty() {
                true => None,
                false => Some(TlsAcceptor::from(server_config(&certificates)?)),
            };
            let socket = sys::listener::duplicate(listener.descriptor)?;
            runtime.spawn(accept(Arc::clone(&shared), socket, index, tls));
            all.push(certificates);
        }
        runtime.spawn(watch_streams(Arc::clone(&shared), options.stall));
        for (index, servers) in options.networks.into_iter().enumerate() {
            if let Some(network) = shared.network(index).filter(|_| !servers.is_empty()) {
                let [processed, deshred] = [false, true].map(|is_deshred| {
                    let source = source_of(&shared, index, &network, servers.clone());
                    network.hub(is_deshred).map(|hub| (Arc::clone(hub), source))
                });
                if let (Ok((hub, source)), Ok(other)) = (processed, deshred) {
                    runtime.spawn(run::<Processed>(hub, source));
                    runtime.spawn(run::<Deshred>(other.0, other.1));
                }
            }
        }
        Ok(Server {
            shared,
            certificates: all,
            runtime: Some(runtime),
        })
    }

    /// The next events, for one waiter at a time.
    pub fn receive(&self, waiter: Waiter<Event>) {
        self.shared.queue.receive(waiter);
    }

    /// Admits a call to a network. False where its client has left.
    pub fn admit(&self, call: u64, network: usize, access: &str, filters_max: usize) -> bool {
        let access = access.into();
        let verdict = Verdict::Admitted {
            network,
            access,
            filters_max,
        };
        self.shared.pending.decide(call, verdict)
    }

    pub fn refuse(&self, call: u64, refusal: Refusal) {
        self.shared.pending.decide(call, Verdict::Refused(refusal));
    }

    /// Ends a stream. No update is made after this has returned; `settle` waits until those that
    /// were made have left.
    pub fn close(&self, call: u64, refusal: Refusal) {
        if let Some(control) = self.shared.controls.get(call) {
            self.end(&control, refusal.status());
        }
    }

    fn end(&self, control: &Arc<Control>, status: Status) {
        control.close(status);
        lock(&self.shared.closing).insert(control.call, Arc::clone(control));
        if let Some(runtime) = &self.runtime {
            runtime.spawn(abort_later(
                Arc::clone(&self.shared),
                vec![Arc::clone(control)],
                END,
            ));
        }
    }

    /// Calls `done` once the streams that were ended are over, or after 100 ms: nothing leaves on
    /// one that its client does not read.
    pub fn settle(&self, done: Box<dyn FnOnce() + Send>) {
        let shared = Arc::clone(&self.shared);
        let wait = async move {
            let until = tokio::time::Instant::now() + SETTLE;
            loop {
                lock(&shared.closing).retain(|_, control| !control.is_over());
                let is_settled = lock(&shared.closing).is_empty();
                if is_settled || tokio::time::Instant::now() >= until {
                    return done();
                }
                sleep(STEP).await;
            }
        };
        if let Some(runtime) = &self.runtime {
            runtime.spawn(wait);
        }
    }

    /// Serves another store of a network.
    pub fn use_store(
        &self,
        network: usize,
        dir: &Path,
        options: &store::Options,
        kept: Kept,
    ) -> Result<()> {
        self.of(network)?.use_store(dir, options, kept)
    }

    /// The same with a store that is open: a process cannot open it twice.
    #[cfg(test)]
    pub fn serve(&self, network: usize, store: Arc<store::Store>, kept: Kept) -> Result<()> {
        self.of(network)?.serve(store, kept)
    }

    /// Reads the tip of a network; answers its slot, 0 before the first block.
    pub fn refresh(&self, network: usize) -> Result<u64> {
        let network = self.of(network)?;
        network.refresh()?;
        Ok(network.position().borrow().slot)
    }

    fn of(&self, network: usize) -> Result<Arc<Network>> {
        let missing = || Error::Internal("no such network".into());
        self.shared.network(network).ok_or_else(missing)
    }

    /// Uses another certificate for new connections of a listener.
    pub fn use_certificate(&self, listener: usize, index: usize, pem: &Pem) -> Result<()> {
        let missing = || Error::Internal("no such listener".into());
        self.certificates
            .get(listener)
            .ok_or_else(missing)?
            .set(index, pem)
    }

    /// Accepts no more, and ends every stream; `done` is called once no connection is left.
    pub fn drain(&self, done: Box<dyn FnOnce() + Send>) {
        self.shared.draining.send_replace(true);
        for control in self.shared.controls.all() {
            self.end(&control, shutting_down());
        }
        let shared = Arc::clone(&self.shared);
        let wait = async move {
            while shared.connections.amount() > 0 {
                sleep(STEP).await;
            }
            done();
        };
        if let Some(runtime) = &self.runtime {
            runtime.spawn(wait);
        }
    }

    fn sources(&self) -> Vec<(usize, [HubStats; 2])> {
        let networks = self.shared.networks.iter().enumerate();
        let of =
            |is_deshred, network: &Network| network.hub(is_deshred).map(|hub| hub.stats()).ok();
        networks
            .filter_map(|(index, one)| Some((index, [of(false, one)?, of(true, one)?])))
            .collect()
    }

    pub fn stats(&self) -> Stats {
        let Shared { counts, .. } = &*self.shared;
        let loaded = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            connections: self.shared.connections.amount(),
            streams: self.shared.controls.count(),
            messages: loaded(&counts.messages),
            bytes: loaded(&counts.bytes),
            refused: loaded(&counts.refused),
            lagged: loaded(&counts.lagged),
            resident_bytes: self.shared.resident_bytes(),
            sources: self.sources(),
        }
    }
}

fn network_of(servers: &[GeyserConfig]) -> Arc<Network> {
    Arc::new(match servers.is_empty() {
        true => Network::default(),
        false => Network::with_source(),
    })
}

/// The source of a network, whose troubles are events.
fn source_of(
    shared: &Arc<Shared>,
    index: usize,
    network: &Arc<Network>,
    servers: Vec<GeyserConfig>,
) -> Source {
    let (shared, network) = (Arc::clone(shared), Arc::clone(network));
    let position = network.position();
    let own: Arc<str> = Arc::from("");
    Source {
        servers,
        served: Box::new(move || network.served()),
        tip: Box::new(move || position.borrow().slot),
        report: Box::new(move |text| {
            let network = index;
            shared.push_own(&own, Event::Source { network, text });
        }),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.draining.send_replace(true);
        self.shared.queue.close();
        self.shared.pending.clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept(
    shared: Arc<Shared>,
    socket: std::net::TcpListener,
    listener: usize,
    tls: Option<TlsAcceptor>,
) {
    let Ok(socket) = TcpListener::from_std(socket) else {
        return;
    };
    let mut draining = shared.draining.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            _ = draining.wait_for(|&is_draining| is_draining) => return,
        };
        let Ok((socket, address)) = accepted else {
            sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let Some(share) = shared.connections.take(owner_of(address)) else {
            shared.counts.refuse();
            continue;
        };
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        tokio::spawn(async move {
            connection::run(shared, socket, address, listener, tls).await;
            drop(share);
        });
    }
}

/// Ends streams whose clients take nothing, and those that keep too much in memory.
async fn watch_streams(shared: Arc<Shared>, stall: Duration) {
    let mut look = interval(LOOK);
    loop {
        look.tick().await;
        let mut ended = shared.controls.end_stalled(stall);
        let mut count = ended.len();
        if shared.resident_bytes() > RESIDENT_BYTES_MAX {
            for (control, is_first) in shared.controls.end_oldest() {
                count += usize::from(is_first);
                ended.push(control);
            }
        }
        if !ended.is_empty() {
            shared
                .counts
                .lagged
                .fetch_add(count as u64, Ordering::Relaxed);
            tokio::spawn(abort_later(Arc::clone(&shared), ended, END_LAGGED));
        }
    }
}

/// Closes the connections of streams that were ended and whose clients do not take the status.
async fn abort_later(shared: Arc<Shared>, ended: Vec<Arc<Control>>, time: Duration) {
    sleep(time).await;
    for control in ended {
        lock(&shared.closing).remove(&control.call);
        if !control.is_over() {
            control.abort_connection();
        }
    }
}
