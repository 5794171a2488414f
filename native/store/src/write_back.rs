//! A growing file on its way to the disk while it is written. The system itself begins only when
//! gigabytes wait, and whoever then asks for all of it to be there waits for them.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use sys::error::Result;

/// A thread that starts write-back on request. It makes nothing durable.
pub(super) struct WriteBack {
    asks: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WriteBack {
    pub fn start(path: &Path) -> Result<WriteBack> {
        let file = File::open(path)?;
        let (asks, asked) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("load-write".into())
            .spawn(move || work(&file, &asked))?;
        Ok(WriteBack {
            asks: Some(asks),
            thread: Some(thread),
        })
    }

    /// What the file has by now. Does not wait: where the thread is behind, its next turn has this
    /// too.
    pub fn ask(&self) {
        if let Some(asks) = &self.asks {
            let _ = asks.try_send(());
        }
    }
}

impl Drop for WriteBack {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(file: &File, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        begin(file);
    }
}

#[cfg(target_os = "linux")]
fn begin(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: an open file and plain integers. A failure is reported by the sync at the end.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin(_: &File) {}
