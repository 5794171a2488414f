//! A range of a file, mapped to be read without a copy.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A multiple of the size of a page on every supported target.
const PAGE_BYTES: u64 = 64 * 1024;

/// A read-only mapping of bytes that no process changes any more; unmapped on drop.
#[derive(Debug)]
pub struct MappedRange {
    /// Of the mapping, which begins at a page before the range.
    address: NonNull<u8>,
    mapped_bytes: usize,
    /// Where the range begins in the mapping.
    begin: usize,
}

// SAFETY: the mapping is read-only memory that is not bound to a thread.
unsafe impl Send for MappedRange {}
// SAFETY: a shared reference gives bytes that nobody changes.
unsafe impl Sync for MappedRange {}

impl MappedRange {
    /// Maps `bytes` bytes from `at` on, at least one. Fails with `UnexpectedEof` if the file is
    /// shorter.
    pub fn open(file: &File, at: u64, bytes: usize) -> io::Result<MappedRange> {
        let end = at.checked_add(bytes as u64);
        if bytes == 0 || end.is_none_or(|end| end > file.metadata().map_or(0, |m| m.len())) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let page = at - at % PAGE_BYTES;
        let begin = usize::try_from(at - page).map_err(io::Error::other)?;
        let offset = libc::off_t::try_from(page).map_err(io::Error::other)?;
        let mapped_bytes = begin.checked_add(bytes).ok_or(ErrorKind::InvalidInput)?;
        // SAFETY: a fresh read-only mapping of an open file; the result is checked.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or(ErrorKind::InvalidData)?;
        Ok(MappedRange {
            address,
            mapped_bytes,
            begin,
        })
    }

    /// The bytes from `at` on. Pages that a broken disk or a shorter file has not are an error
    /// here, and no signal at the first look (Linux 5.14 and newer).
    pub fn bytes(&self, at: usize, bytes: usize) -> io::Result<&[u8]> {
        let first = self.begin.checked_add(at);
        let end = first.and_then(|first| first.checked_add(bytes));
        let (Some(first), Some(end)) = (first, end) else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        if end > self.mapped_bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let page = first - first % PAGE_BYTES as usize;
        // SAFETY: `page` and `end` are within the mapping, and so are the addresses.
        let begin = unsafe { self.address.as_ptr().add(page) };
        // SAFETY: the range is within the mapping, which this advice does not change.
        if unsafe { libc::madvise(begin.cast(), end - page, libc::MADV_POPULATE_READ) } != 0 {
            let error = io::Error::last_os_error();
            // An older kernel.
            if error.raw_os_error() != Some(libc::EINVAL) {
                return Err(error);
            }
        }
        // SAFETY: within the mapping, as above.
        let start = unsafe { self.address.as_ptr().add(first) };
        // SAFETY: mapped for the life of `self`, and nobody changes the bytes.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) })
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `open` mapped, unmapped once.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.mapped_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_range_has_the_bytes_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let content: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        fs::write(&path, &content).unwrap();
        let file = File::open(&path).unwrap();
        for (at, bytes) in [(0, 1), (0, 300_000), (70_001, 9), (65_535, 2), (299_999, 1)] {
            let range = MappedRange::open(&file, at as u64, bytes).unwrap();
            assert_eq!(range.bytes(0, bytes).unwrap(), &content[at..at + bytes]);
            assert_eq!(
                range.bytes(bytes - 1, 1).unwrap(),
                &content[at + bytes - 1..][..1]
            );
            assert!(range.bytes(1, bytes).is_err() && range.bytes(usize::MAX, 2).is_err());
        }
        for (at, bytes) in [(0, 0), (300_000, 1), (0, 300_001), (u64::MAX, 1)] {
            assert!(MappedRange::open(&file, at, bytes).is_err(), "{at} {bytes}");
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_and_no_signal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, vec![7; 300_000]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let range = MappedRange::open(&file, 10, 200_000).unwrap();
        file.set_len(4_096).unwrap();
        assert!(range.bytes(100_000, 10).is_err());
        assert_eq!(range.bytes(0, 10).unwrap(), [7; 10]);
    }
}
