//! Which accounts of a message no transaction can write, whatever its header says.

use crate::Pubkey;

const fn key(text: &str) -> Pubkey {
    solana_pubkey::Pubkey::from_str_const(text).to_bytes()
}

/// The program of transfers.
pub const SYSTEM_PROGRAM: Pubkey = [0; 32];
/// The program whose instructions set the price and the limit of compute units.
pub const COMPUTE_BUDGET: Pubkey = key("ComputeBudget111111111111111111111111111111");
/// If it is present, a message may write the programs that it invokes: an upgrade does both.
pub const UPGRADEABLE_LOADER: Pubkey = key("BPFLoaderUpgradeab1e11111111111111111111111");

/// Keys that no transaction can write.
pub const RESERVED: [Pubkey; 31] = [
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
    key("AddressLookupTab1e1111111111111111111111111"),
    key("BPFLoader2111111111111111111111111111111111"),
    key("BPFLoader1111111111111111111111111111111111"),
    COMPUTE_BUDGET,
    key("Config1111111111111111111111111111111111111"),
    key("Ed25519SigVerify111111111111111111111111111"),
    key("Feature111111111111111111111111111111111111"),
    key("LoaderV411111111111111111111111111111111111"),
    key("KeccakSecp256k11111111111111111111111111111"),
    key("Secp256r1SigVerify1111111111111111111111111"),
    key("StakeConfig11111111111111111111111111111111"),
    key("Stake11111111111111111111111111111111111111"),
    key("Vote111111111111111111111111111111111111111"),
    key("ZkE1Gama1Proof11111111111111111111111111111"),
    key("ZkTokenProof1111111111111111111111111111111"),
    key("SysvarC1ock11111111111111111111111111111111"),
    key("SysvarEpochRewards1111111111111111111111111"),
    key("SysvarEpochSchedu1e111111111111111111111111"),
    key("SysvarFees111111111111111111111111111111111"),
    key("Sysvar1nstructions1111111111111111111111111"),
    key("SysvarLastRestartS1ot1111111111111111111111"),
    key("SysvarRecentB1ockHashes11111111111111111111"),
    key("SysvarRent111111111111111111111111111111111"),
    key("SysvarRewards111111111111111111111111111111"),
    key("SysvarS1otHashes111111111111111111111111111"),
    key("SysvarS1otHistory11111111111111111111111111"),
    key("SysvarStakeHistory1111111111111111111111111"),
    key("NativeLoader1111111111111111111111111111111"),
    key("Sysvar1111111111111111111111111111111111111"),
];
