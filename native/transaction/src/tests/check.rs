use super::*;

fn given(text: &str) -> Decoded {
    decode(text.as_bytes(), 1_232)
}

fn given_bytes(bytes: &[u8]) -> Decoded {
    given(&base64_simd::STANDARD.encode_to_string(bytes))
}

fn bundle(members: &[Vec<u8>]) -> Verdict {
    let members: Vec<Decoded> = members.iter().map(|bytes| given_bytes(bytes)).collect();
    check_bundle(&members, &rules())
}

fn batch(members: &[Vec<u8>]) -> Vec<u8> {
    let frame = |bytes: &Vec<u8>| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    members.iter().flat_map(frame).collect()
}

/// Qualifying transactions that differ in one byte of data.
fn member(version: Version, nonce: u8) -> Vec<u8> {
    let mut build = qualifying(version);
    build.instructions[2].2 = vec![nonce];
    build.bytes()
}

fn forged(bytes: &[u8]) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    forged[5] ^= 1;
    forged
}

fn signed(verdict: &Verdict) -> Vec<Option<bool>> {
    verdict
        .members
        .iter()
        .map(|member| member.is_signed)
        .collect()
}

#[test]
fn valid_bundle_of_every_version() {
    let members = [
        member(Version::Legacy, 1),
        member(Version::V0, 2),
        member(Version::V1, 3),
    ];
    let verdict = bundle(&members);
    assert_eq!(signed(&verdict), [Some(true); 3]);
    assert_eq!(verdict.duplicate, None);
    for member in &verdict.members {
        assert!(member.problem.is_none() && member.tips.qualifies);
    }
    let texts: Vec<&str> = verdict
        .members
        .iter()
        .map(|member| member.signature.as_deref().unwrap())
        .collect();
    assert_eq!(verdict.bundle_id, Some(bundle_id(&texts)));
    let first = five8::decode_64(texts[2].as_bytes(), &mut [0; 64]).map(|()| texts[2]);
    let mut tail = [0; 64];
    five8::decode_64(first.unwrap(), &mut tail).unwrap();
    assert_eq!(
        tail,
        members[2][members[2].len() - 64..],
        "version 1 signs at its end"
    );
}

#[test]
fn every_complete_record_of_a_batch_is_checked() {
    let members = [
        member(Version::Legacy, 1),
        forged(&member(Version::V0, 2)),
        vec![7; 66],
    ];
    let mut body = batch(&members);
    body.push(0);
    let verdict = check_batch(&body, &rules());
    assert_eq!(signed(&verdict), [Some(true), Some(false), None]);
    let problem = verdict.members[2].problem.clone();
    let text = "ends at byte 66 inside the signatures";
    assert_eq!(problem, Some(Problem::Structure(text.into())));
    assert_eq!(verdict.bundle_id, None);
    assert_eq!(check_batch(&[], &rules()).members, []);
}

#[test]
fn the_id_of_a_bundle_is_read_without_a_check() {
    let [one, two] = [1, 2].map(|nonce| member(Version::V0, nonce));
    let id_of = |members: &[Vec<u8>]| {
        let decoded: Vec<Decoded> = members.iter().cloned().map(Ok).collect();
        read_bundle_id(&decoded)
    };
    let many: Vec<Vec<u8>> = (0..=255)
        .map(|nonce| member(Version::Legacy, nonce))
        .collect();
    for members in [vec![one.clone()], vec![one.clone(), forged(&two)], many] {
        assert_eq!(id_of(&members), bundle(&members).bundle_id);
        assert!(id_of(&members).is_some());
    }
    assert_eq!(id_of(&[]), None);
    assert_eq!(id_of(&[one.clone(), two[..40].to_vec()]), None);
    assert_eq!(read_bundle_id(&[Ok(one), Err(Problem::Base64)]), None);
}

#[test]
fn every_signature_of_a_bundle_is_checked() {
    let [one, two, three] = [1, 2, 3].map(|nonce| member(Version::Legacy, nonce));
    let mixed = [one.clone(), forged(&two), three.clone()];
    assert_eq!(
        signed(&bundle(&mixed)),
        [Some(true), Some(false), Some(true)]
    );
    let broken = [one.clone(), two[..two.len() - 1].to_vec()];
    assert_eq!(signed(&bundle(&broken)), [Some(true), None]);
    let twice = [one.clone(), one];
    assert_eq!(signed(&bundle(&twice)), [Some(true), Some(true)]);
}

#[test]
fn duplicates_by_bytes_and_by_message() {
    let [one, two, three] = [1, 2, 3].map(|nonce| member(Version::V0, nonce));
    let duplicate = |members: &[&Vec<u8>]| {
        let members: Vec<Vec<u8>> = members.iter().copied().cloned().collect();
        bundle(&members).duplicate
    };
    assert_eq!(duplicate(&[&one, &two, &three]), None);
    assert_eq!(duplicate(&[&one, &two, &one]), Some((0, 2)));
    assert_eq!(
        duplicate(&[&one, &two, &two, &one]),
        Some((1, 2)),
        "by the later one"
    );
    assert_eq!(
        duplicate(&[&one, &forged(&one)]),
        Some((0, 1)),
        "another signature"
    );
    let junk = vec![1; 80];
    assert_eq!(
        duplicate(&[&junk, &junk]),
        Some((0, 1)),
        "even where it is no transaction"
    );
    // A legacy message and the same message with a version prefix are different messages.
    assert_eq!(duplicate(&[&member(Version::Legacy, 1), &one]), None);
    let verdict = check_bundle(&[given("!"), given("!")], &rules());
    assert_eq!(
        verdict.duplicate, None,
        "two texts that are no bytes are no duplicates"
    );
}

