//! The QUIC listener of an edge. Its endpoint has a thread of its own; what arrives is taken by the
//! event loop, which decides.

use std::net::IpAddr;

use ingress::{Close, Dialect, Event, Listener, Options, Pem};
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use sys::error::{Error, Result as Checked};

use crate::arguments::{integer, whole, wrong};
use crate::failure::{Result, guard};
use crate::js_bytes::CopiedBytes;
use crate::promises::deferred;

#[napi(object, object_to_js = false)]
pub struct QuicListenerOptions {
    /// A bound UDP socket.
    pub descriptor: f64,
    /// Of this edge, among those of the machine.
    pub slot: f64,
    /// The same for all edges of the machine.
    #[napi(ts_type = "Uint8Array")]
    pub reset_key: CopiedBytes,
    /// Whose clients it takes, in the words of `Dialect`; absent are those of Lunar Lander.
    pub dialect: Option<String>,
    /// PEM of a certificate and its key; one is made where they are absent.
    #[napi(ts_type = "Uint8Array")]
    pub chain: Option<CopiedBytes>,
    #[napi(ts_type = "Uint8Array")]
    pub key: Option<CopiedBytes>,
}

/// What has arrived. With `token` a connection waits to be admitted; with `bytes` a transaction
/// waits for its answer; without both an admitted connection has ended.
#[napi(object, object_from_js = false)]
pub struct QuicEvent {
    pub connection: f64,
    /// 4 or 16 bytes.
    pub address: Option<Uint8Array>,
    pub token: Option<String>,
    pub wants_protection: Option<bool>,
    pub stream: Option<f64>,
    pub bytes: Option<Uint8Array>,
}

impl From<Event> for QuicEvent {
    fn from(event: Event) -> QuicEvent {
        let of = |connection: u32| QuicEvent {
            connection: f64::from(connection),
            address: None,
            token: None,
            wants_protection: None,
            stream: None,
            bytes: None,
        };
        match event {
            Event::Connected {
                connection,
                address,
                token,
                wants_protection,
            } => QuicEvent {
                address: Some(match address {
                    IpAddr::V4(v4) => v4.octets().to_vec().into(),
                    IpAddr::V6(v6) => v6.octets().to_vec().into(),
                }),
                token: Some(token),
                wants_protection: Some(wants_protection),
                ..of(connection)
            },
            Event::Transaction {
                connection,
                stream,
                bytes,
            } => QuicEvent {
                stream: Some(stream as f64),
                bytes: Some(bytes.into()),
                ..of(connection)
            },
            Event::Closed { connection } => of(connection),
        }
    }
}

/// A listener in numbers; counts are since it was opened.
#[napi(object, object_from_js = false)]
pub struct QuicStats {
    pub connections: f64,
    pub handshakes: f64,
    pub streams: f64,
    pub stream_bytes: f64,
    pub handshakes_refused: f64,
    pub streams_refused: f64,
    pub streams_reset: f64,
}

fn id(number: f64) -> Checked<u32> {
    whole(number, u32::MAX, "a connection")
}

fn close_of(reason: &str) -> Checked<Close> {
    Close::named(reason).ok_or_else(|| wrong("a reason"))
}

/// Transactions over QUIC.
#[napi]
pub struct QuicListener(Option<Listener>);

impl QuicListener {
    fn open(&self) -> Checked<&Listener> {
        let closed = || Error::Internal("the listener is closed".into());
        self.0.as_ref().ok_or_else(closed)
    }
}

#[napi]
impl QuicListener {
    #[napi(constructor)]
    pub fn new(options: QuicListenerOptions) -> Result<QuicListener> {
        guard(|| {
            let descriptor = whole(options.descriptor, i32::MAX as u32, "a descriptor")?;
            let pem = match (options.chain, options.key) {
                (Some(chain), Some(key)) => Some(Pem {
                    chain: chain.to_vec(),
                    key: key.to_vec(),
                }),
                (None, None) => None,
                _ => return Err(wrong("a certificate without its key")),
            };
            let dialect = match options.dialect.as_deref() {
                Some(name) => Dialect::named(name).ok_or_else(|| wrong("a dialect"))?,
                None => Dialect::default(),
            };
            let listener = Listener::open(Options {
                descriptor: descriptor as i32,
                slot: whole(options.slot, u32::from(u8::MAX), "a slot")? as u8,
                reset_key: options.reset_key.to_vec(),
                pem,
                dialect,
            })?;
            Ok(QuicListener(Some(listener)))
        })
    }

