//! Checks all transactions of one request.

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

/// Why a transaction is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The text is not canonical base64.
    Base64,
    /// More bytes than the route allows.
    Size,
    /// The reason why a validator would reject it.
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

    /// The reason of an invalid structure.
    pub fn into_reason(self) -> Option<String> {
        match self {
            Problem::Base64 | Problem::Size => None,
            Problem::Structure(reason) => Some(reason),
        }
    }
}

/// The result for one transaction of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// First byte in the body of a batch; 0 in a bundle.
    pub start: usize,
    pub byte_length: usize,
    pub problem: Option<Problem>,
    /// Base58 of the first signature, if the layout is valid.
    pub signature: Option<String>,
    /// Whether all signatures are valid; `None` where they were not checked.
    pub is_signed: Option<bool>,
    pub tips: Tips,
}

/// The result for the transactions of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub members: Vec<Member>,
    /// The first two members with equal bytes or equal messages.
    pub duplicate: Option<(usize, usize)>,
    /// Set if every member has a first signature.
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

/// The check of one request. One thread runs it. Others may help with the signatures, which are
/// nearly all of the work.
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

    /// Checks everything except signatures that helpers claim. If there are several signatures,
    /// calls `call_help` once; from then on another thread may call `help`.
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
            // Parsing it a second time takes 1 µs.
            parse(bytes).ok().as_ref().map(is_signed)
        });
    }

    /// Returns the verdict. Call it after all threads have finished. `None`: one of them panicked.
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

/// The bytes of a member, or why it has none.
struct Source<'a> {
    start: usize,
    bytes: Result<&'a [u8], Problem>,
}

/// Runs a whole check on this thread.
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

/// Checks everything except signatures.
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

/// The first two equal members, ordered by the later one. Compares signed bytes instead of message
/// hashes: equal bytes have equal hashes.
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