#[test]
fn tips_and_application_must_be_in_one_member() {
    let mut tipping = qualifying(Version::Legacy);
    let application = tipping.instructions.pop().unwrap();
    let mut applying = qualifying(Version::Legacy);
    applying.instructions = vec![application];
    let apart = bundle(&[tipping.bytes(), applying.bytes()]);
    let found: Vec<(bool, bool)> = apart
        .members
        .iter()
        .map(|member| (member.tips.has_application, member.tips.qualifies))
        .collect();
    assert_eq!(found, [(false, false), (true, false)]);
    let together = bundle(&[tipping.bytes(), member(Version::Legacy, 9)]);
    assert!(together.members[1].tips.qualifies);
}

#[test]
fn base64_is_canonical_and_sizes_are_bounded() {
    let mut build = qualifying(Version::Legacy);
    build.instructions[2].2 = vec![1, 2];
    let right = build.bytes();
    let encoded = base64_simd::STANDARD.encode_to_string(&right);
    assert!(
        encoded.ends_with("=="),
        "its last character has unused bits"
    );
    let problem = |text: &str, bytes_max: usize| {
        let decoded = decode(text.as_bytes(), bytes_max);
        let verdict = check_bundle(&[decoded], &rules());
        verdict.members[0].problem.clone()
    };
    assert_eq!(problem(&encoded, 1_232), None);
    let last = encoded.len() - 3;
    let mut unused = encoded.clone().into_bytes();
    unused[last] += 1;
    let wrong = [
        encoded[..encoded.len() - 1].to_string(),
        encoded[..encoded.len() - 2].to_string(),
        format!("{encoded}="),
        format!("{encoded}===="),
        format!("{encoded}AAAA"),
        format!(" {encoded}"),
        format!("{encoded}\n"),
        encoded.replacen('A', "-", 1),
        encoded.replacen('A', "_", 1),
        encoded.replacen('A', "é", 1),
        encoded.replacen("AA", "A\nA", 1),
        String::from_utf8(unused).unwrap(),
    ];
    for text in wrong {
        assert_eq!(problem(&text, 1_232), Some(Problem::Base64), "{text}");
    }
    let zeros = |bytes: usize| base64_simd::STANDARD.encode_to_string(vec![0; bytes]);
    assert_eq!(problem(&zeros(1_233), 1_232), Some(Problem::Size));
    assert_eq!(problem(&zeros(1_236), 1_232), Some(Problem::Size));
    assert_eq!(problem(&zeros(4_097), 4_096), Some(Problem::Size));
    let is_structure = |text: &str| matches!(problem(text, 1_232), Some(Problem::Structure(_)));
    assert!(is_structure(&zeros(1_232)));
    assert!(is_structure(""));
}

#[test]
fn bundle_ids_equal_the_engines() {
    // Both ids are from the engine's documentation.
    let landed = [
        "3bC2M9fiACSjkTXZDgeNAuQ4ScTsdKGwR42ytFdhUvikqTmBheUxfsR1fDVsM5ADCMMspuwGkdm1uKbU246x5aE3",
        "8t9hKYEYNbLvNqiSzP96S13XF1C2f1ro271Kdf7bkZ6EpjPLuDff1ywRy4gfaGSTubsM2FeYGDoT64ZwPm1cQUt",
    ];
    let sent = [
        "2EKVNQoeihFQfepJukLFtE4BpkNyYsZ1cdocSZzsz6En8nQ3D72M24zLFTJmbpd31hvbF9SpbQG2XPqawGoDxq2s",
        "w4fJGQcZGhHzeYELeiVW2PM5iypNEsWExSuUnmfVA4hHC21CRtBSqovRYj884jRVkPqdBY4Lt1owK8LPnyE4Ahs",
    ];
    let id = "892b79ed49138bfb3aa5441f0df6e06ef34f9ee8f3976c15b323605bae0cf51d";
    assert_eq!(bundle_id(&landed), id);
    assert_ne!(bundle_id(&[landed[1], landed[0]]), id, "the order counts");
    let id = "eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1";
    assert_eq!(bundle_id(&sent), id);
}

#[test]
fn a_member_shows_how_long_it_may_land() {
    let lifetime = |build: &Build| {
        let verdict = bundle(&[build.bytes()]);
        verdict.members[0].lifetime
    };
    for version in [Version::Legacy, Version::V0, Version::V1] {
        let build = qualifying(version);
        assert_eq!(lifetime(&build), Some(Lifetime::Blockhash([9; 32])));
        let system = build.instructions[0].0;
        let advance = vec![4, 0, 0, 0];
        let mut nonce = build.clone();
        nonce
            .instructions
            .insert(0, (system, vec![1, 1, 0], advance.clone()));
        let account = nonce.keys().get(1).copied();
        let of = |account| {
            Some(Lifetime::Nonce {
                account,
                value: [9; 32],
            })
        };
        assert_eq!(lifetime(&nonce), of(account));
        nonce.instructions[0].1.clear();
        assert_eq!(lifetime(&nonce), of(None), "without an account");
        let mut later = build.clone();
        later.instructions.push((system, vec![1, 1, 0], advance));
        assert_eq!(lifetime(&later), Some(Lifetime::Blockhash([9; 32])));
        let mut other = build;
        let application = other.instructions[2].0;
        other
            .instructions
            .insert(0, (application, vec![1], vec![4, 0, 0, 0]));
        assert_eq!(lifetime(&other), Some(Lifetime::Blockhash([9; 32])));
    }
    assert_eq!(bundle(&[vec![1, 2, 3]]).members[0].lifetime, None);
}
