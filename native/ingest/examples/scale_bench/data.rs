//! The accounts of the data set, each derived from its number.

use primitives::Pubkey;
use primitives::token::TOKEN_PROGRAM;
use store::AccountUpdate;

use crate::seeded::{self, mix};
use crate::writer::Row;

const SEED: u64 = 0x5C41_E000;
/// The program that owns a fifth of all accounts.
pub const PROGRAM: Pubkey = [9; 32];
/// Number of values of the first eight bytes of the program's accounts.
pub const KINDS: u64 = 8;

/// Sizes. For 10 million: 8 M token accounts over 50,000 mints and 1 M wallets, including one
/// wallet with 200,000, one mint with 2 M holders and one program with 2 M accounts.
pub struct Set {
    pub tokens: u64,
    pub mints: u64,
    pub wallets: u64,
    pub of_program: u64,
}

pub fn key(kind: u64, i: u64) -> Pubkey {
    seeded::key(SEED, kind, i)
}

/// Balance of a token account after the change with this salt; salt 0 is the loaded balance.
pub fn balance(i: u64, salt: u64) -> u64 {
    mix(i ^ salt) % 1_000_000_000
}

impl Set {
    pub fn of(accounts: u64) -> Set {
        assert!(
            accounts >= 1_000 && accounts.is_multiple_of(200),
            "a multiple of 200, 1,000 and more"
        );
        Set {
            tokens: accounts / 5 * 4,
            mints: accounts / 200,
            wallets: accounts / 10,
            of_program: accounts / 5,
        }
    }

    /// Number of all accounts except mints.
    pub fn accounts(&self) -> u64 {
        self.tokens + self.of_program + self.mints
    }

    /// Number of a token account's mint: one in four accounts has the first mint.
    pub fn mint_of(&self, i: u64) -> u64 {
        if i.is_multiple_of(4) {
            0
        } else {
            1 + mix(i) % (self.mints - 1)
        }
    }

    /// Number of a token account's wallet: one in forty accounts belongs to the first wallet.
    pub fn wallet_of(&self, i: u64) -> u64 {
        if i % 40 == 1 {
            0
        } else {
            1 + mix(i ^ 0xAA) % (self.wallets - 1)
        }
    }

    pub fn token_key(&self, i: u64) -> Pubkey {
        key(3, i)
    }

    /// A token account with a balance derived from `salt`.
    pub fn token(&self, i: u64, salt: u64) -> AccountUpdate {
        let mut data = vec![0; 165];
        data[0..32].copy_from_slice(&key(1, self.mint_of(i)));
        data[32..64].copy_from_slice(&key(2, self.wallet_of(i)));
        data[64..72].copy_from_slice(&balance(i, salt).to_le_bytes());
        data[108] = 1;
        account(self.token_key(i), TOKEN_PROGRAM, 2_039_280, data)
    }

    pub fn mint(&self, i: u64) -> AccountUpdate {
        let mut data = vec![0; 82];
        data[36..44].copy_from_slice(&(1_000_000_000_000 + i).to_le_bytes());
        data[44] = 6;
        data[45] = 1;
        account(key(1, i), TOKEN_PROGRAM, 1_461_600, data)
    }

    pub fn program_account(&self, i: u64) -> AccountUpdate {
        let mut data = vec![0; 128];
        data[0..8].copy_from_slice(&(i % KINDS).to_le_bytes());
        data[8..40].copy_from_slice(&key(6, i));
        account(key(4, i), PROGRAM, 1_781_760, data)
    }

    /// The account of a number below [`Set::accounts`]. The order mixes the kinds as on a chain.
    pub fn account(&self, n: u64) -> AccountUpdate {
        if n < self.mints {
            return self.mint(n);
        }
        let n = n - self.mints;
        if n % 5 == 4 {
            self.program_account(n / 5)
        } else {
            self.token(n / 5 * 4 + n % 5, 0)
        }
    }

    /// Minimum bytes of any store: each account with its key and fields, and the keys of its rows
    /// in the indexes (by program, by mint and wallet or by discriminator, changed).
    pub fn raw_bytes(&self) -> u64 {
        const ACCOUNT: u64 = 32 + 57;
        const BY_PROGRAM_AND_CHANGED: u64 = 64 + 72;
        let token = ACCOUNT + BY_PROGRAM_AND_CHANGED + 165 + 65 + 65;
        let mint = ACCOUNT + BY_PROGRAM_AND_CHANGED + 82 + 65 + 65;
        let of_program = ACCOUNT + BY_PROGRAM_AND_CHANGED + 128 + 72;
        self.tokens * token + self.mints * mint + self.of_program * of_program
    }
}

fn account(pubkey: Pubkey, owner: Pubkey, lamports: u64, data: Vec<u8>) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data,
    }
}

/// An account as an archive row.
pub fn row(account: AccountUpdate) -> Row {
    Row {
        pubkey: account.pubkey,
        lamports: account.lamports,
        rent_epoch: account.rent_epoch,
        owner: account.owner,
        executable: account.executable,
        data: account.data,
    }
}
