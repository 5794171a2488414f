//! What a load has sorted, on disk, so that another process continues it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::scope_filter::Seen;
use super::sorted::Counts;
use super::spill::Span;
use crate::archive::{ArchiveEnd, ArchiveName};
use primitives::Pubkey;
use store::{AccountRef, SCHEMA, Scope};
use sys::error::{Error, Result};

/// Of the file. The records in the runs are those of the store's schema.
const VERSION: u32 = 1;
const FILE: &str = "checkpoint";
const DRAFT: &str = "checkpoint.new";
const DIGEST_BYTES: usize = 32;

/// What a checkpoint must have in common with the load that continues it.
type Head = (u32, u32, [u8; 32]);

/// An archive that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedArchive {
    pub order: u8,
    /// The slot that an incremental archive is based on.
    pub base: Option<u64>,
    pub end: ArchiveEnd,
}

/// The state of a load between two archives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub archives: Vec<EndedArchive>,
    /// How many of the runs are of these archives: the first ones.
    pub runs: usize,
    pub counts: Counts,
    pub seen: HashMap<Pubkey, Seen>,
}

/// An archive that was not read to its end, and the entries in the runs after those of [`Ended`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    order: u8,
    slot: u64,
    hash: [u8; 32],
    entries: u64,
    /// Of these entries in their order: another server has another archive of the same slot.
    digest: u64,
}

/// An archive that is being read.
pub(super) struct Reading {
    pub order: u8,
    slot: u64,
    hash: [u8; 32],
    entries: u64,
    hasher: DefaultHasher,
    /// The entries that are in the runs.
    known: Option<Part>,
}

impl Reading {
    pub fn new(order: u8, name: &ArchiveName, known: Option<Part>) -> Reading {
        Reading {
            order,
            slot: name.slot,
            hash: name.hash,
            entries: 0,
            hasher: DefaultHasher::new(),
            known,
        }
    }

    /// Counts an entry. Returns false if the entries until this one are others than those that the
    /// runs have.
    pub fn count(&mut self, pubkey: &Pubkey, account: &AccountRef<'_>) -> bool {
        self.entries += 1;
        (pubkey, account.slot, account.lamports, account.data.len()).hash(&mut self.hasher);
        match &self.known {
            Some(known) if known.entries == self.entries => {
                let is_same = known.digest == self.hasher.finish();
                self.known = None;
                is_same
            }
            _ => true,
        }
    }

    /// Whether entries that the runs have are still to come.
    pub fn is_before_end(&self) -> bool {
        self.known.is_some()
    }

    /// What of the archive was counted.
    pub fn part(&self) -> Part {
        Part {
            order: self.order,
            slot: self.slot,
            hash: self.hash,
            entries: self.entries,
            digest: self.hasher.finish(),
        }
    }
}

impl Part {
    pub fn is_of(&self, order: u8, name: &ArchiveName) -> bool {
        (self.order, self.slot, self.hash) == (order, name.slot, name.hash)
    }
}

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub spans: Vec<Span>,
    pub ended: Ended,
    pub part: Option<Part>,
}

impl Checkpoint {
    /// The length of the file of runs.
    pub fn run_bytes(&self) -> u64 {
        self.spans.iter().map(|span| span.end).max().unwrap_or(0)
    }
}

/// The checkpoints of a load.
pub(super) struct Checkpoints {
    dir: PathBuf,
    scope: [u8; 32],
    every: Duration,
    written: Instant,
}

impl Checkpoints {
    pub fn new(dir: &Path, scope: &Scope, every: Duration) -> Checkpoints {
        Checkpoints {
            dir: dir.to_path_buf(),
            scope: digest_of(scope),
            every,
            written: Instant::now(),
        }
    }

    /// Returns the last checkpoint of a load with this scope, if `runs` has what it names.
    pub fn read(&self, runs: &str) -> Option<Checkpoint> {
        let bytes = fs::read(self.dir.join(FILE)).ok()?;
        let (digest, body) = bytes.split_first_chunk::<DIGEST_BYTES>()?;
        // Checked first: a damaged length would have the decoder reserve memory for it.
        if <[u8; DIGEST_BYTES]>::from(Sha256::digest(body)) != *digest {
            return None;
        }
        let (head, found): (Head, Checkpoint) = bincode::deserialize(body).ok()?;
        let stored = fs::metadata(self.dir.join(runs)).ok()?.len();
        (head == self.head() && stored >= found.run_bytes()).then_some(found)
    }

    fn head(&self) -> Head {
        (VERSION, SCHEMA, self.scope)
    }

    pub fn is_due(&self) -> bool {
        self.written.elapsed() >= self.every
    }

    /// Replaces the checkpoint durably. The runs must be on the disk.
    pub fn write(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let failed = |reason: String| {
            let dir = self.dir.display();
            Error::LoadFailed(format!(
                "the checkpoint in {dir} cannot be written: {reason}"
            ))
        };
        let body = bincode::serialize(&(self.head(), checkpoint))
            .map_err(|error| failed(error.to_string()))?;
        let write = || -> std::io::Result<()> {
            let draft = self.dir.join(DRAFT);
            let mut file = File::create(&draft)?;
            file.write_all(&Sha256::digest(&body))?;
            file.write_all(&body)?;
            file.sync_all()?;
            fs::rename(&draft, self.dir.join(FILE))?;
            File::open(&self.dir)?.sync_all()
        };
        write().map_err(|error| failed(error.to_string()))?;
        self.written = Instant::now();
        Ok(())
    }
}

/// Another scope keeps other accounts. Lists in another order count as another scope.
fn digest_of(scope: &Scope) -> [u8; 32] {
    let mut digest = Sha256::new();
    if let Scope::Listed {
        programs,
        mints,
        pubkeys,
    } = scope
    {
        for list in [programs, mints, pubkeys] {
            digest.update((list.len() as u64).to_le_bytes());
            for pubkey in list {
                digest.update(pubkey);
            }
        }
    }
    digest.finalize().into()
}
