//! A part of a block that is no change, as encoded in the chunks of segment files.

use crate::rows::change::{CHANGE_HEAD_BYTES, push_change};
use crate::rows::record::BlockParts;

/// Beside the kinds of changes.
const KIND_META: u8 = 6;
const KIND_FOOTER: u8 = 7;
const KIND_ENTRY: u8 = 8;

/// A part of a block, in the protobuf of [`BlockParts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Entry(&'a [u8]),
    Meta(&'a [u8]),
    Footer(&'a [u8]),
}

/// Decodes exactly one part.
pub(crate) fn decode(bytes: &[u8]) -> Option<Part<'_>> {
    let (head, body) = bytes.split_first_chunk::<CHANGE_HEAD_BYTES>()?;
    match head[0] {
        KIND_ENTRY => Some(Part::Entry(body)),
        KIND_META => Some(Part::Meta(body)),
        KIND_FOOTER => Some(Part::Footer(body)),
        _ => None,
    }
}

pub(crate) fn push_entry(out: &mut Vec<u8>, entry: &[u8]) {
    push(out, KIND_ENTRY, entry);
}

/// Appends all but the entries.
pub(crate) fn push_others(out: &mut Vec<u8>, parts: &BlockParts) {
    if !parts.meta.is_empty() {
        push(out, KIND_META, &parts.meta);
    }
    if let Some(footer) = &parts.footer {
        push(out, KIND_FOOTER, footer);
    }
}

fn push(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    push_change(out, |out| {
        out.extend_from_slice(bytes);
        kind
    });
}
