use super::*;

fn problem(build: &Build) -> String {
    parse(&build.bytes()).err().unwrap_or_default()
}

fn legacy() -> Build {
    qualifying(Version::Legacy)
}

#[test]
fn invalid_layouts() {
    let right = legacy().bytes();
    let v1 = qualifying(Version::V1).bytes();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = right.clone();
        changed.splice(at..at + 1, bytes.iter().copied());
        changed
    };
    let v1_with = |at: usize, byte: u8| {
        let mut changed = v1.clone();
        changed[at] = byte;
        changed
    };
    let ends = format!("ends at byte {} inside instruction 2", right.len() - 1);
    let v1_ends = format!("ends at byte {} inside the signatures", v1.len() - 1);
    let long = [right.clone(), vec![0; 4_096]].concat();
    // Offsets: header 65, count of keys 68, six keys, blockhash, count of instructions 293.
    let cases: [(Vec<u8>, &str); 23] = [
        (vec![], "no bytes"),
        (with(0, &[0]), "0 signatures, 1 to 12 are possible"),
        (with(0, &[13]), "13 signatures, 1 to 12 are possible"),
        (with(0, &[0x80]), "unknown version byte 0x80"),
        (with(0, &[0x82]), "unknown version byte 0x82"),
        (with(65, &[0x81]), "unknown version byte 0x81"),
        (with(65, &[0xff]), "unknown version byte 0xff"),
        (with(68, &[0]), "0 account keys, 1 to 38 are possible"),
        (with(68, &[39]), "39 account keys, 1 to 38 are possible"),
        (with(68, &[38]), "ends at byte 333 inside the account keys"),
        (
            with(293, &[0x83, 0]),
            "length at byte 293 in the instructions is not in its shortest form",
        ),
        (
            with(293, &[0x83, 0x80]),
            "length at byte 293 in the instructions is too large",
        ),
        (
            with(293, &[127]),
            "ends at byte 333 inside the instructions",
        ),
        (right[..right.len() - 1].to_vec(), &ends),
        (right[..65].to_vec(), "ends at byte 65 inside the header"),
        (
            right[..64].to_vec(),
            "ends at byte 64 inside the signatures",
        ),
        ([right.clone(), vec![0]].concat(), "1 byte behind its end"),
        (
            [right.clone(), vec![0; 7]].concat(),
            "7 bytes behind its end",
        ),
        (long, "4429 bytes, at most 4096"),
        (v1_with(4, 0x20), "unknown config bits 0x20"),
        (v1_with(4, 1), "half a priority fee"),
        (v1[..v1.len() - 1].to_vec(), &v1_ends),
        (v1[..41].to_vec(), "ends at byte 41 inside the header"),
    ];
    assert_eq!(right.len(), 333);
    for (bytes, text) in cases {
        assert_eq!(parse(&bytes).err().as_deref(), Some(text));
    }
    let tables = |count: usize| {
        let lookups = (0..count).map(|_| ([8; 32], vec![], vec![])).collect();
        Build {
            lookups,
            ..Build::new(Version::V0)
        }
    };
    assert_eq!(problem(&tables(32)), "32 lookup tables, at most 31");
    assert_eq!(
        problem(&tables(31)),
        "ends at byte 1190 inside the lookup tables"
    );
}

