//! Checks arguments from JavaScript. A wrong argument is a bug of the caller: an `internal` error
//! that names it.

use std::time::{Duration, Instant};

use napi::bindgen_prelude::BigInt;
use primitives::Pubkey;
use primitives::encoding::BytesEncoding;
use sys::error::{Error, Result};
use wire::account_json::{DataSlice, Encoding, View};
use wire::reads::Wanted;

pub fn wrong(what: &str) -> Error {
    Error::Internal(format!("native argument: {what}"))
}

pub fn pubkey(bytes: &[u8]) -> Result<Pubkey> {
    bytes
        .try_into()
        .map_err(|_| wrong("a pubkey must be 32 bytes"))
}

pub fn pubkeys(bytes: &[u8]) -> Result<&[Pubkey]> {
    let (keys, rest) = bytes.as_chunks::<32>();
    if rest.is_empty() {
        Ok(keys)
    } else {
        Err(wrong("pubkeys must be 32 bytes each"))
    }
}

pub fn bytes_encoding(name: &str) -> Result<BytesEncoding> {
    match name {
        "base58" => Ok(BytesEncoding::Base58),
        "base64" => Ok(BytesEncoding::Base64),
        _ => Err(wrong("encoding of bytes must be base58 or base64")),
    }
}

/// A JavaScript number as a count. Values from 2^53 on are treated as unlimited.
pub fn count(number: f64, what: &str) -> Result<u64> {
    if number.is_finite() && number >= 0.0 {
        Ok(number as u64)
    } else {
        Err(wrong(what))
    }
}

/// A JavaScript number as an integer of at most `max`. napi's u32 would wrap −1 and 2^32 around and
/// truncate fractions.
pub fn whole(number: f64, max: u32, what: &str) -> Result<u32> {
    if number.fract() == 0.0 && (0.0..=f64::from(max)).contains(&number) {
        Ok(number as u32)
    } else {
        Err(wrong(what))
    }
}

/// `Number.MAX_SAFE_INTEGER`: larger integers are not exact in JavaScript.
const INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// A JavaScript number to be stored, which must therefore be exact.
pub fn integer(number: f64, what: &str) -> Result<u64> {
    if number.fract() == 0.0 && (0.0..=INTEGER_MAX).contains(&number) {
        Ok(number as u64)
    } else {
        Err(wrong(what))
    }
}

/// An `offset` of −1 means no slice.
pub fn view(encoding: f64, offset: f64, length: f64) -> Result<View> {
    let encoding = whole(encoding, u32::MAX, "an encoding")
        .ok()
        .and_then(Encoding::of_code)
        .ok_or_else(|| wrong("encoding must be 0 to 3"))?;
    let slice = if offset == -1.0 {
        None
    } else {
        let (offset, length) = (
            count(offset, "a slice offset")?,
            count(length, "a slice length")?,
        );
        Some(DataSlice { offset, length })
    };
    Ok(View { encoding, slice })
}

/// A slot; −1 is none.
pub fn slot_or_none(slot: f64, what: &str) -> Result<Option<u64>> {
    match slot {
        -1.0 => Ok(None),
        _ => count(slot, what).map(Some),
    }
}

/// How accounts are written that are read by their addresses.
pub fn wanted(encoding: f64, offset: f64, length: f64, changed_since: f64) -> Result<Wanted> {
    Ok(Wanted {
        view: view(encoding, offset, length)?,
        changed_since: slot_or_none(changed_since, "changedSince")?,
    })
}

/// Milliseconds from now, at most an hour.
pub fn deadline(ms: f64) -> Result<Instant> {
    let ms = count(ms, "a deadline")?.min(3_600_000);
    Ok(Instant::now() + Duration::from_millis(ms))
}

/// A BigInt as an i64.
pub fn signed(number: &BigInt) -> Result<i64> {
    let (value, is_exact) = number.get_i64();
    is_exact
        .then_some(value)
        .ok_or_else(|| wrong("an integer must have 64 bits"))
}

/// A BigInt as a u64.
pub fn exact(number: &BigInt, what: &str) -> Result<u64> {
    let (is_negative, value, is_lossless) = number.get_u64();
    if is_negative || !is_lossless {
        Err(wrong(what))
    } else {
        Ok(value)
    }
}

pub fn signature(bytes: &[u8]) -> Result<[u8; 64]> {
    bytes
        .try_into()
        .map_err(|_| wrong("a signature must be 64 bytes"))
}
