use agave_transaction_view::transaction_view::UnsanitizedTransactionView;
use proptest::prelude::*;
use validator_ed25519::{Signature as DalekSignature, VerifyingKey};

use super::super::layout::walk;
use super::super::parse::{REFUSED, UNREADABLE};
use super::super::refusal::refusal;
use super::super::view::SANITIZE;
use super::*;

fn any_version() -> impl Strategy<Value = Version> {
    prop::sample::select(vec![Version::Legacy, Version::V0, Version::V1])
}

fn any_build() -> impl Strategy<Value = Build> {
    let instruction = (
        0u8..8,
        prop::collection::vec(0u8..10, 0..5),
        prop::collection::vec(any::<u8>(), 0..200),
    );
    let lookup = (
        any::<Pubkey>(),
        prop::collection::vec(any::<u8>(), 0..4),
        prop::collection::vec(any::<u8>(), 0..4),
    );
    (
        any_version(),
        1u8..5,
        prop::collection::vec(any::<Pubkey>(), 0..6),
        0u8..3,
        0u8..4,
        prop::collection::vec(instruction, 0..4),
        prop::collection::vec(lookup, 0..3),
    )
        .prop_map(
            |(version, signers, others, signed, unsigned, instructions, lookups)| Build {
                version,
                signers: (1..=signers).collect(),
                others,
                readonly_signed: signed,
                readonly_unsigned: unsigned,
                instructions,
                lookups,
                config: Vec::new(),
            },
        )
}

/// A change of bytes: set, remove or insert.
#[derive(Debug, Clone)]
pub enum Mutation {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => at().prop_map(Mutation::Cut),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
    ]
}

pub fn any_mutations() -> impl Strategy<Value = Vec<Mutation>> {
    prop::collection::vec(any_mutation(), 0..3)
}

pub fn mutate(mut bytes: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        match mutation {
            Mutation::Set(at, byte) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Set(..) => {}
            Mutation::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
            Mutation::Insert(at, more) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, more.iter().copied());
            }
        }
    }
    bytes
}

/// The reference: `None` if the parser rejects it, else whether its signatures are valid.
fn oracle(bytes: &[u8]) -> Option<bool> {
    let view = UnsanitizedTransactionView::try_new_unsanitized(bytes).ok()?;
    let view = view.sanitize(&SANITIZE).ok()?;
    let (keys, message) = (view.static_account_keys(), view.message_data());
    Some(
        view.signatures()
            .iter()
            .enumerate()
            .all(|(index, signature)| {
                let signature = DalekSignature::from_bytes(signature.as_array());
                let key = VerifyingKey::from_bytes(keys[index].as_array());
                key.is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
            }),
    )
}

pub fn agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    let text = base64_simd::STANDARD.encode_to_string(bytes).into_bytes();
    let verdict = check_bundle(&[decode(&text, BYTES_MAX)], &rules());
    let member = &verdict.members[0];
    prop_assert_eq!(member.is_signed, oracle(bytes));
    prop_assert_eq!(member.problem.is_none(), member.is_signed.is_some());
    if let Some(problem) = problem_text(member) {
        prop_assert!(
            problem != UNREADABLE && problem != REFUSED,
            "no words for {bytes:?}"
        );
    }
    // Other code finds the reasons. It must find one exactly where the parser or the sanitizer
    // fails.
    let view = UnsanitizedTransactionView::try_new_unsanitized(bytes);
    prop_assert_eq!(walk(bytes).is_ok(), view.is_ok(), "{:?}", walk(bytes));
    if let Ok(view) = view {
        let words = refusal(&view);
        prop_assert_eq!(
            words.is_none(),
            view.sanitize(&SANITIZE).is_ok(),
            "{:?}",
            words
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn generated_transactions_get_the_parsers_verdict(
        build in any_build(),
        mutations in any_mutations(),
    ) {
        agrees(&mutate(build.bytes(), &mutations))?;
    }

    #[test]
    fn any_bytes_get_the_parsers_verdict(
        first in prop_oneof![Just(1u8), Just(0x81), any::<u8>()],
        rest in prop::collection::vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 0..600),
    ) {
        agrees(&[vec![first], rest].concat())?;
    }

    #[test]
    fn any_body_is_framed_or_rejected(
        records in prop::collection::vec(66usize..200, 0..19),
        mutations in prop::collection::vec(any_mutation(), 0..2),
    ) {
        let record = |length: &usize| [&(*length as u16).to_be_bytes()[..], &vec![1; *length]].concat();
        let body = mutate(records.iter().flat_map(record).collect(), &mutations);
        let mut ranges = Vec::new();
        let fault = frame_batch(&body, |range| ranges.push(range));
        // A reference that reads forward and stops at the first error.
        let mut offset = 0;
        for range in &ranges {
            prop_assert_eq!(range.start, offset + 2);
            let length = usize::from(body[offset]) << 8 | usize::from(body[offset + 1]);
            prop_assert_eq!(range.len(), length);
            prop_assert!((66..=1_232).contains(&length));
            offset = range.end;
        }
        prop_assert!(ranges.len() <= 16 && offset <= body.len());
        match fault {
            None => prop_assert!(offset == body.len() && !ranges.is_empty()),
            Some(fault) => {
                prop_assert_eq!((fault.record, fault.offset), (ranges.len(), offset));
                prop_assert!(offset < body.len() || body.is_empty());
            }
        }
        let verdict = check_batch(&body, &rules());
        prop_assert_eq!(verdict.members.len(), ranges.len());
    }

    #[test]
    fn base64_text_of_bytes_is_unique(
        text in prop_oneof![
            "[A-Za-z0-9+/]{0,12}={0,3}",
            "[A-Za-z0-9+/=_\\- \\n\u{141}é]{0,12}",
            prop::collection::vec(any::<u8>(), 0..12)
                .prop_map(|bytes| base64_simd::STANDARD.encode_to_string(bytes)),
        ],
    ) {
        if let Ok(bytes) = decode(text.as_bytes(), BYTES_MAX) {
            prop_assert_eq!(base64_simd::STANDARD.encode_to_string(bytes), text);
        } else {
            // Where a lenient decoder accepts the text, the canonical text of its bytes differs.
            let lenient = base64_simd::forgiving_decode_to_vec(text.as_bytes()).ok();
            let again = lenient.map(|bytes| base64_simd::STANDARD.encode_to_string(bytes));
            prop_assert_ne!(again, Some(text));
        }
    }
}
