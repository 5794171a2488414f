//! Writes frames: whole notifications, concatenated.

use std::ops::Range;

use super::error_json::{push_error, push_line};
use primitives::Pubkey;
use primitives::encoding::{push_base58, push_pubkey};
use store::{AccountRef, Logs};
use sys::error::Result;
use wire::account_json::{AccountWriter, Accounts, Mints, View, push_u64};

/// Flag in [`Frames::index`]: the last frame of its subscription.
pub const IS_LAST: u32 = 1;

/// Cached views of one account. More are rare, and the cache is searched linearly.
const WRITTEN_MAX: usize = 16;

/// The frames that a pass has written.
pub struct Frames {
    pub bytes: Vec<u8>,
    /// For each frame: subscription, length, flags.
    pub index: Vec<u32>,
    bytes_max: usize,
    /// Text of the current account in each view, as ranges of `bytes`.
    written: Vec<(View, bool, Range<usize>)>,
}

impl Frames {
    pub fn new(bytes_max: usize) -> Frames {
        Frames {
            bytes: Vec::new(),
            index: Vec::new(),
            bytes_max,
            written: Vec::new(),
        }
    }

    /// Whether the pass should end. An empty buffer always accepts one frame of any size.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.bytes_max && !self.bytes.is_empty()
    }

    /// Clears the cache for the next change.
    pub fn next_change(&mut self) {
        self.written.clear();
    }

    pub fn account<A: Accounts>(
        &mut self,
        id: u32,
        account: &AccountRef<'_>,
        view: View,
        accounts: &A,
    ) -> Result<()> {
        self.frame("account", id, 0, |frames| {
            push_context(&mut frames.bytes, account.slot);
            frames.account_value(account, view, false, accounts)?;
            frames.bytes.push(b'}');
            Ok(())
        })
    }

    pub fn program<A: Accounts>(
        &mut self,
        id: u32,
        pubkey: &Pubkey,
        account: &AccountRef<'_>,
        view: View,
        accounts: &A,
    ) -> Result<()> {
        self.frame("program", id, 0, |frames| {
            push_context(&mut frames.bytes, account.slot);
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
        id: u32,
        slot: u64,
        signature: &[u8; 64],
        error: Option<&[u8]>,
        logs: Logs<'_>,
    ) -> Result<()> {
        self.frame("logs", id, 0, |frames| {
            let out = &mut frames.bytes;
            push_context(out, slot);
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

    pub fn received(&mut self, id: u32, slot: u64) -> Result<()> {
        self.frame("signature", id, 0, |frames| {
            push_context(&mut frames.bytes, slot);
            frames.bytes.extend_from_slice(b"\"receivedSignature\"}");
            Ok(())
        })
    }

    /// Writes the outcome, the last frame of the subscription.
    pub fn outcome(&mut self, id: u32, slot: u64, error: Option<&[u8]>) -> Result<()> {
        self.frame("signature", id, IS_LAST, |frames| {
            push_context(&mut frames.bytes, slot);
            frames.bytes.extend_from_slice(b"{\"err\":");
            push_error(&mut frames.bytes, error);
            frames.bytes.extend_from_slice(b"}}");
            Ok(())
        })
    }

    pub fn slot(&mut self, id: u32, slot: u64, parent: u64, root: u64) -> Result<()> {
        self.frame("slot", id, 0, |frames| {
            let members = [
                ("{\"slot\":", slot),
                (",\"parent\":", parent),
                (",\"root\":", root),
            ];
            for (name, number) in members {
                frames.bytes.extend_from_slice(name.as_bytes());
                push_u64(&mut frames.bytes, number);
            }
            frames.bytes.push(b'}');
            Ok(())
        })
    }

    pub fn root(&mut self, id: u32, root: u64) -> Result<()> {
        self.frame("root", id, 0, |frames| {
            push_u64(&mut frames.bytes, root);
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
        self.index.extend([id, length, flags]);
        Ok(())
    }

    /// Appends the account in a view. Repeats of a view are copied from the first.
    fn account_value<A: Accounts>(
        &mut self,
        account: &AccountRef<'_>,
        view: View,
        is_in_page: bool,
        accounts: &A,
    ) -> Result<()> {
        let before = self
            .written
            .iter()
            .find(|(of, in_page, _)| (*of, *in_page) == (view, is_in_page));
        if let Some((_, _, range)) = before {
            self.bytes.extend_from_within(range.clone());
            return Ok(());
        }
        let start = self.bytes.len();
        // As in the reads of the same name: pages know the native mint without a look-up.
        let mints = if is_in_page {
            Mints::in_pages(accounts)
        } else {
            Mints::by_address(accounts)
        };
        AccountWriter::new(view, mints)
            .telling_what_is_too_long()
            .write(&mut self.bytes, account)?;
        if self.written.len() < WRITTEN_MAX {
            let range = start..self.bytes.len();
            self.written.push((view, is_in_page, range));
        }
        Ok(())
    }
}

/// Appends `{"context":{"slot":…},"value":`.
fn push_context(out: &mut Vec<u8>, slot: u64) {
    out.extend_from_slice(b"{\"context\":{\"slot\":");
    push_u64(out, slot);
    out.extend_from_slice(b"},\"value\":");
}
