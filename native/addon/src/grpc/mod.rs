//! Yellowstone gRPC. Its server has threads of its own; calls that come are taken by the event
//! loop, which decides.

use std::net::IpAddr;

use geyser::{Event, HubStats, Kept, ListenerOptions, Options, Pem, Refusal, STALL, Server};
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use store::Scope;
use sys::error::{Error, Result as Checked};

use crate::arguments::{count, integer, whole, wrong};
use crate::failure::{Result, guard};
use crate::feed::{FeedOptions, to_config};
use crate::js_bytes::CopiedBytes;
use crate::options::StoreOptions;
use crate::promises::deferred;

#[napi(object, object_to_js = false)]
pub struct GrpcCertificate {
    #[napi(ts_type = "Uint8Array")]
    pub chain: CopiedBytes,
    #[napi(ts_type = "Uint8Array")]
    pub key: CopiedBytes,
}

#[napi(object, object_to_js = false)]
pub struct GrpcListenerOptions {
    /// A listening socket.
    pub descriptor: f64,
    /// In the order of their precedence; none is no TLS.
    pub certificates: Vec<GrpcCertificate>,
}

#[napi(object, object_to_js = false)]
pub struct GrpcServerOptions {
    pub listeners: Vec<GrpcListenerOptions>,
    /// Of each network the servers of its source, in their order.
    pub networks: Vec<Vec<FeedOptions>>,
    pub threads: f64,
    /// What `GetVersion` answers.
    pub version: String,
    /// Of updates of one access; more waits.
    pub update_bytes_per_second: f64,
}

/// What has happened. With `token` a call waits to be admitted; with `text` a stream of the source
/// of a network has failed, for that reason; without both an admitted stream has ended.
#[napi(object, object_from_js = false)]
pub struct GrpcEvent {
    pub call: f64,
    pub listener: Option<f64>,
    /// 4 or 16 bytes.
    pub address: Option<Uint8Array>,
    pub token: Option<String>,
    pub method: Option<String>,
    pub is_stream: Option<bool>,
    pub messages: Option<f64>,
    pub bytes: Option<f64>,
    pub network: Option<f64>,
    pub text: Option<String>,
}

impl From<Event> for GrpcEvent {
    fn from(event: Event) -> GrpcEvent {
        let of = |call: u64| GrpcEvent {
            call: call as f64,
            listener: None,
            address: None,
            token: None,
            method: None,
            is_stream: None,
            messages: None,
            bytes: None,
            network: None,
            text: None,
        };
        match event {
            Event::Call {
                call,
                listener,
                address,
                token,
                method,
                is_stream,
            } => GrpcEvent {
                listener: Some(listener as f64),
                address: Some(match address {
                    IpAddr::V4(v4) => v4.octets().to_vec().into(),
                    IpAddr::V6(v6) => v6.octets().to_vec().into(),
                }),
                token: Some(token),
                method: Some(method.to_string()),
                is_stream: Some(is_stream),
                ..of(call)
            },
            Event::Ended {
                call,
                messages,
                bytes,
            } => GrpcEvent {
                messages: Some(messages as f64),
                bytes: Some(bytes as f64),
                ..of(call)
            },
            Event::Source { network, text } => GrpcEvent {
                network: Some(network as f64),
                text: Some(text),
                ..of(0)
            },
        }
    }
}

/// A server in numbers; counts are since it was opened.
#[napi(object, object_from_js = false)]
pub struct GrpcStats {
    pub connections: f64,
    pub streams: f64,
    pub messages: f64,
    pub bytes: f64,
    pub refused: f64,
    pub lagged: f64,
    pub resident_bytes: f64,
    pub sources: Vec<GrpcSourceStats>,
}

/// A call that is passed through from the source of a network.
#[napi(object, object_from_js = false)]
pub struct GrpcSourceStats {
    pub network: f64,
    pub is_deshred: bool,
    /// Whether the source is read now.
    pub is_open: bool,
    /// Its streams that were opened.
    pub opened: f64,
    pub updates: f64,
    pub losses: f64,
}

impl GrpcSourceStats {
    fn of(network: usize, is_deshred: bool, stats: HubStats) -> GrpcSourceStats {
        GrpcSourceStats {
            network: network as f64,
            is_deshred,
            is_open: stats.is_open,
            opened: stats.opened as f64,
            updates: stats.updates as f64,
            losses: stats.losses as f64,
        }
    }
}

impl From<GrpcCertificate> for Pem {
    fn from(GrpcCertificate { chain, key }: GrpcCertificate) -> Pem {
        Pem {
            chain: chain.to_vec(),
            key: key.to_vec(),
        }
    }
}

fn index(number: f64, what: &str) -> Checked<usize> {
    Ok(whole(number, u32::MAX, what)? as usize)
}

fn call_of(number: f64) -> Checked<u64> {
    integer(number, "a call")
}

fn refusal_of(reason: &str) -> Checked<Refusal> {
    Refusal::named(reason).ok_or_else(|| wrong("a reason"))
}

/// Yellowstone gRPC of all locations of a machine.
#[napi]
pub struct GrpcServer(Option<Server>);

impl GrpcServer {
    fn open(&self) -> Checked<&Server> {
        let closed = || Error::Internal("the server is closed".into());
        self.0.as_ref().ok_or_else(closed)
    }
}

