//! Numbers and keys that are the same in each run.

use kernel::Pubkey;

/// SplitMix64: a number for a number, the same everywhere.
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The key of that number among those of a kind.
pub fn key(seed: u64, kind: u64, i: u64) -> Pubkey {
    let mut key = [0; 32];
    for (part, chunk) in (0..).zip(key.chunks_exact_mut(8)) {
        chunk.copy_from_slice(&mix(seed ^ (kind << 56) ^ (i << 3) ^ part).to_be_bytes());
    }
    key
}
