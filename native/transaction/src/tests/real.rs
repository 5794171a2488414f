use std::sync::LazyLock;

use proptest::prelude::*;

use super::fixtures::{Fixture, json, transactions};
use super::properties::{agrees, any_mutations, mutate};
use super::*;

/// The expected reason for each invalid fixture. An empty one is an invalid signature.
const REASONS: [(&str, &str); 14] = [
    (
        "three-byte alias compact-u16 signature count",
        "unknown version byte 0x82",
    ),
    (
        "non-minimal compact-u16 signature count (alias)",
        "unknown config bits 0x120bbdcd",
    ),
    (
        "one bit of the message flipped",
        "ends at byte 940 inside lookup table 7",
    ),
    ("message version byte 0xff", "unknown version byte 0xff"),
    (
        "message version byte 0x81 inside a signature-first frame",
        "unknown version byte 0x81",
    ),
    ("zero signatures", "0 signatures, 1 to 12 are possible"),
    (
        "only the signature section",
        "ends at byte 65 inside the header",
    ),
    ("one trailing zero byte", "1 byte behind its end"),
    ("padded with zero bytes to 1233", "bytes behind its end"),
    (
        "program index 0 (fee payer as program)",
        "instruction 0 invokes the fee payer",
    ),
    (
        "header requires one more signature than present",
        "the header requires",
    ),
    (
        "all signers read-only (fee payer not writable)",
        "the fee payer is read-only",
    ),
    ("line break inside the base64", "base64"),
    ("base64 padding missing", "base64"),
];

fn check_fixture(fixture: &Fixture) -> Member {
    let decoded = decode(fixture.text.as_bytes(), BYTES_MAX);
    let verdict = check_bundle(&[decoded], &rules());
    verdict.members.into_iter().next().unwrap()
}

#[test]
fn real_transactions_get_their_verdicts() {
    for fixture in transactions().unwrap_or_default() {
        let member = check_fixture(&fixture);
        let problem = problem_text(&member);
        let name = &fixture.name;
        if fixture.file["expect"] == "valid" {
            assert_eq!((problem, member.is_signed), (None, Some(true)), "{name}");
            let facts = &fixture.file["facts"];
            assert_eq!(
                member.signature.as_deref(),
                facts["first_signature"].as_str(),
                "{name}"
            );
            continue;
        }
        let reason = fixture.file["reason"].as_str().unwrap();
        let known = REASONS.iter().find(|(known, _)| *known == reason);
        let Some((_, text)) = known else {
            assert_eq!(
                (problem, member.is_signed),
                (None, Some(false)),
                "{name}: {reason}"
            );
            continue;
        };
        let problem = problem.unwrap_or_default();
        assert!(problem.contains(text), "{name}: {reason}: {problem}");
        assert_eq!(member.is_signed, None);
    }
}

#[test]
fn documented_bundle_gets_its_id() {
    let Some(file) = json("bundles/sendBundle-02015f69.json") else {
        return;
    };
    let params = file["request"]["body"]["params"][0].as_array().unwrap();
    let member = |text: &serde_json::Value| decode(text.as_str().unwrap().as_bytes(), 1_232);
    let members: Vec<Decoded> = params.iter().take(2).map(member).collect();
    let verdict = check_bundle(&members, &rules());
    assert_eq!(
        verdict.bundle_id.as_deref(),
        Some("eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1")
    );
    assert!(
        verdict
            .members
            .iter()
            .all(|member| member.is_signed == Some(true))
    );
}

static REAL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let fixtures = transactions().unwrap_or_default();
    let decoded = fixtures
        .iter()
        .filter_map(|fixture| decode(fixture.text.as_bytes(), BYTES_MAX).ok());
    decoded.collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn mutated_real_transactions_get_the_parsers_verdict(
        at in any::<prop::sample::Index>(),
        mutations in any_mutations(),
    ) {
        if let Some(bytes) = REAL.get(at.index(REAL.len().max(1))) {
            agrees(&mutate(bytes.clone(), &mutations))?;
        }
    }
}
