//! Base58, base64 and zstd encodings of the RPC protocol. All inputs are limited: base58 takes
//! quadratic time, so longer input is rejected first.

use std::cell::RefCell;

use base64_simd::STANDARD;

use crate::Pubkey;
use crate::token::{TOKEN_2022_PROGRAM, TOKEN_PROGRAM};
use sys::error::{Error, Result};

/// Maximum characters of the base58 text of 32 bytes; a longer key is rejected without decoding, as
/// in Agave.
pub const PUBKEY_CHARS_MAX: usize = 44;
/// Maximum bytes of a `base58` answer or a `memcmp` filter: Agave's limit.
pub const BASE58_BYTES_MAX: usize = 128;
/// Maximum characters of a `memcmp` text of 128 bytes: Agave's limits, checked before decoding.
const MEMCMP_BASE58_CHARS_MAX: usize = 175;
const MEMCMP_BASE64_CHARS_MAX: usize = 172;
/// Bytes that [`push_base64_chunks`] encodes before it offers the buffer. A multiple of three, so
/// that the chunks join to one base64 text; 256 KiB encoded.
const CHUNK_BYTES: usize = 192 * 1024;
/// Maximum size of the compression buffer that a thread keeps between calls, so that one 10 MiB
/// account does not keep its memory allocated.
const ZSTD_BUFFER_KEPT_BYTES: usize = 256 * 1024;

/// Decodes one address. Fails with [`Error::PubkeyDecode`] if the text is not base58, and with
/// [`Error::PubkeySize`] if it is not 32 bytes.
pub fn decode_pubkey(text: &str) -> Result<Pubkey> {
    decode_pubkey_bytes(text.as_bytes()).ok_or_else(|| {
        if text.len() > PUBKEY_CHARS_MAX || decode_base58(text.as_bytes()).is_some() {
            Error::PubkeySize
        } else {
            Error::PubkeyDecode(text.to_string())
        }
    })
}

/// Decodes one address from the bytes of its text; `None` if it is invalid.
pub fn decode_pubkey_bytes(text: &[u8]) -> Option<Pubkey> {
    if text.len() > PUBKEY_CHARS_MAX {
        return None;
    }
    let mut pubkey = [0; 32];
    five8::decode_32(text, &mut pubkey).ok()?;
    Some(pubkey)
}

/// Decodes several addresses in order; fails with the error of the first invalid one.
pub fn decode_pubkeys<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Pubkey>> {
    texts
        .iter()
        .map(|text| decode_pubkey(text.as_ref()))
        .collect()
}

/// The encoding of the `bytes` of a `memcmp` filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesEncoding {
    Base58,
    Base64,
}

/// Decodes the `bytes` of a `memcmp` filter: at most 128 bytes, possibly none.
pub fn decode_memcmp(text: &str, encoding: BytesEncoding) -> Result<Vec<u8>> {
    let (chars_max, name) = match encoding {
        BytesEncoding::Base58 => (MEMCMP_BASE58_CHARS_MAX, "base58"),
        BytesEncoding::Base64 => (MEMCMP_BASE64_CHARS_MAX, "base64"),
    };
    if text.len() > chars_max {
        return Err(Error::MemcmpTooLarge);
    }
    let bytes = match encoding {
        BytesEncoding::Base58 => decode_base58(text.as_bytes()),
        BytesEncoding::Base64 => STANDARD.decode_to_vec(text).ok(),
    };
    let bytes = bytes.ok_or(Error::MemcmpBytes(name))?;
    if bytes.len() > BASE58_BYTES_MAX {
        Err(Error::MemcmpTooLarge)
    } else {
        Ok(bytes)
    }
}

