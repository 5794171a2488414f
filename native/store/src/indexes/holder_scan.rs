//! Finds the token accounts of a mint, and the mints whose rows of `holders` are short.

use std::ops::Bound;

use heed::RoTxn;

use crate::indexes::holder_row::{HOLDERS_MAX, Row, key};
use crate::indexes::largest::Largest;
use crate::rows::keys::{self, Entry, MintId};
use crate::rows::record::decode;
use crate::tables::Tables;
use primitives::Pubkey;
use primitives::token;
use sys::error::Result;

/// Prefix of the rows of `meta` that name the mints with a short row.
pub(crate) const SHORT: &[u8] = b"short:";

/// The prefix after it.
pub(crate) const SHORT_END: &[u8] = b"short;";

/// The row of `meta` of a mint with a short row.
pub(crate) fn short_key(mint: &MintId) -> Vec<u8> {
    [SHORT, &key(mint)].concat()
}

/// The first mint with a short row after this one.
pub(crate) fn short_after(
    tables: &Tables,
    txn: &RoTxn<'_>,
    after: Option<&MintId>,
) -> Result<Option<MintId>> {
    let first = after.map_or_else(|| SHORT.to_vec(), short_key);
    let mut rows = tables
        .meta
        .range(txn, &(Bound::Excluded(&first[..]), Bound::Unbounded))?;
    let found = rows.next().transpose()?;
    Ok(found.and_then(|(key, _)| keys::mint_of(key.strip_prefix(SHORT)?)))
}

/// Number of mints with a short row. There may be many, so the few other rows of `meta` are
/// counted.
pub(crate) fn short_count(tables: &Tables, txn: &RoTxn<'_>) -> Result<u64> {
    let before = (Bound::Unbounded, Bound::Excluded(SHORT));
    let after = (Bound::Excluded(SHORT_END), Bound::Unbounded);
    let mut others = 0;
    for range in [before, after] {
        for row in tables.meta.range(txn, &range)? {
            row?;
            others += 1;
        }
    }
    Ok(tables.meta.len(txn)?.saturating_sub(others))
}

/// Whether a mint has any account.
pub(crate) fn has_accounts(tables: &Tables, txn: &RoTxn<'_>, mint: &MintId) -> Result<bool> {
    let first = keys::by_mint(mint.0, &mint.1, &[0; 32]);
    let found = tables.by_mint.get_greater_than_or_equal_to(txn, &first)?;
    Ok(found.is_some_and(|(key, _)| keys::mint_of(key) == Some(*mint)))
}

/// Visits every token account of a mint after `after`, until it returns false.
pub(crate) fn each_holder(
    tables: &Tables,
    txn: &RoTxn<'_>,
    mint: &MintId,
    after: Option<&Pubkey>,
    visit: &mut impl FnMut(&Pubkey, Option<Entry>) -> Result<bool>,
) -> Result<()> {
    let first = keys::by_mint(mint.0, &mint.1, after.unwrap_or(&[0; 32]));
    let last = keys::by_mint(mint.0, &mint.1, &[0xFF; 32]);
    let first = match after {
        Some(_) => Bound::Excluded(&first[..]),
        None => Bound::Included(&first[..]),
    };
    let range = (first, Bound::Included(&last[..]));
    for found in tables.by_mint.range(txn, &range)? {
        let (key, _) = found?;
        let Some(pubkey) = keys::pubkey_of(key) else {
            continue;
        };
        let Some(record) = tables.accounts.get(txn, pubkey)? else {
            continue;
        };
        let data = decode(record)?.data;
        let amount = token::amount_of(data).filter(|_| token::is_account(data));
        if !visit(pubkey, amount.map(|amount| (amount, *pubkey)))? {
            break;
        }
    }
    Ok(())
}

/// Computes a row from every account of the mint.
pub(crate) fn recompute(tables: &Tables, txn: &RoTxn<'_>, mint: &MintId) -> Result<Row> {
    let mut largest = Largest::new(HOLDERS_MAX);
    each_holder(tables, txn, mint, None, &mut |_, entry| {
        entry.into_iter().for_each(|entry| largest.insert(entry));
        Ok(true)
    })?;
    Ok(largest.row())
}
