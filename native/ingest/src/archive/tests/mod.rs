//! Tests of the archive reader, with archives written in the real format.

mod formats;
mod properties;
mod refusals;
pub(crate) mod writer;

use std::io::Read;

use super::*;
use crate::progress::Progress;
use sys::error::Result;
use writer::{Bank, Row};

/// Visited accounts, each with the slot of its storage.
pub(crate) type Shown = Vec<(u64, Row)>;

pub(crate) fn read(source: impl Read) -> Result<(Shown, ArchiveEnd)> {
    read_within(source, &ArchiveLimits::default())
}

pub(crate) fn read_within(
    source: impl Read,
    limits: &ArchiveLimits,
) -> Result<(Shown, ArchiveEnd)> {
    let (mut shown, progress) = (Vec::new(), Progress::default());
    let end = read_archive(source, limits, &progress, &mut |entry| {
        shown.push((entry.slot, row_of(&entry)));
        Ok(())
    })?;
    assert_eq!(progress.entries.into_inner(), shown.len() as u64);
    Ok((shown, end))
}

fn row_of(entry: &Entry<'_>) -> Row {
    Row {
        pubkey: *entry.pubkey,
        lamports: entry.lamports,
        rent_epoch: entry.rent_epoch,
        owner: *entry.owner,
        executable: entry.executable,
        data: entry.data.to_vec(),
    }
}

pub(crate) fn row(seed: u8, data_bytes: usize) -> Row {
    Row {
        pubkey: [seed; 32],
        lamports: 1_000 + u64::from(seed),
        rent_epoch: u64::MAX - u64::from(seed),
        owner: [seed ^ 0x55; 32],
        executable: seed % 2 == 1,
        data: (0..data_bytes)
            .map(|at| seed.wrapping_add(at as u8))
            .collect(),
    }
}

/// Two storages with data of all padding lengths, a tombstone and an account larger than the
/// window's step.
pub(crate) fn sample() -> (Bank, Vec<(u64, u64, Vec<Row>)>) {
    let first = (1..20).map(|seed| row(seed, usize::from(seed))).collect();
    let gone = Row {
        lamports: 0,
        ..row(3, 0)
    };
    let storages = vec![
        (90, 0, first),
        (100, 1, vec![gone, row(200, 3 << 20), row(201, 165)]),
    ];
    (Bank::at(100), storages)
}

pub(crate) fn expected(storages: &[(u64, u64, Vec<Row>)]) -> Shown {
    let rows = storages
        .iter()
        .flat_map(|(slot, _, rows)| rows.iter().map(|row| (*slot, row.clone())));
    rows.collect()
}
