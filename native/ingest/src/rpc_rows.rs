//! Reads accounts from the answer of an upstream RPC as it arrives: getProgramAccounts (plain, with
//! a context, or paged) and getMultipleAccounts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64_simd::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::json_rows::{JsonLimits, JsonRows, Part, wrong};
use primitives::Pubkey;
use primitives::encoding::decode_pubkey_bytes;
use primitives::token::{self, TokenProgram};
use store::row_codec::PackedRow;
use store::{ACCOUNT_DATA_BYTES_MAX, AccountRef};
use sys::error::Result;

/// Bound of the envelope around the rows: a few members, or an error with its text.
const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// 10 MiB as base64, and the other members of the row.
const ROW_BYTES_MAX: usize = ACCOUNT_DATA_BYTES_MAX / 3 * 4 + 4 * 1024;
/// Distinct data lengths that are counted. A program with more is not split by length.
pub const SIZES_MAX: usize = 256;
/// Characters kept of an upstream's message.
const MESSAGE_CHARS_MAX: usize = 300;

/// The kind of answer expected.
pub enum Wanted {
    /// Rows that contain their address.
    Listed,
    /// One account or null for each of these addresses, in order.
    Positional(Vec<Pubkey>),
    /// Only the counts of accounts per data length: the request excluded the data.
    Sizes,
}

/// The result of an answer apart from its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RpcEnd {
    /// The slot of the answer's context, if any.
    pub slot: Option<u64>,
    pub rows: u64,
    /// The key of the next page.
    pub pagination_key: Option<String>,
    pub error: Option<RpcFailure>,
    /// Data length and number of accounts with it. Empty if there are over [`SIZES_MAX`] lengths.
    pub sizes: Vec<(u64, u64)>,
    /// For [`Wanted::Positional`]: the distinct mints of the token accounts.
    pub mints: Vec<Pubkey>,
    /// For [`Wanted::Positional`]: the token program of each mint among the rows.
    pub programs: Vec<(Pubkey, TokenProgram)>,
}

/// An error that the upstream returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcFailure {
    pub code: i64,
    pub message: String,
}

/// The reader of one answer.
pub struct RpcRows {
    json: JsonRows,
    rows: Rows,
}

struct Rows {
    wanted: Wanted,
    /// Slot of the rows: from the context, or given by the caller.
    slot: Option<u64>,
    count: u64,
    sizes: BTreeMap<u64, u64>,
    mints: BTreeSet<Pubkey>,
    programs: Vec<(Pubkey, TokenProgram)>,
    data: Vec<u8>,
    unpacked: Vec<u8>,
}

impl RpcRows {
    /// `slot` is the slot of rows in an answer without a context. If both are missing, reading
    /// fails.
    pub fn new(wanted: Wanted, slot: Option<u64>) -> RpcRows {
        let limits = JsonLimits {
            row_bytes_max: ROW_BYTES_MAX,
            envelope_bytes_max: ENVELOPE_BYTES_MAX,
        };
        RpcRows {
            json: JsonRows::new(limits),
            rows: Rows {
                wanted,
                slot,
                count: 0,
                sizes: BTreeMap::new(),
                mints: BTreeSet::new(),
                programs: Vec::new(),
                data: Vec::new(),
                unpacked: Vec::new(),
            },
        }
    }

