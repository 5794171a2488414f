//! File names of archives.

use std::fmt;

use sys::error::{Error, Result};

/// The contents of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// Every account.
    Full,
    /// Changes after slot `base`.
    Incremental { base: u64 },
}

/// The compression according to the name. The reader uses the archive's first bytes instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Zstd,
    Lz4,
    /// A plain tar.
    None,
}

/// `snapshot-<slot>-<hash>.tar.zst` or `incremental-snapshot-<base>-<slot>-<hash>.tar.zst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveName {
    pub kind: ArchiveKind,
    pub slot: u64,
    pub hash: [u8; 32],
    pub compression: Compression,
}

impl ArchiveName {
    /// Parses a file name without folders.
    pub fn parse(name: &str) -> Result<ArchiveName> {
        Self::of(name).ok_or_else(|| {
            Error::SnapshotInvalid(
                "the file name is not that of a snapshot archive, which is \
                 snapshot-<slot>-<hash>.tar.zst or incremental-snapshot-<base>-<slot>-<hash>.tar.zst \
                 (or .tar.lz4, .tar)"
                    .into(),
            )
        })
    }

    fn of(name: &str) -> Option<ArchiveName> {
        let (stem, compression) = [
            (".tar.zst", Compression::Zstd),
            (".tar.lz4", Compression::Lz4),
            (".tar", Compression::None),
        ]
        .into_iter()
        .find_map(|(end, compression)| Some((name.strip_suffix(end)?, compression)))?;
        let (rest, kind) = match stem.strip_prefix("incremental-snapshot-") {
            Some(rest) => {
                let (base, rest) = rest.split_once('-')?;
                (
                    rest,
                    ArchiveKind::Incremental {
                        base: number(base)?,
                    },
                )
            }
            None => (stem.strip_prefix("snapshot-")?, ArchiveKind::Full),
        };
        let (slot, text) = rest.split_once('-')?;
        let slot = number(slot)?;
        if matches!(kind, ArchiveKind::Incremental { base } if base >= slot) {
            return None;
        }
        let mut hash = [0; 32];
        five8::decode_32(text, &mut hash).ok()?;
        Some(ArchiveName {
            kind,
            slot,
            hash,
            compression,
        })
    }

    /// Base slot of an incremental archive; `None` for a full one.
    pub fn base(&self) -> Option<u64> {
        match self.kind {
            ArchiveKind::Full => None,
            ArchiveKind::Incremental { base } => Some(base),
        }
    }
}

/// Parses digits only: `str::parse` also accepts a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

impl fmt::Display for ArchiveName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = primitives::encoding::encode_pubkey(&self.hash);
        if let Some(base) = self.base() {
            write!(f, "incremental-snapshot-{base}-{}-{hash}", self.slot)?;
        } else {
            write!(f, "snapshot-{}-{hash}", self.slot)?;
        }
        f.write_str(match self.compression {
            Compression::Zstd => ".tar.zst",
            Compression::Lz4 => ".tar.lz4",
            Compression::None => ".tar",
        })
    }
}
