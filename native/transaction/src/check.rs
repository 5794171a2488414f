//! Checks of all transactions of one request.

use std::ops::Range;
use std::sync::OnceLock;

use super::base64::{decode_canonical, text_length};
use super::bundle::{bundle_id, encode_signature};
use super::frames::frame_batch;
use super::parse::{parse, read, sanitize};
use super::signature::is_signed;
use super::tips::{Rules, Tips, tips};
use super::view::View;
use super::work_claims::WorkClaims;

/// Why a member cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The text is not the canonical base64 of any bytes.
    Base64,
    /// More bytes than the route takes.
    Size,
    /// Why no validator would accept it.
    Structure(String),
}

impl Problem {
    /// `base64`, `size` or `structure`.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::Base64 => "base64",
            Problem::Size => "size",
            Problem::Structure(_) => "structure",
        }
    }

    /// Why the structure is wrong, in words.
    pub fn into_reason(self) -> Option<String> {
        match self {
            Problem::Base64 | Problem::Size => None,
            Problem::Structure(reason) => Some(reason),
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
    /// Whether all its signatures are right; `None` where they were not checked.
    pub is_signed: Option<bool>,
    pub tips: Tips,
}

/// What is known of a request's transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub members: Vec<Member>,
    /// The first two that are equal in their bytes, or in what is signed.
    pub duplicate: Option<(usize, usize)>,
    /// Where every member has a first signature.
    pub bundle_id: Option<String>,
}

/// The transactions of one request.
#[derive(Debug)]
pub enum Given<B> {
    /// The body of a batch. Its complete records are checked in place.
    Batch(B),
    /// The decoded members of a bundle.
    Bundle(Vec<Result<Vec<u8>, Problem>>),
}

/// One request's check. One thread runs it; others may help with the signatures, which are nearly
/// all of its work.
#[derive(Debug)]
pub struct Check<B> {
    given: Given<B>,
    claims: OnceLock<WorkClaims>,
    verdict: OnceLock<Verdict>,
}

impl<B: AsRef<[u8]>> Check<B> {
    pub fn new(given: Given<B>) -> Check<B> {
        Check {
            given,
            claims: OnceLock::new(),
            verdict: OnceLock::new(),
        }
    }

    /// Checks everything but the signatures that helpers claim. Calls `call_help` at most once,
    /// where there are several signatures: from then on another thread may call `help`.
    pub fn run(&self, rules: &Rules, call_help: impl FnOnce()) {
        let sources = self.sources();
        let (verdict, views) = look_all(&sources, rules);
        let claims = self.claims.get_or_init(|| WorkClaims::new(views.len()));
        let verdict = self.verdict.get_or_init(|| verdict);
        let is_whole = |member: &&Member| member.problem.is_none();
        if verdict.members.iter().filter(is_whole).count() > 1 {
            call_help();
        }
        claims.work(|index| views.get(index)?.as_ref().map(is_signed));
    }

    /// Checks signatures that no other thread has claimed.
    pub fn help(&self) {
        let Some(claims) = self.claims.get() else {
            return;
        };
        let sources = self.sources();
        claims.work(|index| {
            let bytes = sources.get(index)?.bytes.as_ref().ok()?;
            // Parsed a second time: 1 µs.
            parse(bytes).ok().as_ref().map(is_signed)
        });
    }

    /// The verdict. Call it when no thread works any more. `None`: one of them panicked.
    pub fn finish(&mut self) -> Option<Verdict> {
        let mut verdict = self.verdict.take()?;
        let found = self.claims.take()?.finish()?;
        for (member, is_signed) in verdict.members.iter_mut().zip(found) {
            member.is_signed = is_signed;
        }
        Some(verdict)
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        match &self.given {
            Given::Batch(body) => {
                let body = body.as_ref();
                let _ = frame_batch(body, |Range { start, end }| {
                    let bytes = body.get(start..end).ok_or(Problem::Size);
                    sources.push(Source { start, bytes });
                });
            }
            Given::Bundle(members) => sources.extend(members.iter().map(|member| Source {
                start: 0,
                bytes: member.as_deref().map_err(Problem::clone),
            })),
        }
        sources
    }
}

/// A member's bytes, or why there are none.
struct Source<'a> {
    start: usize,
    bytes: Result<&'a [u8], Problem>,
}

/// A whole check on this thread.
fn check_alone(given: Given<&[u8]>, rules: &Rules) -> Verdict {
    let mut check = Check::new(given);
    check.run(rules, || {});
    check.finish().unwrap_or_default()
}

/// Checks the complete records of a batch, in place.
pub fn check_batch(body: &[u8], rules: &Rules) -> Verdict {
    check_alone(Given::Batch(body), rules)
}

/// Checks the members of a bundle.
pub fn check_bundle(members: Vec<Result<Vec<u8>, Problem>>, rules: &Rules) -> Verdict {
    check_alone(Given::Bundle(members), rules)
}

/// Decodes the base64 text of a transaction of at most `bytes_max` bytes.
pub fn decode(text: &[u8], bytes_max: usize) -> Result<Vec<u8>, Problem> {
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

/// Checks everything but the signatures.
fn look_all<'a>(sources: &[Source<'a>], rules: &Rules) -> (Verdict, Vec<Option<View<'a>>>) {
    let mut views = Vec::with_capacity(sources.len());
    let mut members = Vec::with_capacity(sources.len());
    for source in sources {
        let (member, view) = look(source, rules);
        members.push(member);
        views.push(view);
    }
    let duplicate = find_duplicate(sources, &views);
    let signatures: Option<Vec<&str>> = members
        .iter()
        .map(|member| member.signature.as_deref())
        .collect();
    let bundle_id = signatures
        .filter(|signatures| !signatures.is_empty())
        .map(|signatures| bundle_id(&signatures));
    let verdict = Verdict {
        members,
        duplicate,
        bundle_id,
    };
    (verdict, views)
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

/// The first two equal members, by the later one. The bytes that are signed are compared
/// themselves: equal bytes are what equal message hashes stand for.
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
