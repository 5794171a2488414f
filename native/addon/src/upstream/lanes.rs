//! Lanes of the sender over QUIC.

use std::time::Duration;

use lanes::{End, Greeting, Head, Identity, Lane, Options, Sent, State, system_roots};
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use sys::error::Result as Checked;

use crate::arguments::{count, whole, wrong};
use crate::failure::{Result, guard};
use crate::js_bytes::{Bytes, CopiedBytes};
use crate::promises::deferred;

/// Where a lane leads, as whom, and its bounds.
#[napi(object, object_to_js = false)]
pub struct LaneOptions {
    pub host: String,
    pub port: f64,
    pub server_name: String,
    /// Empty for none.
    pub protocol: String,
    /// Which certificate is shown: of a node, with a name, one that the peer has issued, or none.
    #[napi(ts_type = "'node' | 'named' | 'issued' | 'none'")]
    pub certificate: String,
    /// Named: the name. Issued: PEM of a certificate, its chain and its key.
    pub key: Option<String>,
    /// Named: whether the connection asks for protection.
    pub is_protected: bool,
    /// Named: with a key of Ed25519 in place of ECDSA P-256.
    pub is_ed25519: bool,
    /// Of a node: the 32 bytes of its Ed25519 seed; absent is a new key.
    #[napi(ts_type = "Uint8Array")]
    pub seed: Option<CopiedBytes>,
    /// Whether the peer's certificate must be of an authority of the system, and of its name.
    pub is_peer_verified: bool,
    /// What is sent on the first stream of a connection.
    #[napi(ts_type = "Uint8Array")]
    pub greeting: Option<CopiedBytes>,
    /// Whether that stream is answered, with a zero.
    pub is_greeting_answered: bool,
    pub is_answered: bool,
    pub answer_bytes_max: f64,
    /// Bytes of the head of an answer; 0 for an answer that ends with its stream.
    pub answer_head_bytes: f64,
    /// The last bytes of the head that are the length of the rest; 0 where nothing follows.
    pub answer_length_bytes: f64,
    pub streams_max: f64,
    pub stream_wait_ms: f64,
    pub answer_wait_ms: f64,
    pub connect_wait_ms: f64,
    pub keep_alive_ms: f64,
    pub idle_ms: f64,
    pub pause_min_ms: f64,
    pub pause_max_ms: f64,
}

/// A lane at an instant.
#[napi(object, object_from_js = false)]
pub struct LaneState {
    /// Counts the changes.
    pub version: f64,
    pub is_connected: bool,
    pub is_closed: bool,
    pub connects: f64,
    pub failures: f64,
    /// Why the last connection or attempt ended; may contain what the peer said.
    pub reason: String,
}

impl From<State> for LaneState {
    fn from(state: State) -> LaneState {
        LaneState {
            version: state.version as f64,
            is_connected: state.is_connected,
            is_closed: state.is_closed,
            connects: state.connects as f64,
            failures: state.failures as f64,
            reason: state.reason,
        }
    }
}

/// What became of one transaction on a lane.
#[napi(object, object_from_js = false)]
pub struct LaneSent {
    #[napi(ts_type = "'unreachable' | 'full' | 'written' | 'answered' | 'unknown'")]
    pub end: &'static str,
    pub answer: Option<Uint8Array>,
    /// From the call to the first byte, in milliseconds; absent where none was written.
    pub written_after_ms: Option<f64>,
    /// Why there is no answer; may contain what the peer said.
    pub reason: String,
}

impl From<Sent> for LaneSent {
    fn from(sent: Sent) -> LaneSent {
        let (end, answer) = match sent.end {
            End::Unreachable => ("unreachable", None),
            End::Full => ("full", None),
            End::Written => ("written", None),
            End::Answered(bytes) => ("answered", Some(Uint8Array::from(bytes))),
            End::Unknown => ("unknown", None),
        };
        LaneSent {
            end,
            answer,
            written_after_ms: sent
                .written_after
                .map(|after| after.as_secs_f64() * 1_000.0),
            reason: sent.reason,
        }
    }
}

/// Bytes of a transaction: the longest has 4,096.
const BYTES_MAX: usize = 8 * 1024;
/// Bounds against wrong arguments.
const STREAMS_MAX: u32 = 65_536;
const ANSWER_BYTES_MAX: u32 = 128 * 1024;
const HEAD_BYTES_MAX: u32 = 64;
const LENGTH_BYTES_MAX: u32 = 4;

