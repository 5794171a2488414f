//! The files of a spool: segments of consecutive blocks, appended to the last segment and read from
//! the first.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::options::{Link, SpoolOptions};
use super::record::{block_at, head_at, to_record};
use store::{Block, Tip, disk_space};
use sys::error::{ChainBreak, Error, Result};

const ENDING: &str = ".spool";

struct Segment {
    number: u64,
    /// Bytes of complete records.
    bytes: u64,
    /// Unix seconds of its first block with a time.
    begin_seconds: Option<i64>,
}

/// The writer of a spool. Only one process may use it; the caller takes a lock.
pub struct Files {
    dir: PathBuf,
    options: SpoolOptions,
    segments: VecDeque<Segment>,
    /// File of the last segment.
    file: Option<File>,
    first: Option<Link>,
    last: Option<Tip>,
    blocks: u64,
}

/// A position between two records. It stays valid when the spool grows and when earlier segments
/// are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordPosition {
    segment: u64,
    at: u64,
}

impl Files {
    /// Opens or creates a spool. Truncates the last segment after its last complete record, because
    /// a kill may leave a partial one.
    pub fn open(dir: &Path, options: SpoolOptions) -> Result<Files> {
        fs::create_dir_all(dir)?;
        let mut numbers: Vec<u64> = Vec::new();
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            let number: Option<u64> = name
                .to_str()
                .and_then(|name| name.strip_suffix(ENDING)?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        let mut files = Files {
            dir: dir.to_path_buf(),
            options,
            segments: VecDeque::new(),
            file: None,
            first: None,
            last: None,
            blocks: 0,
        };
        let last = numbers.last().copied();
        for number in numbers {
            files.adopt(number, Some(number) == last)?;
        }
        Ok(files)
    }

    fn adopt(&mut self, number: u64, is_last: bool) -> Result<()> {
        let path = self.path_of(number);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let len = file.metadata()?.len();
        let mut at = 0;
        let mut begin_seconds = None;
        while let Some(head) = head_at(&file, at, len)? {
            let Some(block) = block_at(&file, at, &head)? else {
                break;
            };
            if self.follow(&block).is_err() {
                break;
            }
            begin_seconds = begin_seconds.or(block.block_time);
            at += head.record_bytes();
        }
        if at < len {
            if !is_last {
                return Err(damaged(&self.dir));
            }
            file.set_len(at)?;
            file.sync_all()?;
        }
        self.segments.push_back(Segment {
            number,
            bytes: at,
            begin_seconds,
        });
        self.file = Some(file);
        Ok(())
    }

    fn path_of(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:010}{ENDING}"))
    }

    pub fn first(&self) -> Option<Link> {
        self.first
    }

    pub fn last(&self) -> Option<Tip> {
        self.last
    }

    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Appends consecutive blocks and syncs them to disk. Skips blocks at or before the last one. A
    /// failed write is truncated.
    pub fn append(&mut self, blocks: &[Block]) -> Result<()> {
        let mut is_new = false;
        for block in blocks {
            if self.last.is_some_and(|last| block.slot <= last.slot) {
                continue;
            }
            self.check_next(block)?;
            self.write(&to_record(block)?, block.block_time)?;
            self.follow(block)?;
            is_new = true;
        }
        if let (true, Some(file)) = (is_new, &self.file) {
            file.sync_data()?;
        }
        Ok(())
    }

    /// Fails if the spool may not hold so many bytes more of a block of this time.
    fn check_room(&self, bytes: u64, block_time: Option<i64>) -> Result<()> {
        let SpoolOptions {
            bytes_max, ms_max, ..
        } = self.options;
        if self.bytes() + bytes > bytes_max {
            return Err(Error::Internal(format!(
                "the spool is full: over {bytes_max} bytes of blocks wait for the store that they \
                 are to continue (bootstrap.spoolBytesMax)"
            )));
        }
        let oldest = self
            .segments
            .front()
            .and_then(|oldest| oldest.begin_seconds);
        let waited = block_time
            .zip(oldest)
            .map_or(0, |(now, begin)| now.saturating_sub(begin));
        if u64::try_from(waited).is_ok_and(|seconds| seconds.saturating_mul(1_000) > ms_max) {
            return Err(Error::Internal(format!(
                "the spool is full: blocks of more than {ms_max} ms wait for the store that they \
                 are to continue (bootstrap.spoolMs)"
            )));
        }
        Ok(())
    }

