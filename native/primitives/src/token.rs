//! The byte layouts of the two token programs: recognises token accounts and mints, and reads the
//! fields that the store indexes. Both programs share the layout; Token-2022 appends extensions.

use crate::Pubkey;

const fn id(text: &str) -> Pubkey {
    solana_pubkey::Pubkey::from_str_const(text).to_bytes()
}

/// The SPL Token program.
pub const TOKEN_PROGRAM: Pubkey = id("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// The Token-2022 program.
pub const TOKEN_2022_PROGRAM: Pubkey = id("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
/// The mint of wrapped SOL; its decimals need no look-up.
pub const NATIVE_MINT: Pubkey = id("So11111111111111111111111111111111111111112");
/// The Clock sysvar: its time is the current time for interest-bearing and scaled mints.
pub const CLOCK_SYSVAR: Pubkey = id("SysvarC1ock11111111111111111111111111111111");
/// The owner of the Clock and the other sysvars.
pub const SYSVAR_PROGRAM: Pubkey = id("Sysvar1111111111111111111111111111111111111");

/// Length of a token account without extensions; the account-type byte follows it.
pub const ACCOUNT_BYTES: usize = 165;
/// Length of a mint without extensions.
pub const MINT_BYTES: usize = 82;
/// Length of a multisig; token accounts and mints never have this length, with extensions included.
const MULTISIG_BYTES: usize = 355;
/// The account type in byte 165 when extensions follow.
const TYPE_MINT: u8 = 1;
const TYPE_ACCOUNT: u8 = 2;

/// One of the two token programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenProgram {
    Token,
    Token2022,
}

impl TokenProgram {
    /// Both, in the order of their tags.
    pub const ALL: [TokenProgram; 2] = [TokenProgram::Token, TokenProgram::Token2022];

    /// The token program with this address, if any.
    #[inline]
    pub fn of(owner: &Pubkey) -> Option<Self> {
        if *owner == TOKEN_PROGRAM {
            Some(TokenProgram::Token)
        } else if *owner == TOKEN_2022_PROGRAM {
            Some(TokenProgram::Token2022)
        } else {
            None
        }
    }

    /// The program's address.
    pub fn id(self) -> &'static Pubkey {
        match self {
            TokenProgram::Token => &TOKEN_PROGRAM,
            TokenProgram::Token2022 => &TOKEN_2022_PROGRAM,
        }
    }

    /// The byte that identifies the program in index keys.
    #[inline]
    pub fn tag(self) -> u8 {
        match self {
            TokenProgram::Token => 1,
            TokenProgram::Token2022 => 2,
        }
    }
}

fn key_at(data: &[u8], offset: usize) -> Option<&Pubkey> {
    data.get(offset..)?.first_chunk()
}

fn u64_at(data: &[u8], offset: usize) -> Option<u64> {
    data.get(offset..)?
        .first_chunk()
        .map(|bytes| u64::from_le_bytes(*bytes))
}

/// Whether the tag of a COption is valid: 0 or 1 as a little-endian u32.
fn has_option_tag(data: &[u8], offset: usize) -> bool {
    matches!(data.get(offset..offset + 4), Some([0 | 1, 0, 0, 0]))
}

/// Bytes 0–32: the mint of a token account. Does not check that it is a token account.
#[inline]
pub fn mint_of(data: &[u8]) -> Option<&Pubkey> {
    key_at(data, 0)
}

/// Bytes 32–64: the wallet of a token account. Does not check that it is a token account.
#[inline]
pub fn wallet_of(data: &[u8]) -> Option<&Pubkey> {
    key_at(data, 32)
}

/// Bytes 64–72: the raw amount of a token account. Does not check that it is a token account.
#[inline]
pub fn amount_of(data: &[u8]) -> Option<u64> {
    u64_at(data, 64)
}

/// Whether these bytes decode as an initialised token account, by the rules of the validator's
/// decoder.
pub fn is_account(data: &[u8]) -> bool {
    data.len() >= ACCOUNT_BYTES
        && data.len() != MULTISIG_BYTES
        && matches!(data.get(108), Some(1 | 2))
        && has_option_tag(data, 72)
        && has_option_tag(data, 109)
        && has_option_tag(data, 129)
        && (data.len() == ACCOUNT_BYTES || data.get(ACCOUNT_BYTES) == Some(&TYPE_ACCOUNT))
}

/// Whether these bytes decode as an initialised mint, by the rules of the validator's decoder.
pub fn is_mint(data: &[u8]) -> bool {
    data.len() >= MINT_BYTES
        && data.len() != MULTISIG_BYTES
        && data.get(45) == Some(&1)
        && has_option_tag(data, 0)
        && has_option_tag(data, 46)
        && (data.len() == MINT_BYTES
            || (data.get(ACCOUNT_BYTES) == Some(&TYPE_MINT)
                && data
                    .get(MINT_BYTES..ACCOUNT_BYTES)
                    .is_some_and(|gap| gap.iter().all(|b| *b == 0))))
}

/// The raw supply of a mint; `None` if the bytes are not a mint.
pub fn mint_supply(data: &[u8]) -> Option<u64> {
    is_mint(data).then(|| u64_at(data, 36)).flatten()
}

/// The decimals of a mint; `None` if the bytes are not a mint.
pub fn mint_decimals(data: &[u8]) -> Option<u8> {
    is_mint(data).then(|| data.get(44).copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn account() -> Vec<u8> {
        let mut data = vec![0; ACCOUNT_BYTES];
        data[108] = 1;
        data
    }

    fn mint() -> Vec<u8> {
        let mut data = vec![0; MINT_BYTES];
        data[36..44].copy_from_slice(&7u64.to_le_bytes());
        data[44] = 6;
        data[45] = 1;
        data
    }

    #[test]
    fn accepts_accounts_and_rejects_each_flaw() {
        assert!(is_account(&account()));
        for (offset, bad) in [(108, 0), (108, 3), (72, 2), (73, 1), (109, 2), (129, 2)] {
            let mut data = account();
            data[offset] = bad;
            assert!(!is_account(&data), "byte {offset} = {bad}");
        }
        let mut extended = account();
        extended.resize(200, 0);
        assert!(!is_account(&extended));
        extended[165] = 2;
        assert!(is_account(&extended));
        extended.resize(355, 0);
        assert!(!is_account(&extended));
        assert!(!is_account(&account()[..164]));
    }

    #[test]
    fn accepts_mints_and_rejects_each_flaw() {
        assert_eq!(
            (mint_supply(&mint()), mint_decimals(&mint())),
            (Some(7), Some(6))
        );
        for (offset, bad) in [(45, 0), (45, 2), (0, 2), (46, 2), (47, 1)] {
            let mut data = mint();
            data[offset] = bad;
            assert_eq!(mint_decimals(&data), None, "byte {offset} = {bad}");
        }
        let mut extended = mint();
        extended.resize(165, 0);
        assert!(!is_mint(&extended));
        extended.resize(200, 0);
        extended[165] = 1;
        assert!(is_mint(&extended));
        extended[100] = 1;
        assert!(!is_mint(&extended));
    }

    #[test]
    fn an_account_is_never_a_mint() {
        let mut data = account();
        data[45] = 1;
        assert!(is_account(&data) && !is_mint(&data));
    }

    proptest! {
        #[test]
        fn any_bytes_decode(data in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (is_account(&data), is_mint(&data), mint_of(&data), wallet_of(&data));
            let _ = (amount_of(&data), mint_supply(&data), mint_decimals(&data));
            prop_assert!(!(is_account(&data) && is_mint(&data)));
        }
    }
}