fn to_options(options: LaneOptions) -> Checked<Options> {
    let ms = |number: f64, name: &str| count(number, name).map(Duration::from_millis);
    let identity = match (&options.certificate[..], options.key, options.seed) {
        ("named", Some(key), None) => Identity::Named {
            key,
            is_protected: options.is_protected,
            is_ed25519: options.is_ed25519,
        },
        ("issued", Some(pem), None) => Identity::Issued(pem),
        ("none", None, None) => Identity::Anonymous,
        ("node", None, seed) => {
            let seed = seed.map(|seed| seed[..].try_into().map_err(|_| wrong("seed")));
            Identity::Node {
                seed: seed.transpose()?,
            }
        }
        _ => return Err(wrong("certificate")),
    };
    let answer_bytes_max = whole(options.answer_bytes_max, ANSWER_BYTES_MAX, "answerBytesMax")?;
    let head_bytes = whole(options.answer_head_bytes, HEAD_BYTES_MAX, "answerHeadBytes")?;
    let length_bytes = whole(
        options.answer_length_bytes,
        LENGTH_BYTES_MAX,
        "answerLengthBytes",
    )?;
    if length_bytes > head_bytes || head_bytes > answer_bytes_max {
        return Err(wrong("answerHeadBytes"));
    }
    let is_answered = options.is_greeting_answered;
    let greeting = options.greeting.map(|bytes| Greeting {
        bytes: bytes[..].to_vec(),
        is_answered,
    });
    let port = whole(options.port, u32::from(u16::MAX), "port")?;
    Ok(Options {
        host: options.host,
        port: u16::try_from(port).map_err(|_| wrong("port"))?,
        server_name: options.server_name,
        protocol: options.protocol.into_bytes(),
        identity,
        roots: options.is_peer_verified.then(system_roots).transpose()?,
        greeting,
        is_answered: options.is_answered,
        answer_head: (head_bytes > 0).then_some(Head {
            bytes: head_bytes as usize,
            length_bytes: length_bytes as usize,
        }),
        answer_bytes_max: answer_bytes_max as usize,
        streams_max: whole(options.streams_max, STREAMS_MAX, "streamsMax")? as usize,
        stream_wait: ms(options.stream_wait_ms, "streamWaitMs")?,
        answer_wait: ms(options.answer_wait_ms, "answerWaitMs")?,
        connect_wait: ms(options.connect_wait_ms, "connectWaitMs")?,
        keep_alive: ms(options.keep_alive_ms, "keepAliveMs")?,
        idle: ms(options.idle_ms, "idleMs")?,
        pause_min: ms(options.pause_min_ms, "pauseMinMs")?,
        pause_max: ms(options.pause_max_ms, "pauseMaxMs")?,
    })
}

/// A lane to one peer, which connects in the background.
#[napi]
pub struct QuicLane {
    lane: Lane,
}

#[napi]
impl QuicLane {
    #[napi(constructor)]
    pub fn new(options: LaneOptions) -> Result<QuicLane> {
        guard(|| {
            Ok(QuicLane {
                lane: Lane::open(to_options(options)?)?,
            })
        })
    }

    /// Sends a transaction at most once. Never rejects.
    #[napi(ts_return_type = "Promise<LaneSent>")]
    pub fn send<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] transaction: Bytes<'_>,
    ) -> Result<Object<'env>> {
        let bytes = guard(|| {
            let bytes = transaction.to_vec()?;
            if bytes.len() > BYTES_MAX {
                return Err(wrong("transaction"));
            }
            Ok(bytes)
        })?;
        let (deferred, promise) = deferred::<LaneSent>(env)?;
        guard(|| {
            let done = move |sent: Sent| deferred.resolve(Box::new(move |_| Ok(sent.into())));
            self.lane.send(bytes, done)
        })?;
        Ok(promise)
    }

    /// Transactions in flight.
    #[napi]
    pub fn in_flight(&self) -> u32 {
        self.lane.in_flight() as u32
    }

    #[napi]
    pub fn state(&self) -> LaneState {
        self.lane.state().into()
    }

    /// The first state after this version; of a lane that is closed at once.
    #[napi(ts_return_type = "Promise<LaneState>")]
    pub fn after<'env>(&self, env: &'env Env, version: f64) -> Result<Object<'env>> {
        let version = guard(|| count(version, "version"))?;
        let (deferred, promise) = deferred::<LaneState>(env)?;
        guard(|| {
            let done = move |state: State| deferred.resolve(Box::new(move |_| Ok(state.into())));
            self.lane.after(version, done)
        })?;
        Ok(promise)
    }

    /// Ends the connection, and what is in flight on it.
    #[napi]
    pub fn close(&self) {
        self.lane.close();
    }
}
