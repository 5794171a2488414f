//! Starts the write-back of a growing file while it is being written. The kernel itself starts only
//! when gigabytes are dirty, and a later sync would wait for all of them.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use sys::error::Result;

/// A thread that starts write-back on request. It makes nothing durable.
pub(crate) struct WriteBack {
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

    /// Requests write-back of the file's current contents. Does not wait: if the thread is busy,
    /// its next pass includes them.
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

/// Starts the write-back of what was written to a file, and does not wait for it.
#[cfg(target_os = "linux")]
pub(crate) fn begin(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the file is open and the other arguments are integers. The final sync reports a
    // failure.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn begin(_: &File) {}
