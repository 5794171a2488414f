//! GNU sparse files, which old archives may contain: the stored extents and their offsets.

use std::io::{self, Read};

use super::tar_fields::{BLOCK_BYTES, invalid, octal};
use super::window::Window;
use sys::error::Result;

/// A stored byte range of a sparse file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub offset: u64,
    pub bytes: u64,
}

/// More than a file of 16 GiB can have if each hole is at least one page of a large file.
const EXTENTS_MAX: usize = 1 << 16;
const EXTENT_BYTES: usize = 24;

/// The first four extents, which are in the header.
pub(super) fn of_header(header: &[u8]) -> Result<Vec<Extent>> {
    let mut extents = Vec::new();
    gather(header, 386, 4, &mut extents)?;
    Ok(extents)
}

/// Adds the extents of the blocks that follow the header, up to 21 per block.
pub(super) fn extended<R: Read>(
    window: &mut Window<R>,
    mut is_extended: bool,
    mut extents: Vec<Extent>,
) -> Result<Vec<Extent>> {
    while is_extended {
        let block = window.take(BLOCK_BYTES)?;
        gather(block, 0, 21, &mut extents)?;
        is_extended = block.get(504) == Some(&1);
        window.pass(BLOCK_BYTES);
        if extents.len() > EXTENTS_MAX {
            return Err(invalid("a sparse file has too many extents"));
        }
    }
    Ok(extents)
}

fn gather(block: &[u8], at: usize, count: usize, extents: &mut Vec<Extent>) -> Result<()> {
    for index in 0..count {
        let at = at + index * EXTENT_BYTES;
        // An unused entry begins with a zero byte.
        if block.get(at).is_none_or(|byte| *byte == 0) {
            break;
        }
        match (octal(block, at, 12), octal(block, at + 12, 12)) {
            (Some(offset), Some(bytes)) => extents.push(Extent { offset, bytes }),
            _ => return Err(invalid("a sparse file's map is not of numbers")),
        }
    }
    Ok(())
}

/// Checks that the extents ascend, are inside the file and add up to the stored bytes.
pub(super) fn check(extents: &[Extent], bytes: u64, stored_bytes: u64) -> Result<()> {
    let broken = || invalid("a sparse file's map is broken");
    let (mut end, mut sum) = (0_u64, 0_u64);
    for extent in extents {
        if extent.offset < end {
            return Err(broken());
        }
        end = extent.offset.checked_add(extent.bytes).ok_or_else(broken)?;
        sum = sum.checked_add(extent.bytes).ok_or_else(broken)?;
    }
    if end > bytes || sum != stored_bytes {
        return Err(broken());
    }
    Ok(())
}

/// Reads the file with its holes filled with zeros. `stored` contains the extents in order.
pub(super) struct Filled<'a, R> {
    pub stored: &'a mut Window<R>,
    pub extents: &'a [Extent],
    pub bytes: u64,
    pub at: u64,
}

impl<R: Read> Read for Filled<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(extent) = self.extents.first()
            && self.at >= extent.offset + extent.bytes
        {
            self.extents = self.extents.get(1..).unwrap_or_default();
        }
        let (until, is_hole) = match self.extents.first() {
            Some(extent) if self.at >= extent.offset => (extent.offset + extent.bytes, false),
            Some(extent) => (extent.offset, true),
            None => (self.bytes, true),
        };
        let count = until.saturating_sub(self.at).min(out.len() as u64) as usize;
        let out = out.get_mut(..count).unwrap_or_default();
        if is_hole {
            out.fill(0);
            self.at += count as u64;
            return Ok(count);
        }
        if count == 0 || !self.stored.need(1).map_err(io::Error::other)? {
            return Ok(0);
        }
        let view = self.stored.view();
        let count = count.min(view.len());
        for (to, from) in out.iter_mut().zip(view) {
            *to = *from;
        }
        self.stored.pass(count);
        self.at += count as u64;
        Ok(count)
    }
}
