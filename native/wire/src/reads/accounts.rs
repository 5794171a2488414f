//! getAccountInfo, getMultipleAccounts and getBalance.

use super::common::{
    Commitment, KnownAccounts, Outcome, ReadLimits, ReplySink, UNCHANGED, all_or_nothing, find,
    is_unchanged, known, push_context, push_context_of, spill,
};
use crate::account_json::{AccountWriter, Encoding, Mints, View, push_u64};
use primitives::Pubkey;
use primitives::encoding::BASE58_BYTES_MAX;
use primitives::token::{self, TokenProgram};
use store::{AccountRef, Scope, Snapshot};
use sys::error::{Error, Result};

/// Maximum addresses of one call of [`multiple_accounts`].
pub const ADDRESSES_AT_ONCE_MAX: usize = 128;

/// How accounts that are read by their addresses are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub view: View,
    /// An account that was last written at or before this slot is written as [`UNCHANGED`].
    pub changed_since: Option<u64>,
}

impl From<View> for Wanted {
    fn from(view: View) -> Self {
        Wanted {
            view,
            changed_since: None,
        }
    }
}

impl Wanted {
    /// Bytes of its data that are written, before they are encoded.
    fn byte_count(&self, account: &AccountRef<'_>) -> usize {
        match is_unchanged(account, self.changed_since) {
            true => 0,
            false => self.view.bytes(account.data).len(),
        }
    }
}

/// getAccountInfo: the account, or `null`.
pub fn account_info(
    snapshot: &Snapshot<'_>,
    pubkey: &Pubkey,
    wanted: impl Into<Wanted>,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    let wanted = wanted.into();
    let found = [find(snapshot, pubkey)?];
    if is_over(&found, wanted, limits) {
        return Ok(Outcome::TooLarge);
    }
    all_or_nothing(out, |out| {
        push_context(snapshot, out)?;
        let outcome = push_accounts(snapshot, &found, wanted, limits, out)?;
        out.push(b'}');
        Ok(outcome)
    })
}

/// getBalance: the lamports of an account; 0 where there is none. Accounts have no history: one
/// that changed after the block of the commitment, and one that does not exist, are answered by the
/// tip, and the context names the slot of the answer.
pub fn balance(
    snapshot: &Snapshot<'_>,
    pubkey: &Pubkey,
    commitment: Commitment,
    out: &mut Vec<u8>,
) -> Result<()> {
    let block = commitment.block(snapshot)?;
    let found = find(snapshot, pubkey)?;
    let slot = match found {
        Some(account) if account.slot <= block.slot => block.slot,
        _ => snapshot.slot(),
    };
    push_context_of(slot, out);
    push_u64(out, found.map_or(0, |account| account.lamports));
    out.push(b'}');
    Ok(())
}

/// getMultipleAccounts of at most 128 addresses, in their order. More are too large.
pub fn multiple_accounts(
    snapshot: &Snapshot<'_>,
    pubkeys: &[Pubkey],
    wanted: impl Into<Wanted>,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    let wanted = wanted.into();
    let mut found = [None; ADDRESSES_AT_ONCE_MAX];
    let Some(found) = found.get_mut(..pubkeys.len()) else {
        return Ok(Outcome::TooLarge);
    };
    for (found, pubkey) in found.iter_mut().zip(pubkeys) {
        *found = find(snapshot, pubkey)?;
    }
    if is_over(found, wanted, limits) {
        return Ok(Outcome::TooLarge);
    }
    all_or_nothing(out, |out| {
        push_context(snapshot, out)?;
        out.push(b'[');
        let outcome = push_accounts(snapshot, found, wanted, limits, out)?;
        out.extend_from_slice(b"]}");
        Ok(outcome)
    })
}

