//! Results of a loader, as JavaScript objects.

use ingest::archive::ArchiveEnd;
use ingest::load::Loaded;
use napi_derive::napi;
use primitives::encoding::encode_pubkey;
use sys::error::Result as Checked;

use crate::failure::Failure;

/// What a loader was given so far.
#[napi(object, object_from_js = false)]
pub struct LoaderCounts {
    pub versions: f64,
    pub kept: f64,
    pub tombstones: f64,
    pub out_of_scope: f64,
    pub run_bytes: f64,
}

/// How far a loader is.
#[napi(object, object_from_js = false)]
pub struct LoaderProgress {
    /// Bytes of archives as they came.
    pub bytes_read: f64,
    pub entries: f64,
    /// Rows of the store, and those that are written. The total grows once.
    pub rows_total: f64,
    pub rows_merged: f64,
}

/// What a store was loaded with.
#[napi(object, object_from_js = false)]
pub struct LoadedData {
    pub accounts: f64,
    pub data_bytes: f64,
    pub superseded: f64,
    pub file_bytes: f64,
    pub run_bytes: f64,
}

/// What an archive was.
#[napi(object, object_from_js = false)]
pub struct LoadedArchive {
    /// The slot that an incremental one builds on; absent is a full one.
    pub base_slot: Option<f64>,
    pub slot: f64,
    pub parent_slot: f64,
    pub block_height: f64,
    pub blockhash: String,
    /// Of its last blocks, its own among them.
    pub recent_blockhashes: Vec<String>,
    pub epoch: f64,
    /// Accounts and tombstones.
    pub entries: f64,
}

impl LoadedArchive {
    pub(super) fn of(base_slot: Option<u64>, end: &ArchiveEnd) -> LoadedArchive {
        let manifest = &end.manifest;
        let recent = manifest.recent_blockhashes.iter();
        LoadedArchive {
            base_slot: base_slot.map(|slot| slot as f64),
            slot: manifest.slot as f64,
            parent_slot: manifest.parent_slot as f64,
            block_height: manifest.block_height as f64,
            blockhash: encode_pubkey(&manifest.blockhash),
            recent_blockhashes: recent.map(encode_pubkey).collect(),
            epoch: manifest.epoch as f64,
            entries: end.entries as f64,
        }
    }
}

/// How a call ended: with `failure`, or with what the call returns.
#[napi(object, object_from_js = false)]
pub struct LoaderReply {
    pub failure: Option<Failure>,
    pub loaded: Option<LoadedData>,
    pub archive: Option<LoadedArchive>,
}

/// The result of a job.
pub(super) enum Done {
    Pushed,
    Read(Option<u64>, Box<ArchiveEnd>),
    Made(Loaded),
}

pub(super) type Answer = Checked<Done>;

pub(super) fn reply(answer: Answer) -> LoaderReply {
    let mut reply = LoaderReply {
        failure: None,
        loaded: None,
        archive: None,
    };
    match answer {
        Ok(Done::Pushed) => {}
        Ok(Done::Made(loaded)) => {
            reply.loaded = Some(LoadedData {
                accounts: loaded.accounts as f64,
                data_bytes: loaded.data_bytes as f64,
                superseded: loaded.superseded as f64,
                file_bytes: loaded.file_bytes as f64,
                run_bytes: loaded.run_bytes as f64,
            });
        }
        Ok(Done::Read(base_slot, end)) => {
            reply.archive = Some(LoadedArchive::of(base_slot, &end));
        }
        Err(error) => {
            reply.failure = Some(Failure::from(&error));
        }
    }
    reply
}
