//! Writes frames: whole notifications, concatenated.

use std::ops::Range;

use super::cursor::Cursor;
use super::error_json::{push_error, push_line};
use primitives::Pubkey;
use primitives::encoding::{push_base58, push_pubkey};
use store::{AccountRef, Logs};
use sys::error::Result;
use wire::account_json::{AccountWriter, Accounts, Mints, View, push_u64};
use wire::transaction_json::{Details, Shape, TransactionView, push_transaction_member};

/// Flag in [`Frames::index`]: the last frame of its subscription.
pub const IS_LAST: u32 = 1;
/// Flag in [`Frames::index`]: of a replay, which waits while its socket is held.
pub const IS_REPLAYED: u32 = 2;

/// Whose frame it is.
#[derive(Debug, Clone, Copy)]
pub struct To {
    pub id: u32,
    /// The place after this frame, if the frame carries it.
    pub cursor: Option<Cursor>,
}

/// Cached views of one change. It is searched linearly. Transactions have no more views
/// that differ.
const WRITTEN_MAX: usize = 64;

/// What text is equal for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// The account in its program or by its address.
    Account(View, bool),
    Transaction(TransactionView),
}

/// The frames that a pass has written.
pub struct Frames {
    pub bytes: Vec<u8>,
    /// For each frame: subscription, length, flags.
    pub index: Vec<u32>,
    bytes_max: usize,
    /// Flags of every frame.
    flags: u32,
    /// Text of the current change in each view, as ranges of `bytes`.
    written: Vec<(Written, Range<usize>)>,
}

impl Frames {
    pub fn new(bytes_max: usize) -> Frames {
        Frames {
            bytes: Vec::new(),
            index: Vec::new(),
            bytes_max,
            flags: 0,
            written: Vec::new(),
        }
    }

