//! Encodes the keys of the tables, and determines an account's index keys. Removing an account from
//! an index always uses the stored record, never the update.

use crate::rows::record::AccountRef;
use primitives::Pubkey;
use primitives::token::{self, TokenProgram};

pub(crate) type ProgramKey = [u8; 64];
pub(crate) type DiscriminatorKey = [u8; 72];
pub(crate) type MintKey = [u8; 65];
pub(crate) type TokenOwnerKey = [u8; 65];
pub(crate) type ChangedKey = [u8; 72];
pub(crate) type ChunkKey = [u8; 12];

/// A balance and its account; the order of entries is the reverse of the RPC method's order.
pub(crate) type Entry = (u64, Pubkey);

/// A mint, and the token program that owns it.
pub(crate) type MintId = (TokenProgram, Pubkey);

/// Joins the parts of a key. The parts' lengths must add up to `N`; the tests of the keys check it.
#[inline]
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut key = [0; N];
    let mut rest = &mut key[..];
    for part in parts {
        let (head, tail) = rest.split_at_mut(part.len().min(rest.len()));
        head.copy_from_slice(&part[..head.len()]);
        rest = tail;
    }
    debug_assert!(rest.is_empty() && parts.iter().map(|part| part.len()).sum::<usize>() == N);
    key
}

pub(crate) fn by_program(program: &Pubkey, pubkey: &Pubkey) -> ProgramKey {
    join(&[program, pubkey])
}

pub(crate) fn by_discriminator(
    program: &Pubkey,
    first: &[u8; 8],
    pubkey: &Pubkey,
) -> DiscriminatorKey {
    join(&[program, first, pubkey])
}

pub(crate) fn by_mint(program: TokenProgram, mint: &Pubkey, pubkey: &Pubkey) -> MintKey {
    join(&[&[program.tag()], mint, pubkey])
}

pub(crate) fn by_token_owner(
    wallet: &Pubkey,
    program: TokenProgram,
    pubkey: &Pubkey,
) -> TokenOwnerKey {
    join(&[wallet, &[program.tag()], pubkey])
}

pub(crate) fn changed(program: &Pubkey, slot: u64, pubkey: &Pubkey) -> ChangedKey {
    join(&[program, &slot.to_be_bytes(), pubkey])
}

/// A key of `fees`.
pub(crate) fn chunk(slot: u64, sequence: u32) -> ChunkKey {
    join(&[&slot.to_be_bytes(), &sequence.to_be_bytes()])
}

/// A key of `signatures`: the group, then the signature.
pub(crate) fn signature(group: u64, signature: &[u8; 64]) -> [u8; 72] {
    join(&[&group.to_be_bytes(), signature])
}

/// The big-endian number at the start of a key of `blocks`, `fees` or `signatures`.
pub(crate) fn slot_of(key: &[u8]) -> u64 {
    key.first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The first 8 bytes of a pubkey as an integer with the same order.
pub(crate) fn prefix_of(pubkey: &Pubkey) -> u64 {
    slot_of(pubkey)
}

/// The pubkey at the end of an index key.
#[inline]
pub(crate) fn pubkey_of(key: &[u8]) -> Option<&Pubkey> {
    key.last_chunk()
}

/// The mint of a key of `by_mint`.
pub(crate) fn mint_of(key: &[u8]) -> Option<MintId> {
    let (tag, rest) = key.split_first()?;
    let program = TokenProgram::ALL
        .into_iter()
        .find(|program| program.tag() == *tag)?;
    Some((program, *rest.first_chunk()?))
}

/// Program, slot and account of a key of `changed`.
pub(crate) fn split_changed(key: &[u8]) -> Option<(&Pubkey, u64, &Pubkey)> {
    let (program, rest) = key.split_first_chunk()?;
    let (slot, pubkey) = rest.split_first_chunk()?;
    Some((program, u64::from_be_bytes(*slot), pubkey.first_chunk()?))
}

/// The index fields of a record, by the kind of its owner program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Too short for any index.
    Short,
    /// Not a token program: the first 8 bytes.
    Plain { first: [u8; 8] },
    /// A token program: bytes 0–32, bytes 32–64 if present, and the balance if it is a token
    /// account.
    Token {
        program: TokenProgram,
        mint: Pubkey,
        wallet: Option<Pubkey>,
        amount: Option<u64>,
    },
}

/// All indexed fields of an account except its pubkey; small, so that old and new values can be
/// compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub slot: u64,
    pub owner: Pubkey,
    pub kind: Kind,
}

impl Indexed {
    #[inline]
    pub fn of(account: &AccountRef<'_>) -> Self {
        let kind = match (
            TokenProgram::of(account.owner),
            token::mint_of(account.data),
        ) {
            (Some(program), Some(mint)) => Kind::Token {
                program,
                mint: *mint,
                wallet: token::wallet_of(account.data).copied(),
                amount: token::is_account(account.data)
                    .then(|| token::amount_of(account.data))
                    .flatten(),
            },
            (Some(_), None) => Kind::Short,
            (None, _) => match account.data.first_chunk() {
                Some(first) => Kind::Plain { first: *first },
                None => Kind::Short,
            },
        };
        Indexed {
            slot: account.slot,
            owner: *account.owner,
            kind,
        }
    }

    pub fn program_key(&self, pubkey: &Pubkey) -> ProgramKey {
        by_program(&self.owner, pubkey)
    }

    pub fn discriminator_key(&self, pubkey: &Pubkey) -> Option<DiscriminatorKey> {
        match &self.kind {
            Kind::Plain { first } => Some(by_discriminator(&self.owner, first, pubkey)),
            _ => None,
        }
    }

    pub fn mint_key(&self, pubkey: &Pubkey) -> Option<MintKey> {
        match &self.kind {
            Kind::Token { program, mint, .. } => Some(by_mint(*program, mint, pubkey)),
            _ => None,
        }
    }

    /// The key in `by_token_owner`, and the mint that is its value.
    pub fn token_owner_key(&self, pubkey: &Pubkey) -> Option<(TokenOwnerKey, Pubkey)> {
        match &self.kind {
            Kind::Token {
                program,
                mint,
                wallet: Some(wallet),
                ..
            } => Some((by_token_owner(wallet, *program, pubkey), *mint)),
            _ => None,
        }
    }

    /// The mint, and this account's entry among its holders.
    pub fn holder(&self, pubkey: &Pubkey) -> Option<(MintId, Entry)> {
        match &self.kind {
            Kind::Token {
                program,
                mint,
                amount: Some(amount),
                ..
            } => Some(((*program, *mint), (*amount, *pubkey))),
            _ => None,
        }
    }
}
