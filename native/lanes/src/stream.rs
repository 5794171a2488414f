//! One transaction on a stream of its own.

use std::time::{Duration, Instant};

use quinn::{Connection, SendStream, VarInt};
use tokio::time::timeout;

use crate::options::Options;
use crate::reason::{of_connection, of_read, of_write};

/// How the sending of one transaction ended.
pub enum End {
    /// No byte was written.
    Unreachable,
    /// No byte was written: too many are in flight.
    Full,
    /// All bytes were written to a stream without an answer.
    Written,
    Answered(Vec<u8>),
    /// Bytes were written, and there is no whole answer.
    Unknown,
}

/// What became of one transaction.
pub struct Sent {
    pub end: End,
    /// From the call to the first byte.
    pub written_after: Option<Duration>,
    /// Why there is no answer, for a log; may contain what the peer said.
    pub reason: String,
}

impl Sent {
    pub fn unsent(end: End, reason: impl Into<String>) -> Sent {
        Sent {
            end,
            written_after: None,
            reason: reason.into(),
        }
    }
}

/// A stream that can be written to, and what reads its answer.
type Opened<R> = Result<(SendStream, R), String>;

async fn opened<R>(
    wait: Duration,
    open: impl Future<Output = Result<(SendStream, R), quinn::ConnectionError>>,
) -> Opened<R> {
    match timeout(wait, open).await {
        Ok(Ok(streams)) => Ok(streams),
        Ok(Err(error)) => Err(of_connection(&error)),
        Err(_) => Err("the peer grants no stream".into()),
    }
}

/// Writes the bytes and the end of the stream. An error leaves the stream of no use.
async fn write(stream: &mut SendStream, bytes: &[u8]) -> Result<(), String> {
    stream
        .write_all(bytes)
        .await
        .map_err(|error| of_write(&error))?;
    stream.finish().map_err(|_| "no stream".to_string())
}

/// Sends on a stream without an answer, and calls `done` when all is written. Returns when the peer
/// has all bytes, or none of them is under way any more.
pub async fn send_one_way(
    connection: Connection,
    bytes: Vec<u8>,
    options: &Options,
    began: Instant,
    done: impl FnOnce(Sent),
) {
    let open = async { connection.open_uni().await.map(|stream| (stream, ())) };
    let mut stream = match opened(options.stream_wait, open).await {
        Ok((stream, ())) => stream,
        Err(reason) => return done(Sent::unsent(End::Unreachable, reason)),
    };
    let written_after = Some(began.elapsed());
    let wrote = timeout(options.answer_wait, write(&mut stream, &bytes)).await;
    let (end, reason) = match wrote {
        Ok(Ok(())) => (End::Written, String::new()),
        Ok(Err(reason)) => (End::Unknown, reason),
        Err(_) => (End::Unknown, "the peer reads nothing".into()),
    };
    let is_written = matches!(end, End::Written);
    done(Sent {
        end,
        written_after,
        reason,
    });
    let is_taken = is_written && timeout(options.answer_wait, stream.stopped()).await.is_ok();
    if !is_taken {
        // An error says that the stream has ended.
        let _ = stream.reset(VarInt::from_u32(0));
    }
}

/// Sends on a stream whose peer answers. The answer ends with the stream.
pub async fn send_answered(
    connection: Connection,
    bytes: Vec<u8>,
    options: &Options,
    began: Instant,
    done: impl FnOnce(Sent),
) {
    let (mut stream, mut answers) = match opened(options.stream_wait, connection.open_bi()).await {
        Ok(streams) => streams,
        Err(reason) => return done(Sent::unsent(End::Unreachable, reason)),
    };
    let written_after = Some(began.elapsed());
    let exchange = async {
        // A peer that refuses early may have answered, and reads no further.
        let wrote = write(&mut stream, &bytes).await;
        let answer = answers.read_to_end(options.answer_bytes_max).await;
        match (answer, wrote) {
            (Ok(answer), Ok(())) => Ok(answer),
            (Ok(answer), Err(_)) if !answer.is_empty() => Ok(answer),
            (Ok(_), Err(reason)) => Err(reason),
            (Err(error), _) => Err(of_read(&error)),
        }
    };
    let answered = match timeout(options.answer_wait, exchange).await {
        Ok(answered) => answered,
        Err(_) => Err("no whole answer in time".into()),
    };
    let (end, reason) = match answered {
        Ok(answer) => (End::Answered(answer), String::new()),
        Err(reason) => {
            // Errors say that a stream has ended.
            let _ = stream.reset(VarInt::from_u32(0));
            let _ = answers.stop(VarInt::from_u32(0));
            (End::Unknown, reason)
        }
    };
    done(Sent {
        end,
        written_after,
        reason,
    });
}
