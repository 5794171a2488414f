//! getTokenAccountBalance, getTokenSupply and getTokenLargestAccounts.

use super::common::{
    Outcome, ReadLimits, UNCHANGED, all_or_nothing, demand_complete, find, holds_mint,
    is_unchanged, known, push_context,
};
use crate::account_json::{MintData, push_amount};
use primitives::Pubkey;
use primitives::encoding::push_pubkey;
use primitives::token::{NATIVE_MINT, TokenProgram, amount_of, is_account, mint_of, mint_supply};
use store::{AccountRef, Budget, Snapshot};
use sys::error::{Error, Result};

/// Maximum entries of getTokenLargestAccounts.
const HOLDERS_MAX: usize = 20;

/// getTokenAccountBalance: the amount in one token account, unless this was not written after the
/// slot of `changed_since`.
pub fn token_account_balance(
    snapshot: &Snapshot<'_>,
    pubkey: &Pubkey,
    changed_since: Option<u64>,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    let account = find(snapshot, pubkey)?.ok_or(Error::AccountMissing)?;
    if TokenProgram::of(account.owner).is_none() || !is_account(account.data) {
        return Err(Error::NotTokenAccount);
    }
    let mint = mint_of(account.data).ok_or(Error::NotTokenAccount)?;
    let amount = amount_of(account.data).ok_or(Error::NotTokenAccount)?;
    if is_unchanged(&account, changed_since) {
        return push_unchanged(snapshot, out);
    }
    let mint = if *mint == NATIVE_MINT {
        MintData::native()
    } else {
        let mint = known(snapshot, mint)?.ok_or(Error::MintMissing)?;
        if is_over(&mint, limits) {
            return Ok(Outcome::TooLarge);
        }
        mint_data(snapshot, &mint).ok_or(Error::MintUnpack)?
    };
    push_value(snapshot, amount, &mint, out)
}

/// getTokenSupply: the supply of one mint, unless this was not written after the slot of
/// `changed_since`.
pub fn token_supply(
    snapshot: &Snapshot<'_>,
    mint: &Pubkey,
    changed_since: Option<u64>,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    let account = find(snapshot, mint)?.ok_or(Error::AccountMissing)?;
    if TokenProgram::of(account.owner).is_none() {
        return Err(Error::NotTokenMint);
    }
    let supply = mint_supply(account.data).ok_or(Error::NotTokenMint)?;
    if is_unchanged(&account, changed_since) {
        return push_unchanged(snapshot, out);
    }
    if is_over(&account, limits) {
        return Ok(Outcome::TooLarge);
    }
    let mint = mint_data(snapshot, &account).ok_or(Error::NotTokenMint)?;
    push_value(snapshot, supply, &mint, out)
}

/// getTokenLargestAccounts: the 20 token accounts with the largest balances of a mint. Of equal
/// balances the higher address is first. While the mint's row in `holders` is short, it is
/// [`Outcome::TooLarge`].
pub fn token_largest_accounts(
    snapshot: &Snapshot<'_>,
    mint: &Pubkey,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    largest_accounts(snapshot, mint, limits, out, |program| {
        snapshot.holders(program, mint, HOLDERS_MAX)
    })
}

/// The same, from all accounts of the mint where its row is short. Fails with
/// [`Error::ReadTimeout`] at the budget's deadline.
pub fn scan_largest_accounts(
    snapshot: &Snapshot<'_>,
    mint: &Pubkey,
    budget: &mut Budget,
    out: &mut Vec<u8>,
) -> Result<()> {
    let written = largest_accounts(snapshot, mint, &ReadLimits::NONE, out, |program| {
        let known = snapshot.holders(program, mint, HOLDERS_MAX)?;
        known.map_or_else(
            || {
                snapshot
                    .scan_holders(program, mint, HOLDERS_MAX, budget)
                    .map(Some)
            },
            |known| Ok(Some(known)),
        )
    });
    match written {
        Ok(_) => Ok(()),
        Err(Error::ReadBudget { .. }) => Err(Error::ReadTimeout),
        Err(error) => Err(error),
    }
}

fn largest_accounts(
    snapshot: &Snapshot<'_>,
    mint: &Pubkey,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
    holders_of: impl FnOnce(TokenProgram) -> Result<Option<Vec<(u64, Pubkey)>>>,
) -> Result<Outcome> {
    let (program, data) = if *mint == NATIVE_MINT {
        (TokenProgram::Token, MintData::native())
    } else {
        let account = find(snapshot, mint)?.ok_or(Error::MintMissing)?;
        let program = TokenProgram::of(account.owner).ok_or(Error::NotTokenMint)?;
        if is_over(&account, limits) {
            return Ok(Outcome::TooLarge);
        }
        (
            program,
            mint_data(snapshot, &account).ok_or(Error::NotTokenMint)?,
        )
    };
    if !holds_mint(snapshot, mint)? {
        return Err(Error::OutsideScope);
    }
    demand_complete(snapshot)?;
    all_or_nothing(out, |out| {
        let Some(holders) = holders_of(program)? else {
            return Ok(Outcome::TooLarge);
        };
        push_context(snapshot, out)?;
        out.push(b'[');
        for (index, (amount, pubkey)) in holders.iter().enumerate() {
            out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
            out.extend_from_slice(b"\"address\":\"");
            push_pubkey(out, pubkey);
            out.extend_from_slice(b"\",");
            push_amount(out, *amount, &data);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
        Ok(Outcome::Written)
    })
}

fn mint_data(snapshot: &Snapshot<'_>, mint: &AccountRef<'_>) -> Option<MintData> {
    MintData::of(mint.data, || snapshot.unix_timestamp())
}

/// The cost of decoding a mint grows with its length, because its extensions are a list.
fn is_over(mint: &AccountRef<'_>, limits: &ReadLimits) -> bool {
    mint.data.len() > limits.records_bytes_max
}

fn push_value(
    snapshot: &Snapshot<'_>,
    amount: u64,
    mint: &MintData,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    all_or_nothing(out, |out| {
        push_context(snapshot, out)?;
        out.push(b'{');
        push_amount(out, amount, mint);
        out.extend_from_slice(b"}}");
        Ok(Outcome::Written)
    })
}

fn push_unchanged(snapshot: &Snapshot<'_>, out: &mut Vec<u8>) -> Result<Outcome> {
    push_context(snapshot, out)?;
    out.extend_from_slice(UNCHANGED);
    out.push(b'}');
    Ok(Outcome::Written)
}
