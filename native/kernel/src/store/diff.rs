//! What a block changes in the indexes: gathered, sorted, and written table by table, so that neighbours are
//! written together and each page is touched once.

use std::collections::HashMap;

use heed::RwTxn;

use super::keys::{
    ChangedKey, DiscriminatorKey, HolderKey, Indexed, MintKey, ProgramKey, TokenOwnerKey,
};
use super::options::Changed;
use super::tables::{Db, Tables};
use crate::Pubkey;
use crate::error::Result;

/// Keys to put (true) and to delete (false). One pubkey comes once, so no key is in it twice.
type Moves<K> = Vec<(K, bool)>;

/// The differences of one block.
#[derive(Default)]
pub(super) struct Diff {
    program: Moves<ProgramKey>,
    discriminator: Moves<DiscriminatorKey>,
    mint: Moves<MintKey>,
    /// The value is the mint; no value deletes.
    token_owner: Vec<(TokenOwnerKey, Option<Pubkey>)>,
    holder: Moves<HolderKey>,
    changed: Moves<ChangedKey>,
    owned: HashMap<Pubkey, i64>,
}

fn note<K: PartialEq>(moves: &mut Moves<K>, old: Option<K>, new: Option<K>) {
    if old == new {
        return;
    }
    moves.extend(old.map(|key| (key, false)));
    moves.extend(new.map(|key| (key, true)));
}

impl Diff {
    /// Adds the differences of one account between its stored record and its new one.
    pub fn push(
        &mut self,
        pubkey: &Pubkey,
        old: Option<&Indexed>,
        new: Option<&Indexed>,
        watched: &Changed,
    ) {
        note(
            &mut self.changed,
            old.and_then(|old| old.changed_key(watched, pubkey)),
            new.and_then(|new| new.changed_key(watched, pubkey)),
        );
        // Most updates of a block change nothing else than lamports or bytes that no index holds.
        if let (Some(old), Some(new)) = (old, new)
            && old.owner == new.owner
            && old.kind == new.kind
        {
            return;
        }
        self.push_owner(pubkey, old, new);
        note(
            &mut self.discriminator,
            old.and_then(|old| old.discriminator_key(pubkey)),
            new.and_then(|new| new.discriminator_key(pubkey)),
        );
        note(
            &mut self.mint,
            old.and_then(|old| old.mint_key(pubkey)),
            new.and_then(|new| new.mint_key(pubkey)),
        );
        note(
            &mut self.holder,
            old.and_then(|old| old.holder_key(pubkey)),
            new.and_then(|new| new.holder_key(pubkey)),
        );
        self.push_token_owner(
            old.and_then(|old| old.token_owner_key(pubkey)),
            new.and_then(|new| new.token_owner_key(pubkey)),
        );
    }

    fn push_owner(&mut self, pubkey: &Pubkey, old: Option<&Indexed>, new: Option<&Indexed>) {
        if old.map(|old| old.owner) == new.map(|new| new.owner) {
            return;
        }
        note(
            &mut self.program,
            old.map(|old| old.program_key(pubkey)),
            new.map(|new| new.program_key(pubkey)),
        );
        if let Some(old) = old {
            *self.owned.entry(old.owner).or_default() -= 1;
        }
        if let Some(new) = new {
            *self.owned.entry(new.owner).or_default() += 1;
        }
    }

    fn push_token_owner(
        &mut self,
        old: Option<(TokenOwnerKey, Pubkey)>,
        new: Option<(TokenOwnerKey, Pubkey)>,
    ) {
        if old == new {
            return;
        }
        // Under the same key only the value changes: one put.
        if let Some((key, _)) = old
            && new.is_none_or(|(new_key, _)| new_key != key)
        {
            self.token_owner.push((key, None));
        }
        self.token_owner
            .extend(new.map(|(key, mint)| (key, Some(mint))));
    }

    /// Writes everything.
    pub fn write(mut self, tables: &Tables, txn: &mut RwTxn<'_>) -> Result<()> {
        write_moves(&tables.by_program, txn, &mut self.program)?;
        write_moves(&tables.by_discriminator, txn, &mut self.discriminator)?;
        write_moves(&tables.by_mint, txn, &mut self.mint)?;
        write_moves(&tables.holders, txn, &mut self.holder)?;
        write_moves(&tables.changed, txn, &mut self.changed)?;
        self.token_owner.sort_unstable();
        for (key, mint) in &self.token_owner {
            match mint {
                Some(mint) => tables.by_token_owner.put(txn, key, mint)?,
                None => drop(tables.by_token_owner.delete(txn, key)?),
            }
        }
        write_counts(&tables.programs, txn, self.owned)
    }
}

fn write_moves<K: Ord + AsRef<[u8]>>(
    table: &Db,
    txn: &mut RwTxn<'_>,
    moves: &mut Moves<K>,
) -> Result<()> {
    moves.sort_unstable();
    for (key, is_put) in moves {
        if *is_put {
            table.put(txn, key.as_ref(), &[])?;
        } else {
            table.delete(txn, key.as_ref())?;
        }
    }
    Ok(())
}

fn write_counts(table: &Db, txn: &mut RwTxn<'_>, owned: HashMap<Pubkey, i64>) -> Result<()> {
    for (program, difference) in owned.into_iter().filter(|(_, difference)| *difference != 0) {
        let stored = table
            .get(txn, &program)?
            .and_then(|value| value.first_chunk());
        let count = stored
            .map_or(0, |bytes| u64::from_be_bytes(*bytes))
            .saturating_add_signed(difference);
        if count == 0 {
            table.delete(txn, &program)?;
        } else {
            table.put(txn, &program, &count.to_be_bytes())?;
        }
    }
    Ok(())
}
