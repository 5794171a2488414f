//! Operating system figures of this process and its files.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// Processor time, and page faults that waited for the disk.
#[derive(Clone, Copy)]
pub struct Usage {
    pub busy: Duration,
    pub major_faults: u64,
}

pub fn usage() -> Usage {
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: getrusage writes only to the local variable.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1_000);
    Usage {
        busy: time(usage.ru_utime) + time(usage.ru_stime),
        major_faults: usage.ru_majflt as u64,
    }
}

fn data_file(store_dir: &Path) -> File {
    File::open(store_dir.join("data.mdb")).expect("the store's file")
}

/// Size of the store's file.
pub fn file_bytes(store_dir: &Path) -> u64 {
    data_file(store_dir).metadata().expect("its size").len()
}

/// Flushes the file and asks the system to evict it from memory, as after a restart of the machine.
pub fn forget_pages(store_dir: &Path) {
    let file = data_file(store_dir);
    file.sync_all().expect("a disk that takes it");
    // SAFETY: the descriptor is open; the call reads no memory of this process.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(refused, 0, "the pages stay");
}

/// Reads the file once, so that all of it is in memory if it fits.
pub fn recall_pages(store_dir: &Path) {
    std::io::copy(&mut data_file(store_dir), &mut std::io::sink()).expect("the store's file");
}

/// Bytes that this process has written, which go to files but for the figures. `write_bytes` is
/// more than reaches the disk: the page cache of ext4 has pages of up to 2 MiB, and counts all of
/// one that a write of 4 KiB touches.
pub fn written_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|bytes| bytes.parse().ok())
        .unwrap_or_default()
}

/// Peak memory of this process, including mapped files.
pub fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    let kib: u64 = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap_or_default();
    kib * 1024
}