    /// Feeds the next bytes of the body, and appends the complete rows to `out`, packed.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let rows = &mut self.rows;
        self.json.feed(bytes, &mut |part| match part {
            Part::Begin(envelope) => rows.begin(envelope),
            Part::Row(row) => rows.take(row, out),
        })
    }

    /// Returns the result; fails if the answer is incomplete.
    pub fn end(self) -> Result<RpcEnd> {
        let RpcRows { json, rows } = self;
        let envelope = parse(&json.end()?)?;
        let error = envelope.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            return Ok(RpcEnd {
                error: Some(failure_of(error)),
                ..RpcEnd::default()
            });
        }
        let result = envelope
            .get("result")
            .ok_or_else(|| wrong("has neither result nor error"))?;
        let value = result.get("value").unwrap_or(result);
        let list = value.get("accounts").unwrap_or(value);
        if !list.is_array() {
            return Err(wrong("holds no list of accounts"));
        }
        if let Wanted::Positional(keys) = &rows.wanted
            && rows.count != keys.len() as u64
        {
            let (count, wanted) = (rows.count, keys.len());
            return Err(wrong(&format!("holds {count} accounts, not {wanted}")));
        }
        Ok(RpcEnd {
            slot: slot_of(&envelope),
            rows: rows.count,
            pagination_key: value
                .get("paginationKey")
                .and_then(Value::as_str)
                .map(str::to_string),
            error: None,
            sizes: match rows.sizes.len() {
                0..=SIZES_MAX => rows.sizes.into_iter().collect(),
                _ => Vec::new(),
            },
            mints: rows.mints.into_iter().collect(),
            programs: rows.programs,
        })
    }
}

#[derive(Deserialize)]
struct ListedRow<'a> {
    #[serde(borrow)]
    pubkey: Cow<'a, str>,
    #[serde(borrow)]
    account: Account<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Account<'a> {
    lamports: u64,
    #[serde(borrow)]
    data: (Cow<'a, str>, Cow<'a, str>),
    #[serde(borrow)]
    owner: Cow<'a, str>,
    executable: bool,
    #[serde(default)]
    rent_epoch: RentEpoch,
    space: Option<u64>,
}

/// A JSON number. Proxies written in JavaScript turn 2^64 − 1, the rent epoch of nearly every
/// account, into a float.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum RentEpoch {
    Exact(u64),
    Float(f64),
}

impl Default for RentEpoch {
    fn default() -> Self {
        RentEpoch::Exact(u64::MAX)
    }
}

impl RentEpoch {
    /// A float beyond u64 becomes `u64::MAX`, the value that was rounded up.
    fn value(self) -> u64 {
        match self {
            RentEpoch::Exact(epoch) => epoch,
            RentEpoch::Float(epoch) => epoch as u64,
        }
    }
}

impl Rows {
    fn begin(&mut self, envelope: &[u8]) -> Result<()> {
        self.slot = slot_of(&parse(envelope)?).or(self.slot);
        Ok(())
    }

