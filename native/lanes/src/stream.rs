//! What is written on streams: one transaction on each, and the greeting before them.

use std::time::{Duration, Instant};

use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::time::timeout;

use crate::options::{Greeting, Options};
use crate::reason::{TOO_LONG, of_connection, of_exact, of_read, of_write};

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

/// The byte of a peer that knows the key.
const KNOWN: u8 = 0;

/// Has a peer know who connects. Returns when it has the greeting, and has answered it if it does.
pub async fn greet(connection: &Connection, greeting: &Greeting) -> Result<(), String> {
    if !greeting.is_answered {
        let mut stream = connection
            .open_uni()
            .await
            .map_err(|error| of_connection(&error))?;
        write(&mut stream, &greeting.bytes).await?;
        // Streams may be read in any order, so the first transaction waits for this.
        return match stream.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(format!("stopped with {code}")),
            Err(_) => Err("the connection has ended".into()),
        };
    }
    let (mut stream, mut answer) = connection
        .open_bi()
        .await
        .map_err(|error| of_connection(&error))?;
    write(&mut stream, &greeting.bytes).await?;
    let mut byte = [0];
    answer
        .read_exact(&mut byte)
        .await
        .map_err(|error| of_exact(&error))?;
    match byte {
        [KNOWN] => Ok(()),
        [other] => Err(format!("the key is refused with {other}")),
    }
}

async fn read_answer(stream: &mut RecvStream, options: &Options) -> Result<Vec<u8>, String> {
    let Some(head) = options.answer_head else {
        let whole = stream.read_to_end(options.answer_bytes_max).await;
        return whole.map_err(|error| of_read(&error));
    };
    let mut answer = vec![0; head.bytes];
    let read = stream.read_exact(&mut answer).await;
    read.map_err(|error| of_exact(&error))?;
    let length = answer[head.bytes - head.length_bytes..]
        .iter()
        .fold(0usize, |length, byte| (length << 8) | usize::from(*byte));
    if length > options.answer_bytes_max - head.bytes {
        return Err(TOO_LONG.into());
    }
    answer.resize(head.bytes + length, 0);
    let read = stream.read_exact(&mut answer[head.bytes..]).await;
    read.map_err(|error| of_exact(&error))?;
    Ok(answer)
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

/// Sends on a stream whose peer answers.
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
        let answer = read_answer(&mut answers, options).await;
        match (answer, wrote) {
            (Ok(answer), Ok(())) => Ok(answer),
            (Ok(answer), Err(_)) if !answer.is_empty() => Ok(answer),
            (Ok(_), Err(reason)) => Err(reason),
            (Err(reason), _) => Err(reason),
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