    /// The next events; null once the listener is closed.
    #[napi(ts_return_type = "Promise<Array<QuicEvent> | null>")]
    pub fn receive<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let listener = guard(|| self.open())?;
        let (deferred, promise) = deferred::<Option<Vec<QuicEvent>>>(env)?;
        listener.receive(Box::new(move |events| {
            deferred.resolve(Box::new(move |_| {
                Ok(events.map(|events| events.into_iter().map(QuicEvent::from).collect()))
            }));
        }));
        Ok(promise)
    }

    /// False where the connection has ended, or is one too many of its access.
    #[napi]
    pub fn admit(&self, connection: f64, access: String) -> Result<bool> {
        guard(|| Ok(self.open()?.admit(id(connection)?, &access)))
    }

    /// Closes a connection that waits to be admitted.
    #[napi]
    pub fn refuse(&self, connection: f64, reason: String) -> Result<()> {
        guard(|| {
            self.open()?.refuse(id(connection)?, close_of(&reason)?);
            Ok(())
        })
    }

    /// Closes an admitted connection. After it has returned, no answer leaves on it.
    #[napi]
    pub fn close_connection(&self, connection: f64, reason: String) -> Result<()> {
        guard(|| {
            self.open()?.close(id(connection)?, close_of(&reason)?);
            Ok(())
        })
    }

    /// Takes no stream of a connection, or takes them again.
    #[napi]
    pub fn pause(&self, connection: f64, is_paused: bool) -> Result<()> {
        guard(|| {
            self.open()?.pause(id(connection)?, is_paused);
            Ok(())
        })
    }

    /// Answers a transaction, once, also one on a stream that nobody reads.
    #[napi]
    pub fn answer(&self, stream: f64, status: f64, words: String) -> Result<()> {
        guard(|| {
            let stream = integer(stream, "a stream")?;
            let status = whole(status, u32::from(u16::MAX), "a status")? as u16;
            self.open()?.answer(stream, status, words);
            Ok(())
        })
    }

    /// Uses another certificate for new connections.
    #[napi]
    pub fn use_certificate(
        &self,
        #[napi(ts_arg_type = "Uint8Array")] chain: CopiedBytes,
        #[napi(ts_arg_type = "Uint8Array")] key: CopiedBytes,
    ) -> Result<()> {
        guard(|| {
            self.open()?.use_certificate(&Pem {
                chain: chain.to_vec(),
                key: key.to_vec(),
            })
        })
    }

    /// Accepts no more connections; resolves when the last one has ended, each after its answers.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn drain<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let listener = guard(|| self.open())?;
        let (deferred, promise) = deferred::<()>(env)?;
        listener.drain(Box::new(move || deferred.resolve(Box::new(|_| Ok(())))));
        Ok(promise)
    }

    #[napi]
    pub fn stats(&self) -> Result<QuicStats> {
        guard(|| {
            let stats = self.open()?.stats();
            Ok(QuicStats {
                connections: stats.connections as f64,
                handshakes: stats.handshakes as f64,
                streams: stats.streams as f64,
                stream_bytes: stats.stream_bytes as f64,
                handshakes_refused: stats.handshakes_refused as f64,
                streams_refused: stats.streams_refused as f64,
                streams_reset: stats.streams_reset as f64,
            })
        })
    }

    #[napi]
    pub fn port(&self) -> Result<u32> {
        guard(|| Ok(u32::from(self.open()?.port()?)))
    }

    /// Closes every connection.
    #[napi]
    pub fn close(&mut self) {
        self.0 = None;
    }
}
