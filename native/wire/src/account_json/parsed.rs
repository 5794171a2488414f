//! jsonParsed: token accounts and mints of both programs, by the validator's own decoder.

use solana_account_decoder::parse_token::{TokenAccountType, parse_token_v3};

use super::mint::Mints;
use super::source::Accounts;
use super::text::push_u64;
use primitives::token::{TokenProgram, is_account, is_mint, mint_of};
use store::AccountRef;
use sys::error::{Error, Result};

/// Appends the parsed object and returns true. Appends nothing and returns false where the account
/// is not a token account or mint, or its mint is missing or invalid.
pub(super) fn push_parsed<A: Accounts>(
    out: &mut Vec<u8>,
    account: &AccountRef<'_>,
    mints: &mut Mints<'_, A>,
) -> Result<bool> {
    let Some(program) = TokenProgram::of(account.owner) else {
        return Ok(false);
    };
    let mint = match mint_of(account.data) {
        Some(mint) if is_account(account.data) => mints.get(mint)?,
        _ if is_mint(account.data) => None,
        // Multisigs fall back too: only token accounts and mints parse (contract: parsed-accounts).
        _ => return Ok(false),
    };
    let Ok(token) = parse_token_v3(account.data, mint.as_ref().map(|mint| &mint.0)) else {
        return Ok(false);
    };
    push_token(out, program, &token)?;
    out.extend_from_slice(b",\"space\":");
    push_u64(out, account.data.len() as u64);
    out.push(b'}');
    Ok(true)
}

fn push_token(out: &mut Vec<u8>, program: TokenProgram, token: &TokenAccountType) -> Result<()> {
    out.extend_from_slice(match program {
        TokenProgram::Token => b"{\"program\":\"spl-token\",\"parsed\":".as_slice(),
        TokenProgram::Token2022 => b"{\"program\":\"spl-token-2022\",\"parsed\":".as_slice(),
    });
    serde_json::to_writer(out, token).map_err(|error| Error::Internal(error.to_string()))
}
