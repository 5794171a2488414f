//! Writes one account as JSON. This is not done in JavaScript because lamports and rentEpoch are
//! u64, which a double cannot hold exactly.

mod amount;
mod mint;
mod parsed;
mod text;

pub use amount::push_amount;
pub use mint::{MintData, Mints};
pub use text::{push_bool, push_str, push_u64};

use primitives::Pubkey;
use primitives::encoding::{
    BASE58_BYTES_MAX, push_base58, push_base64_pieces, push_base64_zstd, push_pubkey,
};
use store::AccountRef;
use sys::error::Result;

/// The validator's text in place of base58 data of over 128 bytes.
const TOO_LONG: &[u8] = b"error: data too large for bs58 encoding";

/// How `data` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Base64,
    Base58,
    Base64Zstd,
    JsonParsed,
}

impl Encoding {
    /// All four, in the order of their codes at the native boundary.
    pub const ALL: [Encoding; 4] = [
        Encoding::Base64,
        Encoding::Base58,
        Encoding::Base64Zstd,
        Encoding::JsonParsed,
    ];

    /// The encoding of a code: base64 0, base58 1, base64+zstd 2, jsonParsed 3.
    pub fn of_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// The encoding of a client's name for it.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name().as_bytes() == name)
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Base64 => "base64",
            Encoding::Base58 => "base58",
            Encoding::Base64Zstd => "base64+zstd",
            Encoding::JsonParsed => "jsonParsed",
        }
    }
}

/// The part of `data` that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSlice {
    pub offset: u64,
    pub length: u64,
}

/// Encoding and slice of `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub encoding: Encoding,
    pub slice: Option<DataSlice>,
}

impl View {
    /// The bytes that this view encodes. jsonParsed ignores the slice, even where it falls back to
    /// base64. An offset past the end leaves no bytes.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let Some(slice) = self.slice.filter(|_| self.encoding != Encoding::JsonParsed) else {
            return data;
        };
        let offset = usize::try_from(slice.offset)
            .unwrap_or(usize::MAX)
            .min(data.len());
        let (_, rest) = data.split_at(offset);
        rest.get(..usize::try_from(slice.length).unwrap_or(usize::MAX))
            .unwrap_or(rest)
    }
}

/// What jsonParsed reads beside the account, at one snapshot.
pub trait Accounts {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>>;
    /// Seconds since 1970 by the chain's clock.
    fn unix_timestamp(&self) -> i64;
}

/// Writes the accounts of one reply in one view. Caches their mints.
pub struct AccountWriter<'a, A: Accounts> {
    view: View,
    mints: Mints<'a, A>,
    read_bytes: usize,
    tells_too_long: bool,
}

impl<'a, A: Accounts> AccountWriter<'a, A> {
    pub fn new(view: View, mints: Mints<'a, A>) -> Self {
        AccountWriter {
            view,
            mints,
            read_bytes: 0,
            tells_too_long: false,
        }
    }

    /// For notifications, which cannot return an error: writes the validator's text in place of
    /// data too long for base58.
    pub fn telling_what_is_too_long(self) -> Self {
        AccountWriter {
            tells_too_long: true,
            ..self
        }
    }

    /// Bytes of account data read, including mints.
    pub fn read_bytes(&self) -> usize {
        self.read_bytes + self.mints.read_bytes()
    }

    /// Appends one account object.
    pub fn write(&mut self, out: &mut Vec<u8>, account: &AccountRef<'_>) -> Result<()> {
        self.write_pieces(out, account, &mut |_| Ok(()))
    }

    /// Like [`AccountWriter::write`], but offers the buffer to `spill` within large base64 data.
    pub fn write_pieces(
        &mut self,
        out: &mut Vec<u8>,
        account: &AccountRef<'_>,
        spill: &mut impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        out.extend_from_slice(b"{\"lamports\":");
        push_u64(out, account.lamports);
        out.extend_from_slice(b",\"data\":");
        self.write_data(out, account, spill)?;
        out.extend_from_slice(b",\"owner\":\"");
        push_pubkey(out, account.owner);
        out.extend_from_slice(b"\",\"executable\":");
        push_bool(out, account.executable);
        out.extend_from_slice(b",\"rentEpoch\":");
        push_u64(out, account.rent_epoch);
        out.extend_from_slice(b",\"space\":");
        push_u64(out, account.data.len() as u64);
        out.push(b'}');
        Ok(())
    }

    fn write_data(
        &mut self,
        out: &mut Vec<u8>,
        account: &AccountRef<'_>,
        spill: &mut impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.view.bytes(account.data);
        self.read_bytes += bytes.len();
        let mut encoding = self.view.encoding;
        if encoding == Encoding::JsonParsed {
            if parsed::push_parsed(out, account, &mut self.mints)? {
                return Ok(());
            }
            encoding = Encoding::Base64;
        }
        out.extend_from_slice(b"[\"");
        match encoding {
            Encoding::Base58 if self.tells_too_long && bytes.len() > BASE58_BYTES_MAX => {
                out.extend_from_slice(TOO_LONG);
            }
            Encoding::Base58 => push_base58(out, bytes)?,
            Encoding::Base64Zstd => push_base64_zstd(out, bytes)?,
            Encoding::Base64 | Encoding::JsonParsed => push_base64_pieces(out, bytes, spill)?,
        }
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(encoding.name().as_bytes());
        out.extend_from_slice(b"\"]");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
