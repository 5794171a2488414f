//! The addresses of all filters of a stream.

use std::collections::HashSet;

use primitives::Pubkey;
use primitives::encoding::decode_pubkey;
use store::Scope;
use tonic::Status;
use yellowstone_grpc_proto::cuckoo::CuckooFilter;
use yellowstone_grpc_proto::geyser::{CuckooFilter as CuckooMessage, CuckooHashAlgorithm};

use crate::status::invalid_filter;

/// Addresses of all filters of a stream, each about 50 bytes.
pub const KEYS_MAX: usize = 100_000;
/// Bytes of a cuckoo filter: about 1.4 million keys.
const CUCKOO_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Four fingerprints of two bytes.
const BUCKET_BYTES: usize = 8;

/// Reads addresses, and counts those of all filters.
#[derive(Debug, Default)]
pub struct Keys(usize);

impl Keys {
    pub fn parse(&mut self, texts: &[String]) -> Result<HashSet<Pubkey>, Status> {
        self.0 += texts.len();
        if self.0 > KEYS_MAX {
            let reason = format!("Max amount of Pubkeys reached, only {KEYS_MAX} allowed");
            return Err(invalid_filter(&reason));
        }
        let read = |text: &String| {
            decode_pubkey(text)
                .map_err(|_| invalid_filter("String is the wrong size or not base58"))
        };
        texts.iter().map(read).collect()
    }
}

/// The addresses that a filter lets through: those of a list, and those of a cuckoo filter. With
/// neither it lets through all.
#[derive(Debug)]
pub struct KeySet {
    pub listed: HashSet<Pubkey>,
    cuckoo: Option<CuckooFilter<[u8; 32]>>,
}

/// What a set lets through that the index does not have.
pub enum Outside {
    Nothing,
    Key(Pubkey),
    /// Any address, or those of a cuckoo filter.
    Unlisted,
}

impl KeySet {
    pub fn parse(
        listed: &[String],
        cuckoo: &Option<CuckooMessage>,
        keys: &mut Keys,
    ) -> Result<KeySet, Status> {
        Ok(KeySet {
            listed: keys.parse(listed)?,
            cuckoo: cuckoo.as_ref().map(parse_cuckoo).transpose()?,
        })
    }

    pub fn has_cuckoo(&self) -> bool {
        self.cuckoo.is_some()
    }

    pub fn is_all(&self) -> bool {
        self.listed.is_empty() && self.cuckoo.is_none()
    }

    pub fn lets_through(&self, key: &Pubkey) -> bool {
        let may_be = |cuckoo: &CuckooFilter<[u8; 32]>| cuckoo.contains(key);
        self.is_all() || self.listed.contains(key) || self.cuckoo.as_ref().is_some_and(may_be)
    }

    /// The list, if it has all that the set lets through and is no longer than this.
    pub fn few(&self, count: usize) -> Option<&HashSet<Pubkey>> {
        let is_few = self.cuckoo.is_none() && !self.listed.is_empty() && self.listed.len() <= count;
        is_few.then_some(&self.listed)
    }

    pub fn outside(&self, scope: &Scope) -> Outside {
        if *scope == Scope::All {
            return Outside::Nothing;
        }
        if self.listed.is_empty() || self.cuckoo.is_some() {
            return Outside::Unlisted;
        }
        let outside = self.listed.iter().find(|key| !scope.covers_pubkey(key));
        outside.map_or(Outside::Nothing, |key| Outside::Key(*key))
    }
}

pub fn outside_scope(what: &str) -> Status {
    invalid_filter(&format!("{what} is outside the scope of the index"))
}

/// Clients of any language make these: what this build would read otherwise is refused.
fn parse_cuckoo(message: &CuckooMessage) -> Result<CuckooFilter<[u8; 32]>, Status> {
    let refuse = |reason: &str| Err(invalid_filter(&format!("cuckoo filter: {reason}")));
    let CuckooMessage {
        data,
        bucket_count,
        entries_per_bucket,
        fingerprint_bits,
        hash_algorithm,
        ..
    } = message;
    if data.len() > CUCKOO_BYTES_MAX {
        return refuse(&format!("over {CUCKOO_BYTES_MAX} bytes of data"));
    }
    if *hash_algorithm != CuckooHashAlgorithm::SipHash as i32 {
        return refuse("unknown hash algorithm");
    }
    if (*entries_per_bucket, *fingerprint_bits) != (4, 16) {
        return refuse("it must have 4 entries per bucket and fingerprints of 16 bits");
    }
    let buckets = data.len() / BUCKET_BYTES;
    if data.len() % BUCKET_BYTES != 0 || *bucket_count as usize != buckets {
        return refuse("`data` must have 8 bytes for each bucket");
    }
    if !buckets.is_power_of_two() {
        return refuse("the number of buckets must be a power of two");
    }
    Ok(CuckooFilter::from(message))
}
