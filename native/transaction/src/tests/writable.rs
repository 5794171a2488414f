use super::super::keys::Keys;
use super::*;
use primitives::encoding::decode_pubkey;

fn writable(build: &Build) -> Vec<u8> {
    let bytes = build.bytes();
    let view = parse(&bytes).unwrap();
    let keys = Keys::of(&view);
    (0..=u8::MAX)
        .filter(|index| keys.is_writable(*index))
        .collect()
}

#[test]
fn header_requests_writable_keys() {
    let mut build = Build {
        signers: vec![1, 2, 3],
        others: (10..15).map(|byte| [byte; 32]).collect(),
        ..Build::new(Version::Legacy)
    };
    assert_eq!(writable(&build), [0, 1, 2, 3, 4, 5, 6, 7]);
    build.readonly_signed = 2;
    assert_eq!(writable(&build), [0, 3, 4, 5, 6, 7]);
    build.readonly_unsigned = 1;
    assert_eq!(writable(&build), [0, 3, 4, 5, 6]);
    build.readonly_unsigned = 5;
    assert_eq!(writable(&build), [0]);
    // Keys of a lookup table are unknown, writable or not.
    build.version = Version::V0;
    build.lookups = vec![([8; 32], vec![0, 1, 2], vec![3])];
    assert_eq!(writable(&build), [0]);
}

#[test]
fn reserved_keys_are_not_writable() {
    let reserved = "AddressLookupTab1e1111111111111111111111111 BPFLoader2111111111111111111111111111111111 \
        BPFLoader1111111111111111111111111111111111 BPFLoaderUpgradeab1e11111111111111111111111 \
        ComputeBudget111111111111111111111111111111 Config1111111111111111111111111111111111111 \
        Ed25519SigVerify111111111111111111111111111 Feature111111111111111111111111111111111111 \
        LoaderV411111111111111111111111111111111111 KeccakSecp256k11111111111111111111111111111 \
        Secp256r1SigVerify1111111111111111111111111 StakeConfig11111111111111111111111111111111 \
        Stake11111111111111111111111111111111111111 11111111111111111111111111111111 \
        Vote111111111111111111111111111111111111111 ZkE1Gama1Proof11111111111111111111111111111 \
        ZkTokenProof1111111111111111111111111111111 SysvarC1ock11111111111111111111111111111111 \
        SysvarEpochRewards1111111111111111111111111 SysvarEpochSchedu1e111111111111111111111111 \
        SysvarFees111111111111111111111111111111111 Sysvar1nstructions1111111111111111111111111 \
        SysvarLastRestartS1ot1111111111111111111111 SysvarRecentB1ockHashes11111111111111111111 \
        SysvarRent111111111111111111111111111111111 SysvarRewards111111111111111111111111111111 \
        SysvarS1otHashes111111111111111111111111111 SysvarS1otHistory11111111111111111111111111 \
        SysvarStakeHistory1111111111111111111111111 NativeLoader1111111111111111111111111111111 \
        Sysvar1111111111111111111111111111111111111";
    let keys: Vec<Pubkey> = reserved
        .split_whitespace()
        .map(|text| decode_pubkey(text).unwrap())
        .collect();
    assert_eq!(keys.len(), 31);
    for key in keys {
        let build = Build {
            others: vec![key, [7; 32]],
            ..Build::new(Version::Legacy)
        };
        assert_eq!(writable(&build), [0, 2]);
    }
    let program = primitives::token::TOKEN_PROGRAM;
    let build = Build {
        others: vec![program],
        ..Build::new(Version::Legacy)
    };
    assert_eq!(writable(&build), [0, 1], "a program that is not reserved");
}

#[test]
fn programs_are_not_writable_without_the_upgradeable_loader() {
    let loader = decode_pubkey("BPFLoaderUpgradeab1e11111111111111111111111").unwrap();
    let mut build = Build {
        others: vec![APPLICATION, [7; 32], loader],
        instructions: vec![(1, vec![0], vec![])],
        ..Build::new(Version::V0)
    };
    assert_eq!(
        writable(&build),
        [0, 1, 2],
        "the loader is listed beside it, itself reserved"
    );
    build.others[2] = [8; 32];
    assert_eq!(writable(&build), [0, 2, 3]);
    // A loader that may be in a table is unknown.
    build.lookups = vec![(loader, vec![], vec![0])];
    assert_eq!(writable(&build), [0, 2, 3]);
    build.instructions.clear();
    assert_eq!(writable(&build), [0, 1, 2, 3]);
    build.instructions = vec![(2, vec![], vec![])];
    build.others = vec![APPLICATION, APPLICATION, [8; 32]];
    assert_eq!(writable(&build), [0, 3], "the same key twice");
}