    fn write(&mut self, record: &[u8], block_time: Option<i64>) -> Result<()> {
        let bytes = record.len() as u64;
        let SpoolOptions {
            segment_bytes_max,
            disk_reserve_bytes,
            ..
        } = self.options;
        self.check_room(bytes, block_time)?;
        disk_space::keep_reserve(&self.dir, disk_reserve_bytes.saturating_add(bytes))?;
        if self
            .segments
            .back()
            .is_none_or(|last| last.bytes >= segment_bytes_max)
        {
            self.begin_segment()?;
        }
        let (Some(segment), Some(file)) = (self.segments.back_mut(), &self.file) else {
            return Err(Error::Internal("the spool has no segment".into()));
        };
        if let Err(error) = file.write_all_at(record, segment.bytes) {
            // The next block is written at this offset. A partial record would make it appear
            // damaged.
            file.set_len(segment.bytes)?;
            return Err(error.into());
        }
        segment.bytes += bytes;
        segment.begin_seconds = segment.begin_seconds.or(block_time);
        Ok(())
    }

    fn begin_segment(&mut self) -> Result<()> {
        if let Some(file) = &self.file {
            file.sync_data()?;
        }
        let number = self.segments.back().map_or(1, |last| last.number + 1);
        let path = self.path_of(number);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        File::open(&self.dir)?.sync_all()?;
        self.segments.push_back(Segment {
            number,
            bytes: 0,
            begin_seconds: None,
        });
        self.file = Some(file);
        Ok(())
    }

    fn check_next(&self, block: &Block) -> Result<()> {
        match &self.last {
            Some(last)
                if block.parent_slot != last.slot || block.parent_blockhash != last.blockhash =>
            {
                Err(Error::NotNextBlock(Box::new(ChainBreak {
                    tip_slot: last.slot,
                    tip_blockhash: last.blockhash,
                    slot: block.slot,
                    parent_slot: block.parent_slot,
                    parent_blockhash: block.parent_blockhash,
                })))
            }
            _ => Ok(()),
        }
    }

    fn follow(&mut self, block: &Block) -> Result<()> {
        self.check_next(block)?;
        if self.first.is_none() {
            self.first = Some(Link::of(block));
        }
        self.last = Some(Tip {
            slot: block.slot,
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            block_height: block.block_height,
            block_time: block.block_time,
            root: block.root.unwrap_or(0).min(block.slot),
        });
        self.blocks += 1;
        Ok(())
    }

    /// The segment with the next record after this position: its number, path and length in bytes.
    pub fn following(&self, position: RecordPosition) -> Option<(u64, PathBuf, u64)> {
        let found = self.segments.iter().find(|segment| {
            segment.number > position.segment
                || (segment.number == position.segment && segment.bytes > position.at)
        })?;
        Some((found.number, self.path_of(found.number), found.bytes))
    }

    /// Removes segments that end before this position.
    pub fn remove_before(&mut self, position: RecordPosition) -> Result<()> {
        while self.segments.len() > 1
            && let Some(oldest) = self.segments.front().map(|oldest| oldest.number)
            && oldest < position.segment
        {
            fs::remove_file(self.path_of(oldest))?;
            self.segments.pop_front();
        }
        Ok(())
    }
}

/// Reads a spool while it is written.
#[derive(Default)]
pub struct RecordReader {
    position: RecordPosition,
    open: Option<(u64, File)>,
}

impl RecordReader {
    pub fn position(&self) -> RecordPosition {
        self.position
    }

    /// Returns the next block and its size in bytes, or `None` at the end. `following` returns the
    /// segment for the reader's position.
    pub fn next(
        &mut self,
        dir: &Path,
        following: impl FnOnce(RecordPosition) -> Option<(u64, PathBuf, u64)>,
    ) -> Result<Option<(Block, u64)>> {
        let Some((number, path, end)) = following(self.position) else {
            return Ok(None);
        };
        if number != self.position.segment {
            self.position = RecordPosition {
                segment: number,
                at: 0,
            };
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            self.open = Some((number, File::open(path)?));
        }
        let Some((_, file)) = &self.open else {
            return Ok(None);
        };
        let head = head_at(file, self.position.at, end)?.ok_or_else(|| damaged(dir))?;
        let block = block_at(file, self.position.at, &head)?.ok_or_else(|| damaged(dir))?;
        self.position.at += head.record_bytes();
        Ok(Some((block, head.block_bytes)))
    }
}

fn damaged(dir: &Path) -> Error {
    Error::StoreUnusable(format!(
        "{} is damaged: blocks that were written there are not what they were",
        dir.display()
    ))
}
