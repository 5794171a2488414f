//! Whole blocks, of which one may have hundreds of megabytes: they are written from the shared
//! content of their slot, a piece at a time, as the client takes them.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::vec::IntoIter;

use hyper::body::{Body as HttpBody, Frame};
use tonic::Status;
use tonic::body::Body;
use yellowstone_grpc_proto::prost::bytes::{BufMut, Bytes, BytesMut};

use crate::calls::lock;
use crate::control::Control;
use crate::message::blocks::BlockUpdate;
use crate::status::internal;

/// Bytes of a piece, and what the head of an account or an entry adds at most.
const PIECE_BYTES: usize = 32 * 1024;
const HEAD_BYTES: usize = 512;

/// The message of a block, while it is written.
pub struct Pieces {
    update: BlockUpdate,
    transactions: IntoIter<u32>,
    accounts: IntoIter<u32>,
    entries: Range<usize>,
    /// What is next of the content.
    ranges: VecDeque<Range<usize>>,
    head: Option<Bytes>,
}

impl Pieces {
    /// Fails if the message is over 4 GiB, the most that gRPC has.
    pub fn new(mut update: BlockUpdate) -> Result<Pieces, Status> {
        let length = u32::try_from(update.byte_count()).map_err(|_| internal())?;
        let mut head = BytesMut::new();
        // It is not compressed.
        head.put_u8(0);
        head.put_u32(length);
        update.put_head(&mut head);
        Ok(Pieces {
            transactions: std::mem::take(&mut update.transactions).into_iter(),
            accounts: std::mem::take(&mut update.accounts).into_iter(),
            entries: update.entries.clone(),
            update,
            ranges: VecDeque::new(),
            head: Some(head.freeze()),
        })
    }

    /// `None` at the end.
    pub fn next(&mut self) -> Option<Bytes> {
        if let Some(head) = self.head.take() {
            return Some(head);
        }
        let mut piece = BytesMut::with_capacity(PIECE_BYTES + HEAD_BYTES);
        while piece.len() < PIECE_BYTES {
            if let Some(range) = self.ranges.front_mut() {
                let taken = range.len().min(PIECE_BYTES - piece.len());
                let end = range.start + taken;
                piece.put_slice(self.update.content.bytes(range.start..end));
                range.start = end;
                if range.start == range.end {
                    self.ranges.pop_front();
                }
            } else if let Some(index) = self.transactions.next() {
                let range = self.update.put_transaction(index, &mut piece);
                self.ranges.push_back(range);
            } else if let Some(index) = self.accounts.next() {
                self.ranges
                    .extend(self.update.put_account(index, &mut piece));
            } else if let Some(index) = self.entries.next() {
                self.update.put_entry(index, &mut piece);
            } else {
                break;
            }
        }
        (!piece.is_empty()).then(|| piece.freeze())
    }
}

/// The block that a stream is at.
pub type Current = Arc<Mutex<Option<Pieces>>>;

/// The body of a stream: `others` has the messages that are not blocks, and waits while there is a
/// block in `current`.
pub struct Updates {
    pub others: Body,
    pub current: Current,
    pub control: Arc<Control>,
}

impl Updates {
    fn next_piece(&self) -> Option<Bytes> {
        let mut current = lock(&self.current);
        let pieces = current.as_mut()?;
        // What has to end leaves its block unfinished; the status follows.
        let piece = match self.control.check() {
            Ok(()) => pieces.next(),
            Err(_) => None,
        };
        if piece.is_none() {
            *current = None;
        }
        self.control.set_active();
        piece
    }
}

impl HttpBody for Updates {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if let Some(piece) = self.next_piece() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let polled = Pin::new(&mut self.others).poll_frame(cx);
            // They wait for the chain, or for a block that is to be written now.
            if polled.is_ready() || lock(&self.current).is_none() {
                return polled;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.others.is_end_stream()
    }
}
