//! The addresses of all filters of a stream.

use std::collections::HashSet;

use primitives::Pubkey;
use primitives::encoding::decode_pubkey;
use tonic::Status;

use crate::status::invalid_filter;

/// Addresses of all filters of a stream, each about 50 bytes.
pub const KEYS_MAX: usize = 100_000;

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
