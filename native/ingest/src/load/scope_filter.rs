//! Decides for one version at a time whether a scope keeps it, without knowledge of the others.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::record::{Kind, VersionOrder};
use primitives::Pubkey;
use primitives::token::{self, CLOCK_SYSVAR, TokenProgram};
use store::{AccountRef, Scope};

/// The newest version of a listed address, and the mint that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    version_order: VersionOrder,
    /// The index of the token program in [`TokenProgram::ALL`], and the mint.
    names: Option<(u8, Pubkey)>,
}

/// A scope in a form for fast checks, and the state collected from versions.
pub(super) struct ScopeFilter {
    /// `None` keeps every account.
    listed: Option<Listed>,
}

struct Listed {
    programs: HashSet<Pubkey>,
    mints: HashSet<Pubkey>,
    pubkeys: HashSet<Pubkey>,
    has_token_programs: bool,
    seen: HashMap<Pubkey, Seen>,
}

impl ScopeFilter {
    /// Continues with what another filter of the scope has [seen](ScopeFilter::seen).
    pub fn new(scope: &Scope, seen: HashMap<Pubkey, Seen>) -> ScopeFilter {
        let Scope::Listed {
            programs,
            mints,
            pubkeys,
        } = scope
        else {
            return ScopeFilter { listed: None };
        };
        ScopeFilter {
            listed: Some(Listed {
                programs: programs.iter().copied().collect(),
                mints: mints.iter().copied().collect(),
                pubkeys: pubkeys.iter().copied().collect(),
                has_token_programs: TokenProgram::ALL.iter().all(|p| programs.contains(p.id())),
                seen,
            }),
        }
    }

    /// The kind of this version, if it is the newest.
    pub fn kind_of(
        &mut self,
        pubkey: &Pubkey,
        version_order: VersionOrder,
        account: &AccountRef<'_>,
    ) -> Kind {
        let Some(listed) = &mut self.listed else {
            return if account.lamports == 0 {
                Kind::Gone
            } else {
                Kind::Kept
            };
        };
        listed.note(pubkey, version_order, account);
        if account.lamports == 0 {
            Kind::Gone
        } else if listed.covers(pubkey, account) {
            Kind::Kept
        } else if listed.may_need(account) {
            Kind::Mint
        } else {
            Kind::Gone
        }
    }

    /// The newest versions of listed addresses.
    pub fn seen(&self) -> HashMap<Pubkey, Seen> {
        let listed = self.listed.as_ref();
        listed.map(|listed| listed.seen.clone()).unwrap_or_default()
    }

    /// The mints that kept token accounts refer to. Complete after every version was seen.
    pub fn needed_mints(&self) -> HashSet<(TokenProgram, Pubkey)> {
        let listed = self.listed.iter();
        listed
            .flat_map(|listed| listed.seen.values().filter_map(|seen| seen.names))
            .filter_map(|(program, mint)| {
                Some((*TokenProgram::ALL.get(usize::from(program))?, mint))
            })
            .collect()
    }
}

impl Listed {
    fn covers(&self, pubkey: &Pubkey, account: &AccountRef<'_>) -> bool {
        self.pubkeys.contains(pubkey)
            || self.mints.contains(pubkey)
            || *pubkey == CLOCK_SYSVAR
            || self.programs.contains(account.owner)
            || (TokenProgram::of(account.owner).is_some()
                && token::is_account(account.data)
                && token::mint_of(account.data)
                    .is_some_and(|mint| self.has_token_programs || self.mints.contains(mint)))
    }

    /// The mint of an account that is kept for its program or its mint is in the scope. So only
    /// listed addresses can need another mint, at most one per address.
    fn may_need(&self, account: &AccountRef<'_>) -> bool {
        !(self.pubkeys.is_empty() && self.mints.is_empty())
            && TokenProgram::of(account.owner).is_some()
            && token::is_mint(account.data)
    }

    fn note(&mut self, pubkey: &Pubkey, version_order: VersionOrder, account: &AccountRef<'_>) {
        if !self.pubkeys.contains(pubkey) && !self.mints.contains(pubkey) {
            return;
        }
        let is_token = account.lamports > 0 && token::is_account(account.data);
        let program = TokenProgram::of(account.owner).filter(|_| is_token);
        let index = program.and_then(|of| TokenProgram::ALL.iter().position(|one| *one == of));
        let mint = token::mint_of(account.data).copied();
        let found = Seen {
            version_order,
            names: index.map(|index| index as u8).zip(mint),
        };
        let seen = self.seen.entry(*pubkey).or_insert(found);
        if version_order >= seen.version_order {
            *seen = found;
        }
    }
}
