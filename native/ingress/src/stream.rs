//! One stream: a transaction, and its answer where the client waits for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quinn::{RecvStream, SendStream};
use sys::shares::Share;
use sys::turns::Line;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::close::{NO_ROOM, TOO_LONG, TOO_SLOW};
use crate::event::Event;
use crate::shared::{Answer, Shared, count, lock};

/// The largest transaction, of version 1.
const TRANSACTION_BYTES_MAX: usize = 4_096;
/// For a client to write all of a stream: it waits no longer for the answer.
const WRITTEN: Duration = Duration::from_secs(5);
/// For a client to take an answer.
const TAKEN: Duration = Duration::from_secs(5);

const NO_ROOM_ANSWER: (u16, &str) = (503, "unavailable");

/// What the streams of an admitted connection share.
pub struct Served {
    shared: Arc<Shared>,
    connection: u32,
    owner: Arc<str>,
    pub in_flight: AtomicUsize,
    /// A stream has ended.
    pub changed: Notify,
}

impl Served {
    pub fn new(shared: &Arc<Shared>, connection: u32, owner: &Arc<str>) -> Served {
        Served {
            shared: Arc::clone(shared),
            connection,
            owner: Arc::clone(owner),
            in_flight: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }
}

/// A stream that is not finished: neither answered nor given up.
pub struct Flight(Arc<Served>);

impl Flight {
    pub fn new(served: &Arc<Served>) -> Flight {
        served.in_flight.fetch_add(1, Ordering::AcqRel);
        Flight(Arc::clone(served))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}

/// Why a stream has no transaction.
enum Unread {
    /// The client has given it up, or the connection has ended.
    Lost,
    TooLong,
    NoRoom,
}

/// Reads a stream to its end and reports it. Its answer is left to another task, which may outlive
/// the connection.
pub async fn take(flight: Flight, mut receive: RecvStream, send: Option<SendStream>) {
    let Flight(served) = &flight;
    let shared = Arc::clone(&served.shared);
    let room = shared.streams.take(Arc::clone(&served.owner));
    let mut bytes_room = shared.bytes.open(Arc::clone(&served.owner));
    let read = match room {
        None => Err(Unread::NoRoom),
        Some(_) => match timeout(WRITTEN, read(&mut receive, &mut bytes_room)).await {
            Ok(read) => read,
            Err(_) => {
                count(&shared.counts.streams_reset);
                return end(receive, send, TOO_SLOW);
            }
        },
    };
    match read {
        Ok(bytes) => {
            let bytes = shared.dialect.transaction(bytes, send.is_some());
            let answer = report(served, bytes);
            tokio::spawn(answer_with(flight, send, answer, (room, bytes_room)));
        }
        Err(Unread::Lost) => {}
        Err(Unread::TooLong) => {
            count(&shared.counts.streams_reset);
            end(receive, send, TOO_LONG);
        }
        Err(Unread::NoRoom) => {
            count(&shared.counts.streams_refused);
            let _ = receive.stop(NO_ROOM);
            if let Some(send) = send {
                let (status, words) = NO_ROOM_ANSWER;
                let frame = shared.dialect.encode(status, words);
                tokio::spawn(async move { write(send, &frame).await });
            }
        }
    }
}

fn end(mut receive: RecvStream, send: Option<SendStream>, code: quinn::VarInt) {
    let _ = receive.stop(code);
    if let Some(mut send) = send {
        let _ = send.reset(code);
    }
}

async fn read(receive: &mut RecvStream, room: &mut Share<Arc<str>>) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    loop {
        let left = TRANSACTION_BYTES_MAX + 1 - bytes.len();
        let chunk = match receive.read_chunk(left, true).await {
            Ok(Some(chunk)) => chunk.bytes,
            Ok(None) => return Ok(bytes),
            Err(_) => return Err(Unread::Lost),
        };
        if !room.grow(chunk.len()) {
            return Err(Unread::NoRoom);
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() > TRANSACTION_BYTES_MAX {
            return Err(Unread::TooLong);
        }
    }
}

fn report(served: &Served, bytes: Vec<u8>) -> oneshot::Receiver<Answer> {
    let Served {
        shared, connection, ..
    } = served;
    let (sender, answer) = oneshot::channel();
    let stream = shared.next_stream();
    lock(&shared.pending).insert(stream, sender);
    let event = Event::Transaction {
        connection: *connection,
        stream,
        bytes,
    };
    let line = Line::Access(Arc::clone(&served.owner));
    shared.queue.push(&line, event);
    answer
}

/// Waits for the answer of the event loop, also for a client that reads none: until then it is work
/// of the edge.
async fn answer_with<R>(
    flight: Flight,
    send: Option<SendStream>,
    answer: oneshot::Receiver<Answer>,
    room: R,
) {
    let answer = answer.await;
    drop(room);
    if let (Some(send), Ok((status, words))) = (send, answer) {
        write(send, &flight.0.shared.dialect.encode(status, &words)).await;
    }
    drop(flight);
}

/// Writes all of an answer, and waits until the client has it.
async fn write(mut send: SendStream, frame: &[u8]) {
    let written = async {
        send.write_all(frame).await.is_ok() && send.finish().is_ok() && send.stopped().await.is_ok()
    };
    if !matches!(timeout(TAKEN, written).await, Ok(true)) {
        let _ = send.reset(TOO_SLOW);
    }
}