#[test]
fn sanitizer_rejections() {
    let with = |version: Version, change: &dyn Fn(&mut Build)| {
        let mut build = qualifying(version);
        change(&mut build);
        problem(&build)
    };
    let legacy = |change: &dyn Fn(&mut Build)| with(Version::Legacy, change);
    let v0 = |change: &dyn Fn(&mut Build)| with(Version::V0, change);
    let v1 = |change: &dyn Fn(&mut Build)| with(Version::V1, change);
    let data = |length: usize| move |build: &mut Build| build.instructions[2].2 = vec![0; length];
    let heap = |bytes: u32| move |build: &mut Build| build.config = vec![(4, bytes)];

    // 333 bytes with one byte of data. A length of two bytes adds one.
    assert_eq!(legacy(&data(899)), "");
    assert_eq!(legacy(&data(900)), "1233 bytes, at most 1232");
    assert_eq!(
        legacy(&|build| build.readonly_signed = 1),
        "the fee payer is read-only"
    );
    assert_eq!(legacy(&|build| build.readonly_unsigned = 5), "");
    let all = "6 of 5 unsigned accounts are read-only";
    assert_eq!(legacy(&|build| build.readonly_unsigned = 6), all);
    assert_eq!(
        v1(&|build| build.signers.clear()),
        "no signature is required"
    );
    let heap_text = "multiples of 1024 from 32768 to 262144 are possible";
    assert_eq!(v1(&heap(32 * 1_024)), "");
    assert_eq!(v1(&heap(256 * 1_024)), "");
    for bytes in [0, 31 * 1_024, 33 * 1_024 - 1, 257 * 1_024] {
        assert_eq!(
            v1(&heap(bytes)),
            format!("a heap of {bytes} bytes, {heap_text}")
        );
    }
    let many = |build: &mut Build| build.signers = (1..=13).collect();
    assert_eq!(v1(&many), "13 signatures, at most 12");

    let instructions = |count: usize| {
        move |build: &mut Build| build.instructions = vec![(5, vec![], vec![]); count]
    };
    assert_eq!(legacy(&instructions(64)), "");
    assert_eq!(legacy(&instructions(65)), "65 instructions, at most 64");
    let program = |index: u8| move |build: &mut Build| build.instructions[1].0 = index;
    assert_eq!(legacy(&program(0)), "instruction 1 invokes the fee payer");
    assert_eq!(legacy(&program(1)), "");
    assert_eq!(legacy(&program(6)), "instruction 1 invokes account 6 of 6");
    let account = |index: u8| move |build: &mut Build| build.instructions[1].1 = vec![0, index];
    assert_eq!(legacy(&account(5)), "");
    assert_eq!(legacy(&account(6)), "instruction 1 names account 6 of 6");
    let accounts = |count: usize| move |build: &mut Build| build.instructions[1].1 = vec![0; count];
    assert_eq!(legacy(&accounts(255)), "");
    assert_eq!(
        legacy(&accounts(256)),
        "instruction 1 names 256 accounts, at most 255"
    );

    let lookup = |writable: usize, readonly: usize| {
        move |build: &mut Build| {
            let indexes = |count: usize| vec![0; count];
            build.lookups = vec![
                ([8; 32], vec![1], vec![]),
                ([9; 32], indexes(writable), indexes(readonly)),
            ];
        }
    };
    assert_eq!(
        v0(&lookup(0, 0)),
        "ends at byte 404 inside the lookup tables"
    );
    let third = |build: &mut Build| {
        build.lookups = vec![([8; 32], vec![], vec![]), ([9; 32], vec![1, 2], vec![])];
    };
    assert_eq!(v0(&third), "lookup table 0 selects no account");
    assert_eq!(v0(&lookup(249, 0)), "");
    assert_eq!(v0(&lookup(200, 50)), "257 accounts, at most 256");
    let keys =
        |count: u8| move |build: &mut Build| build.others.extend((0..count).map(|byte| [byte; 32]));
    assert_eq!(v1(&keys(58)), "");
    assert_eq!(v1(&keys(59)), "65 accounts, at most 64");
    assert_eq!(v1(&data(3_500)), "", "a long one of version 1");
    let mut fewer = super::legacy_header(&qualifying(Version::Legacy).bytes(), 2);
    assert_eq!(
        parse(&fewer).err().as_deref(),
        Some("signature count 1, the header requires 2")
    );
    fewer = super::legacy_header(&fewer, 7);
    assert_eq!(
        parse(&fewer).err().as_deref(),
        Some("7 signers of 6 account keys")
    );
}