const KNOWN: [(&Pubkey, &[u8]); 3] = [
    (
        &TOKEN_PROGRAM,
        b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    ),
    (&[0; 32], b"11111111111111111111111111111111"),
    (
        &TOKEN_2022_PROGRAM,
        b"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    ),
];

/// Appends the base58 text of 32 bytes.
pub fn push_pubkey(out: &mut Vec<u8>, pubkey: &Pubkey) {
    // Cached texts of the programs that own most accounts.
    for (known, text) in &KNOWN {
        if pubkey == *known {
            return out.extend_from_slice(text);
        }
    }
    let mut text = [0; PUBKEY_CHARS_MAX];
    let length = five8::encode_32(pubkey, &mut text);
    out.extend_from_slice(text.get(..usize::from(length)).unwrap_or_default());
}

/// The base58 text of 32 bytes.
pub fn encode_pubkey(pubkey: &Pubkey) -> String {
    let mut text = Vec::with_capacity(PUBKEY_CHARS_MAX);
    push_pubkey(&mut text, pubkey);
    text.into_iter().map(char::from).collect()
}

/// Appends the base58 text of up to 128 bytes.
pub fn push_base58(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if bytes.len() > BASE58_BYTES_MAX {
        return Err(Error::Base58TooLong);
    }
    bs58::encode(bytes)
        .onto(out)
        .map_err(|error| Error::Internal(error.to_string()))?;
    Ok(())
}

/// Characters that one step of [`decode_long_base58`] takes, and 58 to that power.
const STEP_CHARS: usize = 5;
const STEP_FACTORS: [u64; STEP_CHARS + 1] = [1, 58, 3_364, 195_112, 11_316_496, 656_356_768];

/// Decodes base58 of at most `bytes_max` bytes; `None` if it is not, or is longer. Quadratic as
/// base58 is, so a text that must be too long is not decoded: 1,232 bytes take 0.05 ms.
pub fn decode_long_base58(text: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    // log(256) / log(58) is 1.3658.
    if text.len() > bytes_max * 1_366 / 1_000 + 1 {
        return None;
    }
    let zeros = text.iter().take_while(|byte| **byte == b'1').count();
    // The number in base 2^32, its lowest digit first.
    let mut digits: Vec<u32> = Vec::with_capacity(bytes_max.div_ceil(4) + 1);
    for step in text.get(zeros..)?.chunks(STEP_CHARS) {
        let mut carry = 0;
        for byte in step {
            carry = carry * 58 + base58_digit(*byte)?;
        }
        let factor = *STEP_FACTORS.get(step.len())?;
        for digit in &mut digits {
            let value = u64::from(*digit) * factor + carry;
            *digit = value as u32;
            carry = value >> 32;
        }
        if carry > 0 {
            digits.push(carry as u32);
        }
    }
    let mut bytes = vec![0; zeros];
    let whole = digits.iter().rev().flat_map(|digit| digit.to_be_bytes());
    bytes.extend(whole.skip_while(|byte| *byte == 0));
    (bytes.len() <= bytes_max).then_some(bytes)
}

/// Base58 of any length, for bytes with a bound: quadratic in it, as base58 is. Four bytes and five
/// characters a step take a tenth of the time of one by one.
pub fn encode_long_base58(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let (_, rest) = bytes.split_at(zeros);
    // The number in base 58^5, its lowest digit first.
    let base = STEP_FACTORS[STEP_CHARS];
    let mut digits: Vec<u32> = Vec::with_capacity(bytes.len() * 1_366 / 5_000 + 1);
    let (first, words) = rest.split_at(rest.len() % 4);
    for word in std::iter::once(first).chain(words.chunks(4)) {
        let mut carry = word
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        for digit in &mut digits {
            let value = (u64::from(*digit) << 32) + carry;
            *digit = (value % base) as u32;
            carry = value / base;
        }
        while carry > 0 {
            digits.push((carry % base) as u32);
            carry /= base;
        }
    }
    let mut text = vec![b'1'; zeros];
    let characters = digits.iter().rev().flat_map(|digit| {
        let of = |power: u64| DIGITS[(u64::from(*digit) / power % 58) as usize];
        let [_, powers @ ..] = STEP_FACTORS;
        [
            of(powers[3]),
            of(powers[2]),
            of(powers[1]),
            of(powers[0]),
            of(1),
        ]
    });
    text.extend(characters.skip_while(|character| *character == b'1'));
    text.into_iter().map(char::from).collect()
}

const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

fn base58_digit(byte: u8) -> Option<u64> {
    const VALUES: [u8; 256] = {
        let mut values = [u8::MAX; 256];
        let mut at = 0;
        while at < DIGITS.len() {
            values[DIGITS[at] as usize] = at as u8;
            at += 1;
        }
        values
    };
    let value = VALUES[usize::from(byte)];
    (value != u8::MAX).then_some(value.into())
}

/// Decodes base58 of at most 175 characters.
fn decode_base58(text: &[u8]) -> Option<Vec<u8>> {
    bs58::decode(text).into_vec().ok()
}

/// Appends standard, padded base64.
pub fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    // The crate reserves exactly what it needs; reserving here grows the buffer by doubling, which
    // keeps a page of many rows linear.
    out.reserve(STANDARD.encoded_length(bytes.len()));
    STANDARD.encode_append(bytes, out);
}

/// Appends base64 in chunks of 256 KiB and offers the buffer after each chunk but the last, so that
/// a reply of any size can be sent through a small buffer.
pub fn push_base64_chunks(
    out: &mut Vec<u8>,
    bytes: &[u8],
    spill: &mut impl FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_at_checked(CHUNK_BYTES) {
        push_base64(out, chunk);
        spill(out)?;
        rest = after;
    }
    push_base64(out, rest);
    Ok(())
}

thread_local! {
    /// Reused, because creating a compressor costs more than compressing a small account.
    static ZSTD: RefCell<Option<Zstd>> = const { RefCell::new(None) };
}

struct Zstd {
    compressor: zstd::bulk::Compressor<'static>,
    buffer: Vec<u8>,
}

/// Appends base64 of one zstd frame at the library's default level. Empty input gives a valid
/// frame.
pub fn push_base64_zstd(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    ZSTD.with_borrow_mut(|zstd| {
        let zstd = match zstd {
            Some(zstd) => zstd,
            None => zstd.insert(Zstd {
                compressor: zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?,
                buffer: Vec::new(),
            }),
        };
        zstd.buffer.clear();
        zstd.buffer
            .reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        zstd.compressor
            .compress_to_buffer(bytes, &mut zstd.buffer)?;
        push_base64(out, &zstd.buffer);
        zstd.buffer.clear();
        zstd.buffer.shrink_to(ZSTD_BUFFER_KEPT_BYTES);
        Ok(())
    })
}

#[cfg(test)]
mod tests;
