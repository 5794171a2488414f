//! Tar headers: ustar, GNU (long names, sparse files, large numbers) and pax.

use std::io::Read;

use super::limits::ArchiveLimits;
use super::sparse::{self, Extent};
use super::tar_fields::{BLOCK_BYTES, invalid, octal, until_zero};
use super::window::{Window, ends_early};
use sys::error::Result;

/// Longest name or pax header that is read. Names in archives have at most 40 bytes.
const NAME_BYTES_MAX: u64 = 64 << 10;

/// A file of the archive.
pub(super) struct Member {
    pub name: String,
    /// Size of the file; for a sparse file including its holes.
    pub bytes: u64,
    /// Bytes that follow in the archive, without padding.
    pub stored_bytes: u64,
    /// The extents of a sparse file; `None` for any other file.
    pub extents: Option<Vec<Extent>>,
}

/// Bytes from the end of a body to the next block.
pub(super) fn padding_of(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES as u64) - bytes
}

/// Iterates over the members of a tar. The caller consumes each body from the window before the
/// next call.
#[derive(Default)]
pub(super) struct Members {
    count: u64,
    /// Total size of the holes of sparse files.
    hole_bytes: u64,
}

impl Members {
    /// The next file, or `None` at the archive's end mark. Skips folders.
    pub fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        limits: &ArchiveLimits,
    ) -> Result<Option<Member>> {
        let (mut long_name, mut pax) = (None, Pax::default());
        loop {
            let passed = window.passed().saturating_add(self.hole_bytes);
            let header = window.take(BLOCK_BYTES)?;
            if header.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            let head = Head::parse(header)?;
            self.count += 1;
            limits.check_members(self.count)?;
            limits.check_unpacked(passed, head.bytes)?;
            let extents = match head.kind {
                b'S' => sparse::of_header(header)?,
                _ => Vec::new(),
            };
            let (is_extended, real_bytes) = (header.get(482) == Some(&1), octal(header, 483, 12));
            window.pass(BLOCK_BYTES);
            match head.kind {
                b'L' => long_name = Some(text(window, head.bytes)?),
                b'x' => pax = Pax::parse(window, head.bytes)?,
                b'K' | b'g' => window.skip(head.bytes + padding_of(head.bytes))?,
                b'0' | 0 | b'7' => {
                    let bytes = pax.bytes.unwrap_or(head.bytes);
                    limits.check_unpacked(passed, bytes)?;
                    return Ok(Some(Member {
                        name: pax.name.or(long_name).unwrap_or(head.name),
                        bytes,
                        stored_bytes: bytes,
                        extents: None,
                    }));
                }
                b'S' => {
                    let extents = sparse::extended(window, is_extended, extents)?;
                    let bytes = sparse_bytes(&extents, real_bytes, head.bytes, limits)?;
                    limits.check_unpacked(passed, bytes)?;
                    self.hole_bytes += bytes.saturating_sub(head.bytes);
                    return Ok(Some(Member {
                        name: pax.name.or(long_name).unwrap_or(head.name),
                        bytes,
                        stored_bytes: head.bytes,
                        extents: Some(extents),
                    }));
                }
                _ => {
                    // Folders, links and devices have no body, whatever their size field says.
                    // Other kinds are refused.
                    if !matches!(head.kind, b'1'..=b'6') {
                        return Err(invalid("a member is of an unknown kind"));
                    }
                    (long_name, pax) = (None, Pax::default());
                }
            }
        }
    }
}

/// The size of a sparse file, which its header states and its extents fit.
fn sparse_bytes(
    extents: &[Extent],
    stated: Option<u64>,
    stored_bytes: u64,
    limits: &ArchiveLimits,
) -> Result<u64> {
    let bytes = stated.ok_or_else(|| invalid("a sparse file has no size"))?;
    sparse::check(extents, bytes, stored_bytes)?;
    limits.check_storage("a sparse file", bytes)?;
    Ok(bytes)
}

struct Head {
    name: String,
    bytes: u64,
    kind: u8,
}

impl Head {
    fn parse(header: &[u8]) -> Result<Head> {
        let stated = octal(header, 148, 8);
        let sum = |(at, byte): (usize, &u8)| {
            if (148..156).contains(&at) {
                u64::from(b' ')
            } else {
                u64::from(*byte)
            }
        };
        if stated != Some(header.iter().enumerate().map(sum).sum()) {
            return Err(invalid("a header's checksum is wrong"));
        }
        let name = until_zero(header.get(..100).unwrap_or_default());
        // Only ustar has a prefix; GNU has other fields there.
        let is_ustar = header.get(257..263) == Some(b"ustar\0");
        let prefix = until_zero(header.get(345..500).unwrap_or_default());
        let name = match prefix.is_empty() || !is_ustar {
            true => name.to_vec(),
            false => [prefix, b"/", name].concat(),
        };
        Ok(Head {
            name: String::from_utf8(name).map_err(|_| invalid("a name is not UTF-8"))?,
            bytes: octal(header, 124, 12).ok_or_else(|| invalid("a size is not a number"))?,
            kind: header.get(156).copied().unwrap_or_default(),
        })
    }
}

/// Header fields that a pax header overrides.
#[derive(Default)]
struct Pax {
    name: Option<String>,
    bytes: Option<u64>,
}

impl Pax {
    /// Parses lines of `<length> <key>=<value>\n`.
    fn parse<R: Read>(window: &mut Window<R>, bytes: u64) -> Result<Pax> {
        let lines = text(window, bytes)?;
        let mut pax = Pax::default();
        let mut rest = lines.as_str();
        while !rest.is_empty() {
            let broken = || invalid("a pax header is broken");
            let (length, _) = rest.split_once(' ').ok_or_else(broken)?;
            let end: usize = length.parse().map_err(|_| broken())?;
            let line = rest.get(length.len() + 1..end).ok_or_else(broken)?;
            let line = line.strip_suffix('\n').ok_or_else(broken)?;
            rest = rest.get(end..).ok_or_else(broken)?;
            let (key, value) = line.split_once('=').ok_or_else(broken)?;
            match key {
                "path" => pax.name = Some(value.to_owned()),
                "size" => pax.bytes = Some(value.parse().map_err(|_| broken())?),
                _ if key.starts_with("GNU.sparse") => {
                    return Err(invalid("it holds a sparse file in pax form"));
                }
                _ => {}
            }
        }
        Ok(pax)
    }
}

/// A small body as text, without the zero byte that GNU appends to a long name.
fn text<R: Read>(window: &mut Window<R>, bytes: u64) -> Result<String> {
    if bytes > NAME_BYTES_MAX {
        return Err(invalid("a name is too long"));
    }
    let body = window.take(bytes as usize)?;
    let body = body.strip_suffix(b"\0").unwrap_or(body);
    let text = String::from_utf8(body.to_vec()).map_err(|_| invalid("a name is not UTF-8"))?;
    window.skip(bytes + padding_of(bytes))?;
    Ok(text)
}

/// Reads the archive to its last byte, so that a checksum at its end is verified.
pub(super) fn drain<R: Read>(window: &mut Window<R>) -> Result<()> {
    /// tar pads its last record, which is 10 KiB by default.
    const TAIL_BYTES_MAX: u64 = 16 << 20;
    let end = window.passed() + TAIL_BYTES_MAX;
    while window.need(1)? {
        let view = window.view().len();
        window.pass(view);
        if window.passed() > end {
            return Err(invalid("it has bytes after its end mark"));
        }
    }
    if window.passed() == 0 {
        Err(ends_early())
    } else {
        Ok(())
    }
}
