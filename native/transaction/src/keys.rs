//! Which static keys a message can sign with, invoke and write, as far as the message alone shows.

use solana_pubkey::Pubkey as Address;

use super::view::View;
use primitives::Pubkey;

const fn key(text: &str) -> Pubkey {
    Address::from_str_const(text).to_bytes()
}

/// The program of transfers.
pub const SYSTEM_PROGRAM: Pubkey = [0; 32];
/// If it is present, a message may write the programs that it invokes: an upgrade does both.
const UPGRADEABLE_LOADER: Pubkey = key("BPFLoaderUpgradeab1e11111111111111111111111");

/// Keys that no transaction can write.
const RESERVED: [Pubkey; 31] = [
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
    key("AddressLookupTab1e1111111111111111111111111"),
    key("BPFLoader2111111111111111111111111111111111"),
    key("BPFLoader1111111111111111111111111111111111"),
    key("ComputeBudget111111111111111111111111111111"),
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

/// The static keys of one message. Keys of lookup tables are unknown without a chain.
pub struct Keys<'a> {
    view: &'a View<'a>,
    /// The programs of its instructions, each once.
    programs: Vec<&'a Pubkey>,
    has_loader: bool,
}

impl<'a> Keys<'a> {
    pub fn of(view: &'a View<'a>) -> Keys<'a> {
        let mut keys = Keys {
            view,
            programs: Vec::new(),
            has_loader: false,
        };
        for instruction in view.instructions_iter() {
            if let Some(program) = keys.get(instruction.program_id_index)
                && !keys.programs.contains(&program)
            {
                keys.programs.push(program);
            }
        }
        let mut all = 0..view.num_static_account_keys();
        keys.has_loader = all.any(|index| keys.get(index) == Some(&UPGRADEABLE_LOADER));
        keys
    }

    /// The static key at `index`; `None` if the index refers to a lookup table.
    pub fn get(&self, index: u8) -> Option<&'a Pubkey> {
        let key = self.view.static_account_keys().get(usize::from(index))?;
        Some(key.as_array())
    }

    pub fn is_signer(&self, index: u8) -> bool {
        index < self.view.num_required_signatures()
    }

    /// Whether an instruction of this message uses the key as its program. A key may be in the list
    /// twice, which the chain rejects later: both entries count as invoked.
    pub fn is_invoked(&self, index: u8) -> bool {
        let key = self.get(index);
        key.is_some_and(|key| self.programs.contains(&key))
    }

    /// Whether the message can write the static key: the header requests it, the key is not
    /// reserved, and it is not invoked as a program unless the upgradeable loader is present.
    pub fn is_writable(&self, index: u8) -> bool {
        let Some(key) = self.get(index) else {
            return false;
        };
        self.is_requested_writable(index)
            && (!self.is_invoked(index) || self.has_loader)
            && !RESERVED.contains(key)
    }

    fn is_requested_writable(&self, index: u8) -> bool {
        let view = self.view;
        let required = view.num_required_signatures();
        // The sanitizer guarantees that neither difference is negative.
        let unsigned_end = view
            .num_static_account_keys()
            .saturating_sub(view.num_readonly_unsigned_static_accounts());
        if index < required {
            index < required.saturating_sub(view.num_readonly_signed_static_accounts())
        } else {
            index < unsigned_end
        }
    }
}