    /// Whether the pass should end. An empty buffer always accepts one frame of any size.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.bytes_max && !self.bytes.is_empty()
    }

    /// Accepts so many more bytes of frames, all with these flags.
    pub fn extend(&mut self, bytes_max: usize, flags: u32) {
        self.bytes_max = self.bytes.len() + bytes_max;
        self.flags = flags;
    }

    /// Clears the cache for the next change.
    pub fn next_change(&mut self) {
        self.written.clear();
    }

    pub fn account<A: Accounts>(
        &mut self,
        to: To,
        account: &AccountRef<'_>,
        view: View,
        accounts: &A,
    ) -> Result<()> {
        self.frame("account", to.id, 0, |frames| {
            push_context(&mut frames.bytes, account.slot, to.cursor);
            frames.account_value(account, view, false, accounts)?;
            frames.bytes.push(b'}');
            Ok(())
        })
    }

    pub fn program<A: Accounts>(
        &mut self,
        to: To,
        pubkey: &Pubkey,
        account: &AccountRef<'_>,
        view: View,
        accounts: &A,
    ) -> Result<()> {
        self.frame("program", to.id, 0, |frames| {
            push_context(&mut frames.bytes, account.slot, to.cursor);
            frames.bytes.extend_from_slice(b"{\"pubkey\":\"");
            push_pubkey(&mut frames.bytes, pubkey);
            frames.bytes.extend_from_slice(b"\",\"account\":");
            frames.account_value(account, view, true, accounts)?;
            frames.bytes.extend_from_slice(b"}}");
            Ok(())
        })
    }

    pub fn logs(
        &mut self,
        to: To,
        slot: u64,
        signature: &[u8; 64],
        error: Option<&[u8]>,
        logs: Logs<'_>,
    ) -> Result<()> {
        self.frame("logs", to.id, 0, |frames| {
            let out = &mut frames.bytes;
            push_context(out, slot, to.cursor);
            out.extend_from_slice(b"{\"signature\":\"");
            push_base58(out, signature)?;
            out.extend_from_slice(b"\",\"err\":");
            push_error(out, error);
            out.extend_from_slice(b",\"logs\":[");
            for (count, line) in logs.enumerate() {
                if count > 0 {
                    out.push(b',');
                }
                push_line(out, line);
            }
            out.extend_from_slice(b"]}}");
            Ok(())
        })
    }

    /// `full` is the feed's protobuf of it, if the store has that.
    pub fn transaction(
        &mut self,
        to: To,
        slot: u64,
        signature: &[u8; 64],
        full: Option<&[u8]>,
        view: TransactionView,
    ) -> Result<()> {
        self.frame("transaction", to.id, 0, |frames| {
            frames.cached(Written::Transaction(view), |out| {
                out.push(b'{');
                push_transaction_member(out, view, full);
                let has_signature = match (view.shape, view.details) {
                    (_, Details::None) => false,
                    (Shape::Positional, _) | (_, Details::Signatures) => true,
                    (Shape::Named, _) => false,
                };
                if has_signature {
                    out.extend_from_slice(b"\"signature\":\"");
                    push_base58(out, signature)?;
                    out.extend_from_slice(b"\",");
                }
                out.extend_from_slice(b"\"slot\":");
                push_u64(out, slot);
                if view.shape == Shape::Positional {
                    out.extend_from_slice(b",\"transactionIndex\":");
                    push_u64(out, full.map_or(0, store::transaction_index));
                }
                Ok(())
            })?;
            push_cursor(&mut frames.bytes, to.cursor);
            frames.bytes.push(b'}');
            Ok(())
        })
    }

    pub fn received(&mut self, id: u32, slot: u64) -> Result<()> {
        self.frame("signature", id, 0, |frames| {
            push_context(&mut frames.bytes, slot, None);
            frames.bytes.extend_from_slice(b"\"receivedSignature\"}");
            Ok(())
        })
    }

    /// Writes the outcome, the last frame of the subscription.
    pub fn outcome(&mut self, id: u32, slot: u64, error: Option<&[u8]>) -> Result<()> {
        self.frame("signature", id, IS_LAST, |frames| {
            push_context(&mut frames.bytes, slot, None);
            frames.bytes.extend_from_slice(b"{\"err\":");
            push_error(&mut frames.bytes, error);
            frames.bytes.extend_from_slice(b"}}");
            Ok(())
        })
    }

    pub fn slot(&mut self, to: To, slot: u64, parent: u64, root: u64) -> Result<()> {
        self.frame("slot", to.id, 0, |frames| {
            let members = [
                ("{\"slot\":", slot),
                (",\"parent\":", parent),
                (",\"root\":", root),
            ];
            for (name, number) in members {
                frames.bytes.extend_from_slice(name.as_bytes());
                push_u64(&mut frames.bytes, number);
            }
            push_cursor(&mut frames.bytes, to.cursor);
            frames.bytes.push(b'}');
            Ok(())
        })
    }

    /// The result is a number, so the cursor is beside it.
    pub fn root(&mut self, to: To, root: u64) -> Result<()> {
        self.frame("root", to.id, 0, |frames| {
            push_u64(&mut frames.bytes, root);
            push_cursor(&mut frames.bytes, to.cursor);
            Ok(())
        })
    }

    /// Says that notifications of these slots may be missing.
    pub fn gap(&mut self, to: To, (first, last): (u64, u64), reason: &str) -> Result<()> {
        self.frame("gap", to.id, 0, |frames| {
            let out = &mut frames.bytes;
            out.extend_from_slice(b"{\"gap\":{\"from\":");
            push_u64(out, first);
            out.extend_from_slice(b",\"to\":");
            push_u64(out, last);
            out.extend_from_slice(b",\"reason\":\"");
            out.extend_from_slice(reason.as_bytes());
            out.extend_from_slice(b"\"}");
            push_cursor(out, to.cursor);
            out.push(b'}');
            Ok(())
        })
    }

    /// Writes a frame around its result. On failure, writes nothing.
    fn frame(
        &mut self,
        kind: &str,
        id: u32,
        flags: u32,
        write: impl FnOnce(&mut Frames) -> Result<()>,
    ) -> Result<()> {
        let start = self.bytes.len();
        self.bytes
            .extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
        self.bytes.extend_from_slice(kind.as_bytes());
        self.bytes
            .extend_from_slice(b"Notification\",\"params\":{\"result\":");
        if let Err(error) = write(self) {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.bytes.extend_from_slice(b",\"subscription\":");
        push_u64(&mut self.bytes, u64::from(id));
        self.bytes.extend_from_slice(b"}}");
        // An account is at most 10 MiB, so a frame is far below 4 GiB.
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.index.extend([id, length, flags | self.flags]);
        Ok(())
    }

    /// Appends the account in a view.
    fn account_value<A: Accounts>(
        &mut self,
        account: &AccountRef<'_>,
        view: View,
        is_in_page: bool,
        accounts: &A,
    ) -> Result<()> {
        self.cached(Written::Account(view, is_in_page), |out| {
            // As in the reads of the same name: pages know the native mint without a look-up.
            let mints = if is_in_page {
                Mints::in_pages(accounts)
            } else {
                Mints::by_address(accounts)
            };
            AccountWriter::new(view, mints)
                .telling_what_is_too_long()
                .write(out, account)
        })
    }

    /// Appends text of the current change. Repeats are copied from the first.
    fn cached(
        &mut self,
        of: Written,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if let Some((_, range)) = self.written.iter().find(|(other, _)| *other == of) {
            self.bytes.extend_from_within(range.clone());
            return Ok(());
        }
        let start = self.bytes.len();
        write(&mut self.bytes)?;
        if self.written.len() < WRITTEN_MAX {
            self.written.push((of, start..self.bytes.len()));
        }
        Ok(())
    }
}

/// Appends `{"context":{"slot":…},"value":`, with `"cursor"` in the context: clients hand it over
/// from there.
fn push_context(out: &mut Vec<u8>, slot: u64, cursor: Option<Cursor>) {
    out.extend_from_slice(b"{\"context\":{\"slot\":");
    push_u64(out, slot);
    push_cursor(out, cursor);
    out.extend_from_slice(b"},\"value\":");
}

/// Appends `,"cursor":"…"`.
fn push_cursor(out: &mut Vec<u8>, cursor: Option<Cursor>) {
    if let Some(cursor) = cursor {
        out.extend_from_slice(b",\"cursor\":\"");
        cursor.push(out);
        out.push(b'"');
    }
}
