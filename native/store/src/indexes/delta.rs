//! Collects the index changes of blocks, sorts them, and writes them table by table, so that
//! adjacent keys are written together and each page is touched once.

use std::collections::BTreeMap;

use heed::{RoTxn, RwTxn};

use crate::indexes::holder_row::{self, Move};
use crate::indexes::holders;
use crate::indexes::programs::{self, ProgramMove};
use crate::indexes::refill::Refills;
use crate::options::Changed;
use crate::rows::keys::{
    DiscriminatorKey, Entry, Indexed, MintId, MintKey, ProgramKey, TokenOwnerKey,
};
use crate::tables::{Db, Extent, PerTable, Tables};
use primitives::Pubkey;
use sys::error::Result;

/// Keys to put (true) or delete (false). Each pubkey is pushed once, so keys are unique.
type Moves<K> = Vec<(K, bool)>;

/// The index changes of one block, or of several blocks combined.
pub(crate) struct IndexDelta<'o> {
    watched: &'o Changed,
    program: Moves<ProgramKey>,
    discriminator: Moves<DiscriminatorKey>,
    mint: Moves<MintKey>,
    /// The value is the mint; `None` deletes the key.
    token_owner: Vec<(TokenOwnerKey, Option<Pubkey>)>,
    holders: BTreeMap<MintId, Vec<Move>>,
    programs: BTreeMap<Pubkey, ProgramMove>,
}

fn note<K: PartialEq>(moves: &mut Moves<K>, old: Option<K>, new: Option<K>) {
    if old == new {
        return;
    }
    moves.extend(old.map(|key| (key, false)));
    moves.extend(new.map(|key| (key, true)));
}

impl<'o> IndexDelta<'o> {
    pub fn new(watched: &'o Changed) -> Self {
        IndexDelta {
            watched,
            program: Vec::new(),
            discriminator: Vec::new(),
            mint: Vec::new(),
            token_owner: Vec::new(),
            holders: BTreeMap::new(),
            programs: BTreeMap::new(),
        }
    }

    /// Adds the differences between an account's stored record and its new one. Accounts come in
    /// ascending order of pubkeys.
    pub fn push(&mut self, pubkey: &Pubkey, old: Option<&Indexed>, new: Option<&Indexed>) {
        if let Some(new) = new
            && self.watched.covers(&new.owner)
        {
            self.programs
                .entry(new.owner)
                .or_default()
                .written
                .push((new.slot, *pubkey));
        }
        // Many updates change only lamports or bytes that no index uses.
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
        self.push_token_owner(
            old.and_then(|old| old.token_owner_key(pubkey)),
            new.and_then(|new| new.token_owner_key(pubkey)),
        );
        self.push_holder(
            old.and_then(|old| old.holder(pubkey)),
            new.and_then(|new| new.holder(pubkey)),
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
            self.programs.entry(old.owner).or_default().accounts -= 1;
        }
        if let Some(new) = new {
            self.programs.entry(new.owner).or_default().accounts += 1;
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
        // If the key is unchanged, a single put replaces the value.
        if let Some((key, _)) = old
            && new.is_none_or(|(new_key, _)| new_key != key)
        {
            self.token_owner.push((key, None));
        }
        self.token_owner
            .extend(new.map(|(key, mint)| (key, Some(mint))));
    }

    fn push_holder(&mut self, old: Option<(MintId, Entry)>, new: Option<(MintId, Entry)>) {
        match (old, new) {
            (Some((mint, old)), Some((new_mint, new))) if mint == new_mint => {
                if old != new {
                    let moved = Move {
                        old: Some(old),
                        new: Some(new),
                    };
                    self.holders.entry(mint).or_default().push(moved);
                }
            }
            (old, new) => {
                if let Some((mint, entry)) = old {
                    let moved = Move {
                        old: Some(entry),
                        new: None,
                    };
                    self.holders.entry(mint).or_default().push(moved);
                }
                if let Some((mint, entry)) = new {
                    let moved = Move {
                        old: None,
                        new: Some(entry),
                    };
                    self.holders.entry(mint).or_default().push(moved);
                }
            }
        }
    }

    /// Reads the pages of the rows that [`IndexDelta::write`] changes; returns how many rows it
    /// found.
    pub fn touch(&self, tables: &Tables, txn: &RoTxn<'_>) -> Result<usize> {
        let mut found = 0;
        let mut get = |table: &Db, key: &[u8]| -> Result<()> {
            found += usize::from(table.get(txn, key)?.is_some());
            Ok(())
        };
        for (key, _) in &self.program {
            get(&tables.by_program, key.as_ref())?;
        }
        for (key, _) in &self.discriminator {
            get(&tables.by_discriminator, key.as_ref())?;
        }
        for (key, _) in &self.mint {
            get(&tables.by_mint, key.as_ref())?;
        }
        for (key, _) in &self.token_owner {
            get(&tables.by_token_owner, key.as_ref())?;
        }
        for key in self.holders.keys() {
            get(&tables.holders, &holder_row::key(key))?;
        }
        Ok(found)
    }

    /// Writes all changes. The accounts must be written first.
    pub fn write(
        mut self,
        tables: &Tables,
        txn: &mut RwTxn<'_>,
        refills: &mut Refills,
    ) -> Result<()> {
        self.write_keys(tables, txn, None)?;
        holders::write(tables, txn, self.holders, refills)?;
        programs::write(tables, txn, self.programs)
    }

    /// Writes the changes of those tables whose rows follow from the accounts alone, if they belong
    /// to what is there of each.
    pub fn write_keys(
        &mut self,
        tables: &Tables,
        txn: &mut RwTxn<'_>,
        there: Option<&PerTable<Extent>>,
    ) -> Result<()> {
        let of = |extent: fn(&PerTable<Extent>) -> &Extent| there.map(extent);
        let program = of(|there| &there.by_program);
        write_moves(&tables.by_program, txn, &mut self.program, program)?;
        let discriminator = of(|there| &there.by_discriminator);
        let moves = &mut self.discriminator;
        write_moves(&tables.by_discriminator, txn, moves, discriminator)?;
        let mint = of(|there| &there.by_mint);
        write_moves(&tables.by_mint, txn, &mut self.mint, mint)?;
        let token_owner = of(|there| &there.by_token_owner);
        self.token_owner.sort_unstable();
        for (key, mint) in &self.token_owner {
            if token_owner.is_some_and(|there| !there.has(key)) {
                continue;
            }
            match mint {
                Some(mint) => tables.by_token_owner.put(txn, key, mint)?,
                None => drop(tables.by_token_owner.delete(txn, key)?),
            }
        }
        Ok(())
    }

    /// The mints whose rows of `holders` the changes may reach.
    pub fn mints(&self) -> impl Iterator<Item = &MintId> {
        self.holders.keys()
    }

    /// The programs whose rows the changes may reach.
    pub fn programs(&self) -> impl Iterator<Item = &Pubkey> {
        self.programs.keys()
    }
}

fn write_moves<K: Ord + AsRef<[u8]>>(
    table: &Db,
    txn: &mut RwTxn<'_>,
    moves: &mut Moves<K>,
    there: Option<&Extent>,
) -> Result<()> {
    moves.sort_unstable();
    for (key, is_put) in moves {
        if there.is_some_and(|there| !there.has(key.as_ref())) {
            continue;
        }
        if *is_put {
            table.put(txn, key.as_ref(), &[])?;
        } else {
            table.delete(txn, key.as_ref())?;
        }
    }
    Ok(())
}
