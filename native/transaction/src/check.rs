//! Checks all transactions of one request.

use base64_simd::STANDARD;

use super::bundle::{bundle_id, encode_signature};
use super::frames::frame_batch;
use super::lifetime::{Lifetime, lifetime};
use super::parse::{read, sanitize};
use super::signature::is_signed;
use super::tips::{Rules, Tips, tips};
use super::view::View;

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

    /// The reason of an invalid structure; otherwise empty.
    pub fn into_reason(self) -> String {
        match self {
            Problem::Base64 | Problem::Size => String::new(),
            Problem::Structure(reason) => reason,
        }
    }
}

/// The decoded bytes of a transaction, or why there are none.
pub type Decoded = Result<Vec<u8>, Problem>;
type Source<'a> = Result<&'a [u8], Problem>;

/// The result for one transaction of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub problem: Option<Problem>,
    /// Base58 of the first signature, if the layout is valid.
    pub signature: Option<String>,
    /// How long it may land, if the layout is valid.
    pub lifetime: Option<Lifetime>,
    /// Whether all signatures are valid; `None` for an invalid transaction.
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

/// Checks the complete records of a batch.
pub fn check_batch(body: &[u8], rules: &Rules) -> Verdict {
    let mut records = Vec::new();
    let _ = frame_batch(body, |range| {
        records.push(body.get(range).ok_or(Problem::Size));
    });
    check(&records, rules)
}

/// Checks the members of a bundle.
pub fn check_bundle(members: &[Decoded], rules: &Rules) -> Verdict {
    let sources: Vec<Source<'_>> = members
        .iter()
        .map(|member| member.as_deref().map_err(Problem::clone))
        .collect();
    check(&sources, rules)
}

/// Checks one transaction.
pub fn check_transaction(transaction: &[u8], rules: &Rules) -> Verdict {
    check(&[Ok(transaction)], rules)
}

/// Base58 of the first signature of a transaction of which nothing else is checked. The error is
/// why there is none.
pub fn read_signature(transaction: &[u8]) -> Result<String, String> {
    let view = read(transaction)?;
    let first = view.signatures().first().ok_or("no signature")?;
    Ok(encode_signature(first.as_array()))
}

/// The id of a bundle of which nothing is checked; `None` if a member has no signature that can be
/// read.
pub fn read_bundle_id(members: &[Decoded]) -> Option<String> {
    let first_of = |member: &Decoded| read_signature(member.as_deref().ok()?).ok();
    let signatures: Option<Vec<String>> = members.iter().map(first_of).collect();
    signatures
        .filter(|signatures| !signatures.is_empty())
        .map(|signatures| bundle_id(&signatures))
}

/// Length of the padded base64 text of `bytes` bytes.
pub const fn text_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Decodes the canonical base64 text of a transaction of at most `bytes_max` bytes: standard
/// alphabet, padded, unused bits zero. So equal transactions have equal texts.
pub fn decode(text: &[u8], bytes_max: usize) -> Decoded {
    if text.len() > text_length(bytes_max) {
        return Err(Problem::Size);
    }
    let bytes = STANDARD.decode_to_vec(text).map_err(|_| Problem::Base64)?;
    if bytes.len() > bytes_max {
        Err(Problem::Size)
    } else {
        Ok(bytes)
    }
}

fn check(sources: &[Source<'_>], rules: &Rules) -> Verdict {
    let (members, views): (Vec<Member>, Vec<Option<View<'_>>>) = sources
        .iter()
        .map(|source| check_member(source, rules))
        .unzip();
    let duplicate = find_duplicate(sources, &views);
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

fn check_member<'a>(source: &Source<'a>, rules: &Rules) -> (Member, Option<View<'a>>) {
    let mut member = Member {
        problem: None,
        signature: None,
        lifetime: None,
        is_signed: None,
        tips: rules.nothing(),
    };
    let view = source.clone().and_then(|bytes| {
        let view = read(bytes).map_err(Problem::Structure)?;
        let first = view.signatures().first();
        member.lifetime = Some(lifetime(&view));
        member.signature = first.map(|signature| encode_signature(signature.as_array()));
        sanitize(view).map_err(Problem::Structure)
    });
    match view {
        Ok(view) => {
            member.tips = tips(&view, rules);
            member.is_signed = Some(is_signed(rules.signature_rule, &view));
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
        let bytes = |at: usize| sources.get(at).and_then(|source| source.as_ref().ok());
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