/// Whether the data to be written is over the limits. Reads only lengths.
fn is_over(found: &[Option<AccountRef<'_>>], wanted: Wanted, limits: &ReadLimits) -> bool {
    let bytes = found
        .iter()
        .flatten()
        .map(|account| wanted.byte_count(account))
        .sum::<usize>();
    bytes > limits.records_bytes_max
        || (wanted.view.encoding == Encoding::Base64Zstd && bytes > limits.zstd_bytes_max)
}

fn push_accounts(
    snapshot: &Snapshot<'_>,
    found: &[Option<AccountRef<'_>>],
    wanted: Wanted,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    let accounts = KnownAccounts(snapshot);
    let mut writer = AccountWriter::new(wanted.view, Mints::by_address(&accounts));
    for (index, account) in found.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match account {
            Some(account) if is_unchanged(account, wanted.changed_since) => {
                out.extend_from_slice(UNCHANGED);
            }
            Some(account) => writer.write(out, account)?,
            None => out.extend_from_slice(b"null"),
        }
        // The sizes of the mints for jsonParsed are known only after writing.
        if writer.read_bytes() > limits.records_bytes_max {
            return Ok(Outcome::TooLarge);
        }
    }
    Ok(Outcome::Written)
}

/// getAccountInfo of an account of any size, in bounded memory.
pub fn stream_account(
    snapshot: &Snapshot<'_>,
    pubkey: &Pubkey,
    wanted: impl Into<Wanted>,
    sink: &mut dyn ReplySink,
) -> Result<()> {
    let (pubkeys, wanted) = (std::slice::from_ref(pubkey), wanted.into());
    check_first(snapshot, pubkeys, wanted)?;
    stream(snapshot, pubkeys, wanted, [b"", b"}"], sink)
}

/// getMultipleAccounts of any count, in bounded memory: the sink gets chunks of about 256 KiB.
/// Errors for the client are returned before the first chunk.
pub fn stream_accounts(
    snapshot: &Snapshot<'_>,
    pubkeys: &[Pubkey],
    wanted: impl Into<Wanted>,
    sink: &mut dyn ReplySink,
) -> Result<()> {
    let wanted = wanted.into();
    check_first(snapshot, pubkeys, wanted)?;
    stream(snapshot, pubkeys, wanted, [b"[", b"]}"], sink)
}

/// Checks everything that can fail, because a partly sent reply cannot become an error.
fn check_first(snapshot: &Snapshot<'_>, pubkeys: &[Pubkey], wanted: Wanted) -> Result<()> {
    let is_bounded = wanted.view.encoding == Encoding::Base58;
    let is_complete = snapshot.is_complete()?;
    if !is_bounded && *snapshot.scope() == Scope::All && is_complete {
        return Ok(());
    }
    for pubkey in pubkeys {
        let found = find(snapshot, pubkey)?;
        if !is_complete && wanted.view.encoding == Encoding::JsonParsed {
            check_mint(snapshot, found)?;
        }
        let bytes = found.map_or(0, |account| wanted.byte_count(&account));
        if is_bounded && bytes > BASE58_BYTES_MAX {
            return Err(Error::Base58TooLong);
        }
    }
    Ok(())
}

/// Fails if the store may lack the mint of a token account.
fn check_mint(snapshot: &Snapshot<'_>, account: Option<AccountRef<'_>>) -> Result<()> {
    let token = account.filter(|account| {
        TokenProgram::of(account.owner).is_some() && token::is_account(account.data)
    });
    match token.and_then(|account| token::mint_of(account.data)) {
        Some(mint) => known(snapshot, mint).map(|_| ()),
        None => Ok(()),
    }
}

fn stream(
    snapshot: &Snapshot<'_>,
    pubkeys: &[Pubkey],
    wanted: Wanted,
    [before, after]: [&[u8]; 2],
    sink: &mut dyn ReplySink,
) -> Result<()> {
    let accounts = KnownAccounts(snapshot);
    let mut writer = AccountWriter::new(wanted.view, Mints::by_address(&accounts));
    let mut out = sink.chunk();
    let mut spill = |out: &mut Vec<u8>| spill(sink, out);
    push_context(snapshot, &mut out)?;
    out.extend_from_slice(before);
    let mut is_first = true;
    for pubkey in pubkeys {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        match snapshot.account(pubkey)? {
            Some(account) if is_unchanged(&account, wanted.changed_since) => {
                out.extend_from_slice(UNCHANGED);
            }
            Some(account) => writer.write_chunks(&mut out, &account, &mut spill)?,
            None => out.extend_from_slice(b"null"),
        }
        spill(&mut out)?;
    }
    out.extend_from_slice(after);
    sink.write(out)
}
