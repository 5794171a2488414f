//! Writes archives in the validators' format, so that tests control every byte.

use std::io::{self, Write};

/// A stored account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub pubkey: [u8; 32],
    pub lamports: u64,
    pub rent_epoch: u64,
    pub owner: [u8; 32],
    pub executable: bool,
    pub data: Vec<u8>,
}

/// The bank of the manifest.
#[derive(Debug, Clone)]
pub struct Bank {
    pub slot: u64,
    pub parent_slot: u64,
    pub block_height: u64,
    pub blockhash: [u8; 32],
    pub parent_blockhash: [u8; 32],
    pub capitalization: u64,
}

impl Bank {
    /// A bank whose hashes are derived from its slot.
    pub fn at(slot: u64) -> Bank {
        Bank {
            slot,
            parent_slot: slot.saturating_sub(1),
            block_height: slot / 2,
            blockhash: hash_of(slot),
            parent_blockhash: hash_of(slot.saturating_sub(1)),
            capitalization: 0,
        }
    }
}

pub fn hash_of(slot: u64) -> [u8; 32] {
    let mut hash = [0xB7; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

/// The bytes of an AppendVec file; the last account keeps its padding.
pub fn append_vec<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<u8> {
    append_vec_with(rows, 0, [0; 32])
}

/// Like [`append_vec`], with the write version and hash that validators wrote until 2024.
pub fn append_vec_with<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    write_version: u64,
    hash: [u8; 32],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        bytes.extend_from_slice(&write_version.to_le_bytes());
        bytes.extend_from_slice(&(row.data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&row.pubkey);
        bytes.extend_from_slice(&row.lamports.to_le_bytes());
        bytes.extend_from_slice(&row.rent_epoch.to_le_bytes());
        bytes.extend_from_slice(&row.owner);
        bytes.push(u8::from(row.executable));
        bytes.extend_from_slice(&[0; 7]);
        bytes.extend_from_slice(&hash);
        bytes.extend_from_slice(&row.data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}

/// The bytes of a manifest: the bank's first fields, then `tail` bytes that the reader skips.
pub fn manifest(bank: &Bank, tail: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, n: u64| bytes.extend_from_slice(&n.to_le_bytes());
    let newest = 7;
    number(&mut bytes, newest);
    bytes.push(1);
    bytes.extend_from_slice(&bank.blockhash);
    number(&mut bytes, 2);
    for (hash, index) in [
        (bank.parent_blockhash, newest - 1),
        (bank.blockhash, newest),
    ] {
        bytes.extend_from_slice(&hash);
        number(&mut bytes, 5_000);
        number(&mut bytes, index);
        number(&mut bytes, 1_700_000_000_000);
    }
    number(&mut bytes, 300);
    // Ancestors.
    number(&mut bytes, 1);
    number(&mut bytes, bank.parent_slot);
    number(&mut bytes, 0);
    // Bank hash, the parent's bank hash.
    bytes.extend_from_slice(&[0xAA; 32]);
    bytes.extend_from_slice(&[0xBB; 32]);
    number(&mut bytes, bank.parent_slot);
    // One hard fork.
    number(&mut bytes, 1);
    number(&mut bytes, 3);
    number(&mut bytes, 1);
    // Transactions, tick height, signatures.
    for n in [1_234, bank.slot * 64, 9] {
        number(&mut bytes, n);
    }
    number(&mut bytes, bank.capitalization);
    number(&mut bytes, 0);
    bytes.push(1);
    number(&mut bytes, 12_500);
    number(&mut bytes, 64);
    bytes.extend_from_slice(&6_250_000u128.to_le_bytes());
    number(&mut bytes, 1_600_000_000);
    bytes.extend_from_slice(&78_892_314.98_f64.to_le_bytes());
    number(&mut bytes, 0);
    number(&mut bytes, bank.slot);
    number(&mut bytes, bank.slot / 432_000);
    number(&mut bytes, bank.block_height);
    bytes.resize(bytes.len() + tail, 0xCC);
    bytes
}

/// A tar as Agave writes it: GNU headers, plain files.
pub struct Tar<W: Write> {
    out: W,
}

impl<W: Write> Tar<W> {
    pub fn new(out: W) -> Self {
        Tar { out }
    }

    pub fn file(&mut self, name: &str, body: &[u8]) -> io::Result<()> {
        self.raw(&header(name, body.len() as u64, b'0'), body)
    }

    pub fn folder(&mut self, name: &str) -> io::Result<()> {
        self.raw(&header(name, 0, b'5'), &[])
    }

    /// A header and a body, padded to whole blocks.
    pub fn raw(&mut self, header: &[u8], body: &[u8]) -> io::Result<()> {
        self.out.write_all(header)?;
        self.out.write_all(body)?;
        self.out
            .write_all(&vec![0; body.len().next_multiple_of(512) - body.len()])
    }

    /// Writes the members before the accounts, in the order of a validator.
    pub fn begin(&mut self, bank: &Bank) -> io::Result<()> {
        self.file("version", b"1.2.0")?;
        self.folder("snapshots/")?;
        self.folder(&format!("snapshots/{}", bank.slot))?;
        self.file(
            &format!("snapshots/{0}/{0}", bank.slot),
            &manifest(bank, 3_000),
        )?;
        self.file("snapshots/status_cache", &[1; 700])
    }

    pub fn storage(&mut self, slot: u64, id: u64, rows: &[Row]) -> io::Result<()> {
        self.file(&format!("accounts/{slot}.{id}"), &append_vec(rows))
    }

    /// Returns the written bytes, without an end mark.
    pub fn into_inner(self) -> W {
        self.out
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 1024])?;
        Ok(self.into_inner())
    }
}

/// A GNU header with its checksum.
pub fn header(name: &str, bytes: u64, kind: u8) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{bytes:011o}").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar  \0");
    sign(&mut header);
    header
}

/// Writes the checksum of the current header.
pub fn sign(header: &mut [u8; 512]) {
    header[148..156].fill(b' ');
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A whole uncompressed archive with `storages` in order.
pub fn archive(bank: &Bank, storages: &[(u64, u64, Vec<Row>)]) -> Vec<u8> {
    let mut tar = Tar::new(Vec::new());
    tar.begin(bank).expect("memory takes all");
    for (slot, id, rows) in storages {
        tar.storage(*slot, *id, rows).expect("memory takes all");
    }
    tar.finish().expect("memory takes all")
}
