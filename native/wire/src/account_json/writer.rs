//! Writes account objects.

use super::mint::Mints;
use super::parsed;
use super::source::Accounts;
use super::text::{push_bool, push_u64};
use super::view::{Encoding, View};
use primitives::encoding::{
    BASE58_BYTES_MAX, push_base58, push_base64_chunks, push_base64_zstd, push_pubkey,
};
use store::AccountRef;
use sys::error::Result;

/// The validator's text in place of base58 data of over 128 bytes.
const TOO_LONG: &[u8] = b"error: data too large for bs58 encoding";

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
        self.write_chunks(out, account, &mut |_| Ok(()))
    }

    /// Like [`AccountWriter::write`], but offers the buffer to `spill` within large base64 data.
    pub fn write_chunks(
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
            Encoding::Base64 | Encoding::JsonParsed => push_base64_chunks(out, bytes, spill)?,
        }
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(encoding.name().as_bytes());
        out.extend_from_slice(b"\"]");
        Ok(())
    }
}
