//! One request's transactions, judged together.

use std::ops::Range;

use super::base64::{decode_canonical, text_length};
use super::bundle::{bundle_id, encode_signature};
use super::frames::frame_batch;
use super::parse::{View, read, sanitize};
use super::signature::is_signed;
use super::tips::{Rules, Tips, tips};

/// Why a member is no transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The text is not the canonical base64 of any bytes.
    Base64,
    /// More bytes than the route takes.
    Size,
    /// No validator would take it, in words.
    Structure(String),
}

impl Problem {
    pub fn into_text(self) -> String {
        match self {
            Problem::Base64 => "base64".into(),
            Problem::Size => "size".into(),
            Problem::Structure(text) => text,
        }
    }
}

/// What is known of one transaction of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where it lies in the body of a batch; 0 in a bundle.
    pub start: usize,
    pub byte_length: usize,
    pub problem: Option<Problem>,
    /// Base58 of the first signature, where the layout could be read.
    pub signature: Option<String>,
    /// Whether all its signatures are right; `None` where that was not looked at.
    pub is_signed: Option<bool>,
    pub tips: Tips,
}

/// What is known of a request's transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub members: Vec<Member>,
    /// The first two that are equal in their bytes, or in what is signed.
    pub duplicate: Option<(usize, usize)>,
    /// Where every member has a first signature.
    pub bundle_id: Option<String>,
}

/// A member's bytes, or why there are none.
struct Source<'a> {
    start: usize,
    bytes: Result<&'a [u8], Problem>,
}

/// Judges the complete records of a batch, in place.
pub fn check_batch(body: &[u8], rules: &Rules) -> Verdict {
    let mut sources = Vec::new();
    let _ = frame_batch(body, |Range { start, end }| {
        let bytes = body.get(start..end).ok_or(Problem::Size);
        sources.push(Source { start, bytes });
    });
    check(&sources, rules, false)
}

/// Judges the members of a bundle. With `stops_early`, signatures are looked at only where nothing else is wrong,
/// and only up to the first wrong one.
pub fn check_bundle(texts: &[Text], bytes_max: usize, rules: &Rules, stops_early: bool) -> Verdict {
    let decoded: Vec<Result<Vec<u8>, Problem>> =
        texts.iter().map(|text| decode(text, bytes_max)).collect();
    let sources: Vec<Source<'_>> = decoded
        .iter()
        .map(|decoded| Source {
            start: 0,
            bytes: decoded.as_deref().map_err(Problem::clone),
        })
        .collect();
    check(&sources, rules, stops_early)
}

/// One base64 text of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    Given(Vec<u8>),
    /// It was longer than any transaction's, and not taken over.
    TooLong,
}

fn decode(text: &Text, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let Text::Given(text) = text else {
        return Err(Problem::Size);
    };
    if text.len() > text_length(bytes_max) {
        return Err(Problem::Size);
    }
    let bytes = decode_canonical(text).ok_or(Problem::Base64)?;
    if bytes.len() > bytes_max {
        Err(Problem::Size)
    } else {
        Ok(bytes)
    }
}

fn check(sources: &[Source<'_>], rules: &Rules, stops_early: bool) -> Verdict {
    let mut views = Vec::with_capacity(sources.len());
    let mut members = Vec::with_capacity(sources.len());
    for source in sources {
        let (member, view) = look(source, rules);
        members.push(member);
        views.push(view);
    }
    let duplicate = find_duplicate(sources, &views);
    let is_refused = duplicate.is_some() || members.iter().any(|member| member.problem.is_some());
    if !(stops_early && is_refused) {
        check_signatures(&mut members, &views, stops_early);
    }
    let signatures: Option<Vec<&str>> = members
        .iter()
        .map(|member| member.signature.as_deref())
        .collect();
    let bundle_id = signatures
        .filter(|signatures| !signatures.is_empty())
        .map(|signatures| bundle_id(&signatures));
    Verdict {
        members,
        duplicate,
        bundle_id,
    }
}

fn check_signatures(members: &mut [Member], views: &[Option<View<'_>>], stops_early: bool) {
    for (member, view) in members.iter_mut().zip(views) {
        let Some(view) = view else { continue };
        let is_signed = is_signed(view);
        member.is_signed = Some(is_signed);
        if stops_early && !is_signed {
            return;
        }
    }
}

fn look<'a>(source: &Source<'a>, rules: &Rules) -> (Member, Option<View<'a>>) {
    let mut member = Member {
        start: source.start,
        byte_length: source.bytes.as_ref().map_or(0, |bytes| bytes.len()),
        problem: None,
        signature: None,
        is_signed: None,
        tips: rules.nothing(),
    };
    let view = source.bytes.clone().and_then(|bytes| {
        let view = read(bytes).map_err(Problem::Structure)?;
        let first = view.signatures().first();
        member.signature = first.map(|signature| encode_signature(signature.as_array()));
        sanitize(view).map_err(Problem::Structure)
    });
    match view {
        Ok(view) => {
            member.tips = tips(&view, rules);
            (member, Some(view))
        }
        Err(problem) => {
            member.problem = Some(problem);
            (member, None)
        }
    }
}

/// The first two equal members, by the later one. The bytes that are signed are compared themselves: equal bytes are
/// what equal message hashes stand for.
fn find_duplicate(sources: &[Source<'_>], views: &[Option<View<'_>>]) -> Option<(usize, usize)> {
    let is_equal = |one: usize, other: usize| {
        let bytes = |at: usize| {
            sources
                .get(at)
                .and_then(|source| source.bytes.as_ref().ok())
        };
        let message = |at: usize| {
            views
                .get(at)
                .and_then(Option::as_ref)
                .map(View::message_data)
        };
        (bytes(one).is_some() && bytes(one) == bytes(other))
            || (message(one).is_some() && message(one) == message(other))
    };
    (0..sources.len()).find_map(|other| {
        (0..other)
            .find(|one| is_equal(*one, other))
            .map(|one| (one, other))
    })
}
