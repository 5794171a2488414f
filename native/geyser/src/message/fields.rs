//! Fields of protobuf, written one by one, and accounts as these.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use yellowstone_grpc_proto::prost::bytes::BufMut;
use yellowstone_grpc_proto::prost::encoding::{
    WireType, encode_key, encode_varint, encoded_len_varint, key_len,
};
use yellowstone_grpc_proto::prost_types::Timestamp;

use crate::content::{Account, Content, Slice};

pub fn now() -> Timestamp {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp {
        seconds: elapsed.as_secs() as i64,
        nanos: elapsed.subsec_nanos() as i32,
    }
}

/// The write version of an account: its slot and its place among the accounts of the slot, so that
/// a later write always has a higher one, on any machine.
const WRITES_OF_SLOT: u64 = 1 << 20;

/// Bytes of a field that is written with its length.
pub fn sized_len(tag: u32, length: usize) -> usize {
    key_len(tag) + encoded_len_varint(length as u64) + length
}

/// Bytes of a number; proto3 leaves out zeros.
pub fn number_len(tag: u32, value: u64) -> usize {
    match value {
        0 => 0,
        _ => key_len(tag) + encoded_len_varint(value),
    }
}

pub fn put_head(out: &mut impl BufMut, tag: u32, length: usize) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

pub fn put_number(out: &mut impl BufMut, tag: u32, value: u64) {
    if value != 0 {
        encode_key(tag, WireType::Varint, out);
        encode_varint(value, out);
    }
}

/// Bytes of `SubscribeUpdateEntry` of a slot, given what is kept of it.
pub fn entry_len(kept: usize, slot: u64) -> usize {
    kept + number_len(1, slot) + number_len(7, slot)
}

/// What follows the kept bytes of an entry: its slot and its bank.
pub fn put_entry_place(out: &mut impl BufMut, slot: u64) {
    put_number(out, 1, slot);
    put_number(out, 7, slot);
}

/// An account of a slot as `SubscribeUpdateAccountInfo`: a head, then its data.
pub struct Info<'u> {
    content: &'u Content,
    entry: &'u Account,
    slices: &'u [Slice],
    write_version: u64,
    /// Bytes of the data that is sent.
    data: usize,
}

impl<'u> Info<'u> {
    pub fn of(content: &'u Content, index: usize, slices: &'u [Slice]) -> Info<'u> {
        let entry = &content.accounts[index];
        let data = content.slices(entry, slices).map(|range| range.len());
        let index = (index as u64).min(WRITES_OF_SLOT - 1);
        Info {
            content,
            entry,
            slices,
            write_version: match &entry.origin {
                Some(origin) => origin.write_version,
                None => content.slot * WRITES_OF_SLOT + index,
            },
            data: data.sum(),
        }
    }

    pub fn byte_count(&self) -> usize {
        sized_len(1, 32)
            + number_len(2, self.entry.lamports)
            + sized_len(3, 32)
            + number_len(4, u64::from(self.entry.executable))
            + number_len(5, self.entry.rent_epoch)
            + number_len(7, self.write_version)
            + self.signature().map_or(0, |one| sized_len(8, one.len()))
            + if self.data == 0 {
                0
            } else {
                sized_len(6, self.data)
            }
    }

    /// What the source names, which the index does not keep.
    fn signature(&self) -> Option<&'u [u8]> {
        self.entry.origin.as_ref()?.signature.as_deref()
    }

    /// All but the bytes of the data, which follow.
    pub fn put_head(&self, out: &mut impl BufMut) {
        put_head(out, 1, 32);
        out.put_slice(&self.entry.pubkey);
        put_number(out, 2, self.entry.lamports);
        put_head(out, 3, 32);
        out.put_slice(&self.entry.owner);
        put_number(out, 4, u64::from(self.entry.executable));
        put_number(out, 5, self.entry.rent_epoch);
        put_number(out, 7, self.write_version);
        if let Some(signature) = self.signature() {
            put_head(out, 8, signature.len());
            out.put_slice(signature);
        }
        if self.data != 0 {
            put_head(out, 6, self.data);
        }
    }

    /// Where the data is in the content.
    pub fn into_data(self) -> impl Iterator<Item = Range<usize>> + use<'u> {
        self.content.slices(self.entry, self.slices)
    }
}
