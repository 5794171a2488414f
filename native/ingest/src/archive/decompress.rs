//! Decompresses archives into a plain tar. The archive's name does not decide the format.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use lz4_flex::frame::FrameDecoder;

use super::tar_fields::BLOCK_BYTES;
use sys::error::{Error, Result};

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];
/// Skippable frames of zstd and lz4 begin `5? 2A 4D 18`.
const SKIPPABLE_MAGIC: [u8; 3] = [0x2A, 0x4D, 0x18];
/// Size of a compressed read.
const READ_BYTES: usize = 1 << 20;

/// Follows an archive of lz4, whose decoder takes the end of its source for the end of a frame. As
/// the length of a block this is too large, with up to three zero bytes before it too.
const LZ4_END: [u8; 4] = [0xFF; 4];

/// An archive with its first bytes put back.
type Whole<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;
/// The same with [`LZ4_END`] behind it.
type Ended<R> = BufReader<Chain<Whole<R>, &'static [u8]>>;

/// A plain tar.
pub(super) enum Plain<R: Read> {
    Zstd(Box<zstd::Decoder<'static, Whole<R>>>),
    Lz4(Box<FrameDecoder<Ended<R>>>),
    Tar(Whole<R>),
}

/// Detects the format from the first bytes and decompresses. Successive frames are one stream.
pub(super) fn decompress<R: Read>(mut source: R) -> Result<Plain<R>> {
    let mut head = Vec::with_capacity(BLOCK_BYTES);
    source
        .by_ref()
        .take(BLOCK_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(of_source)?;
    let magic = head.first_chunk::<4>().copied().unwrap_or_default();
    let is_skippable = magic.first().is_some_and(|byte| byte & 0xF0 == 0x50)
        && magic.get(1..) == Some(&SKIPPABLE_MAGIC);
    let is_tar = head.get(257..262) == Some(b"ustar");
    let refused = match magic {
        [0x1F, 0x8B, ..] => "it is gzip",
        [b'B', b'Z', b'h', _] => "it is bzip2",
        [b'<', ..] => "it is a page of text, not an archive",
        _ => "its first bytes are of no known kind",
    };
    let whole = BufReader::with_capacity(READ_BYTES, Cursor::new(head).chain(source));
    if magic == ZSTD_MAGIC || is_skippable {
        return Ok(Plain::Zstd(Box::new(zstd::Decoder::with_buffer(whole)?)));
    }
    if magic == LZ4_MAGIC {
        let ended = BufReader::with_capacity(READ_BYTES, whole.chain(&LZ4_END[..]));
        return Ok(Plain::Lz4(Box::new(FrameDecoder::new(ended))));
    }
    if is_tar {
        return Ok(Plain::Tar(whole));
    }
    Err(Error::SnapshotInvalid(format!(
        "the archive is neither zstd nor lz4 nor tar: {refused}"
    )))
}

/// Extracts the source's own error, if there is one.
fn of_source(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(other) => Error::Internal(format!("reading the snapshot: {other}")),
    }
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Zstd(decoder) => decoder.read(out),
            Plain::Tar(tar) => tar.read(out),
            Plain::Lz4(decoder) => match decoder.read(out)? {
                // The decoder stops after each frame. Continue if another one follows.
                0 if has_more(decoder.get_mut())? => decoder.read(out),
                count => Ok(count),
            },
        }
    }
}

/// Whether bytes of the archive follow a frame. They and [`LZ4_END`] are never in one buffer. An
/// error if the frame has taken some of the latter, because its own end is missing.
fn has_more<R: Read>(source: &mut Ended<R>) -> io::Result<bool> {
    let count = source.fill_buf()?.len();
    let (_, end) = source.get_ref().get_ref();
    match (end.is_empty(), count == LZ4_END.len()) {
        (false, _) => Ok(true),
        (true, true) => Ok(false),
        (true, false) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
