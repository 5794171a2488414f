//! Opens a file or an address.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::http;
use super::options::{Source, SourceOptions};
use crate::archive::name::ArchiveName;
use crate::progress::Progress;
use sys::error::{Error, Result};

/// Opens `http://…`, `https://…`, or a path. Messages show only the host of an address, because the
/// rest may contain a key.
pub fn open_source(
    location: &str,
    options: &SourceOptions,
    progress: &Arc<Progress>,
) -> Result<Source> {
    if location.starts_with("http://") || location.starts_with("https://") {
        return http::open(location, options, progress);
    }
    let path = Path::new(location);
    let file_name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let unreadable =
        |error| Error::SnapshotTransfer(format!("{file_name:?} cannot be opened: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if about.is_dir() {
        return Err(Error::SnapshotInvalid(format!("{file_name:?} is a folder")));
    }
    Ok(Source {
        name: ArchiveName::parse(file_name)?,
        bytes: about.is_file().then_some(about.len()),
        reader: Box::new(file),
    })
}