#[napi]
impl GrpcServer {
    #[napi(constructor)]
    pub fn new(options: GrpcServerOptions) -> Result<GrpcServer> {
        guard(|| {
            let listeners = options.listeners.into_iter().map(|listener| {
                let descriptor = whole(listener.descriptor, i32::MAX as u32, "a descriptor")?;
                Ok(ListenerOptions {
                    descriptor: descriptor as i32,
                    certificates: listener.certificates.into_iter().map(Pem::from).collect(),
                })
            });
            let servers = |of: Vec<FeedOptions>| -> Checked<_> {
                // Which accounts the index has is known with its store.
                let configs = of.into_iter().map(|one| to_config(one, &Scope::All));
                configs.collect()
            };
            let networks = options.networks.into_iter().map(servers);
            let server = Server::open(Options {
                listeners: listeners.collect::<Checked<_>>()?,
                networks: networks.collect::<Checked<_>>()?,
                threads: index(options.threads, "threads")?,
                version: options.version,
                update_bytes_per_second: count(
                    options.update_bytes_per_second,
                    "updateBytesPerSecond",
                )? as f64,
                stall: STALL,
            })?;
            Ok(GrpcServer(Some(server)))
        })
    }

    /// The next events; null once the server is closed.
    #[napi(ts_return_type = "Promise<Array<GrpcEvent> | null>")]
    pub fn receive<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let server = guard(|| self.open())?;
        let (deferred, promise) = deferred::<Option<Vec<GrpcEvent>>>(env)?;
        server.receive(Box::new(move |events| {
            deferred.resolve(Box::new(move |_| {
                Ok(events.map(|events| events.into_iter().map(GrpcEvent::from).collect()))
            }));
        }));
        Ok(promise)
    }

    /// Admits a call to a network. False where its client has left.
    #[napi]
    pub fn admit(&self, call: f64, network: f64, access: String, filters_max: f64) -> Result<bool> {
        guard(|| {
            let network = index(network, "a network")?;
            let filters_max = index(filters_max, "filtersMax")?;
            Ok(self
                .open()?
                .admit(call_of(call)?, network, &access, filters_max))
        })
    }

    /// Answers a call that waits with an error.
    #[napi]
    pub fn refuse(&self, call: f64, reason: String) -> Result<()> {
        guard(|| {
            self.open()?.refuse(call_of(call)?, refusal_of(&reason)?);
            Ok(())
        })
    }

    /// Ends an admitted stream. No update is made after this has returned.
    #[napi]
    pub fn close_stream(&self, call: f64, reason: String) -> Result<()> {
        guard(|| {
            self.open()?.close(call_of(call)?, refusal_of(&reason)?);
            Ok(())
        })
    }

    /// Resolves when nothing but the end can leave on streams that were ended.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn settle<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let server = guard(|| self.open())?;
        let (deferred, promise) = deferred::<()>(env)?;
        server.settle(Box::new(move || deferred.resolve(Box::new(|_| Ok(())))));
        Ok(promise)
    }

    /// Serves the store at `dir` as that of a network. `kept` is what its feed takes of
    /// transactions. Throws as a reader.
    #[napi]
    pub fn use_store(
        &self,
        network: f64,
        dir: String,
        options: StoreOptions,
        kept: String,
    ) -> Result<()> {
        guard(|| {
            let kept = Kept::of_feed(&kept);
            let options = options.to_native()?;
            let network = index(network, "a network")?;
            self.open()?
                .use_store(network, dir.as_ref(), &options, kept)
        })
    }

    /// Reads the tip of a network: its slot, 0 before the first block.
    #[napi]
    pub fn refresh(&self, network: f64) -> Result<f64> {
        guard(|| Ok(self.open()?.refresh(index(network, "a network")?)? as f64))
    }

    /// Uses another certificate for new connections of a listener.
    #[napi]
    pub fn use_certificate(
        &self,
        listener: f64,
        at: f64,
        certificate: GrpcCertificate,
    ) -> Result<()> {
        guard(|| {
            let listener = index(listener, "a listener")?;
            let at = index(at, "a certificate")?;
            self.open()?
                .use_certificate(listener, at, &certificate.into())
        })
    }

    /// Accepts no more, and ends every stream; resolves when no connection is left.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn drain<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let server = guard(|| self.open())?;
        let (deferred, promise) = deferred::<()>(env)?;
        server.drain(Box::new(move || deferred.resolve(Box::new(|_| Ok(())))));
        Ok(promise)
    }

    #[napi]
    pub fn stats(&self) -> Result<GrpcStats> {
        guard(|| {
            let stats = self.open()?.stats();
            let sources = stats.sources.into_iter().flat_map(|(network, calls)| {
                let [processed, deshred] = calls;
                [
                    GrpcSourceStats::of(network, false, processed),
                    GrpcSourceStats::of(network, true, deshred),
                ]
            });
            Ok(GrpcStats {
                connections: stats.connections as f64,
                streams: stats.streams as f64,
                messages: stats.messages as f64,
                bytes: stats.bytes as f64,
                refused: stats.refused as f64,
                lagged: stats.lagged as f64,
                resident_bytes: stats.resident_bytes as f64,
                sources: sources.collect(),
            })
        })
    }

    /// Closes every connection.
    #[napi]
    pub fn close(&mut self) {
        self.0 = None;
    }
}