    fn take(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let index = self.count;
        self.count += 1;
        match &self.wanted {
            Wanted::Sizes => self.count_size(row),
            Wanted::Listed => {
                let row: ListedRow<'_> = parse_as(row)?;
                let pubkey = pubkey_of(&row.pubkey)?;
                self.write(&pubkey, &row.account, out)
            }
            Wanted::Positional(keys) => {
                let Some(pubkey) = usize::try_from(index).ok().and_then(|at| keys.get(at)) else {
                    return Err(wrong("holds more accounts than were asked for"));
                };
                let pubkey = *pubkey;
                match parse_as::<Option<Account<'_>>>(row)? {
                    Some(account) => self.write(&pubkey, &account, out),
                    None => self.write_absent(&pubkey, out),
                }
            }
        }
    }

    fn count_size(&mut self, row: &[u8]) -> Result<()> {
        let row: ListedRow<'_> = parse_as(row)?;
        let space = row.account.space;
        let space = space.ok_or_else(|| wrong("does not say how long the data is"))?;
        // One entry over the maximum marks too many lengths.
        if self.sizes.len() <= SIZES_MAX || self.sizes.contains_key(&space) {
            *self.sizes.entry(space).or_default() += 1;
        }
        Ok(())
    }

    fn slot(&self) -> Result<u64> {
        self.slot
            .ok_or_else(|| wrong("names no slot before its accounts"))
    }

    fn write_absent(&mut self, pubkey: &Pubkey, out: &mut Vec<u8>) -> Result<()> {
        let account = AccountRef {
            slot: self.slot()?,
            lamports: 0,
            rent_epoch: 0,
            executable: false,
            owner: &[0; 32],
            data: &[],
        };
        PackedRow { pubkey, account }.write(out);
        Ok(())
    }

    fn write(&mut self, pubkey: &Pubkey, account: &Account<'_>, out: &mut Vec<u8>) -> Result<()> {
        let slot = self.slot()?;
        let owner = pubkey_of(&account.owner)?;
        self.decode(account)?;
        let data = &self.data[..];
        let (found, space) = (data.len(), account.space);
        if space.is_some_and(|space| space != found as u64) {
            return Err(wrong("cuts the data of an account"));
        }
        let row = PackedRow {
            pubkey,
            account: AccountRef {
                slot,
                lamports: account.lamports,
                rent_epoch: account.rent_epoch.value(),
                executable: account.executable,
                owner: &owner,
                data,
            },
        };
        row.write(out);
        if let (Wanted::Positional(_), Some(program)) = (&self.wanted, TokenProgram::of(&owner)) {
            if token::is_mint(data) {
                self.programs.push((*pubkey, program));
            } else if token::is_account(data) {
                self.mints.extend(token::mint_of(data));
            }
        }
        Ok(())
    }

    /// Decodes the account's data into `self.data`.
    fn decode(&mut self, account: &Account<'_>) -> Result<()> {
        let (text, encoding) = &account.data;
        let is_packed = match encoding.as_ref() {
            "base64" => false,
            "base64+zstd" => true,
            _ => return Err(wrong("holds data in another encoding than was asked for")),
        };
        let not_base64 = || wrong("holds data that is not base64");
        self.data.clear();
        let text = text.as_bytes();
        self.data
            .resize(STANDARD.estimated_decoded_length(text.len()), 0);
        let out = base64_simd::Out::from_slice(&mut self.data);
        let length = STANDARD.decode(text, out).map_err(|_| not_base64())?.len();
        self.data.truncate(length);
        if is_packed {
            let space = account.space.unwrap_or(ACCOUNT_DATA_BYTES_MAX as u64);
            let space = space.min(ACCOUNT_DATA_BYTES_MAX as u64) as usize;
            self.unpacked.clear();
            self.unpacked.reserve(space);
            zstd::bulk::Decompressor::new()?
                .decompress_to_buffer(&self.data, &mut self.unpacked)
                .map_err(|_| wrong("holds data that is not zstd, or longer than declared"))?;
            std::mem::swap(&mut self.data, &mut self.unpacked);
        }
        if self.data.len() > ACCOUNT_DATA_BYTES_MAX {
            return Err(wrong(
                "holds an account that is larger than the chain allows",
            ));
        }
        Ok(())
    }
}

fn parse(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|_| wrong("is no JSON"))
}

fn parse_as<'a, T: Deserialize<'a>>(row: &'a [u8]) -> Result<T> {
    serde_json::from_slice(row).map_err(|error| {
        // serde's message may repeat a value, which may be as long as an account.
        let words: String = error.to_string().chars().take(MESSAGE_CHARS_MAX).collect();
        wrong(&format!("holds something else than an account: {words}"))
    })
}

fn pubkey_of(text: &str) -> Result<Pubkey> {
    decode_pubkey_bytes(text.as_bytes()).ok_or_else(|| wrong("holds an address that is none"))
}

fn slot_of(envelope: &Value) -> Option<u64> {
    envelope
        .get("result")?
        .get("context")?
        .get("slot")?
        .as_u64()
}

fn failure_of(error: &Value) -> RpcFailure {
    let message = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let message = message
        .chars()
        .filter(|c| !c.is_control())
        .take(MESSAGE_CHARS_MAX);
    RpcFailure {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: message.collect(),
    }
}

#[cfg(test)]
mod tests;
