//! The ways to ask a server for accounts: what it must allow, and what each of them misses.

use super::config::AccountsFilter;
use primitives::Pubkey;
use primitives::token::{TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

/// Owner of wallets. Anybody's transaction may close one, so plan [`SubscriptionPlan::Narrow`] cannot see it.
const SYSTEM_PROGRAM: Pubkey = [0; 32];

/// How accounts are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubscriptionPlan {
    /// [`SubscriptionPlan::Accounts`] for a store of everything, [`SubscriptionPlan::Scoped`] for another.
    #[default]
    Auto,
    /// Whole blocks with every account in one message. Exact. What is out of scope is dropped here.
    Blocks,
    /// Every account, each in a message of its own. Exact. What is out of scope is dropped here.
    Accounts,
    /// The scope's accounts, and every account with no lamports: a close arrives under the System
    /// Program's name and would be lost by the owner filter. Missed: an account that is handed over
    /// alive to another program, or closed and made anew under one within a slot.
    Scoped,
    /// The scope's accounts by owner or address, and the transactions that name its programs: a
    /// close is inside one of them. Missed: what [`SubscriptionPlan::Scoped`] misses; of the second half only
    /// what happens within one transaction.
    Narrow,
}

impl SubscriptionPlan {
    /// The choice that an operator names so.
    pub fn of_name(name: &str) -> Option<SubscriptionPlan> {
        match name {
            "auto" => Some(SubscriptionPlan::Auto),
            "blocks" => Some(SubscriptionPlan::Blocks),
            "accounts" => Some(SubscriptionPlan::Accounts),
            "scoped" => Some(SubscriptionPlan::Scoped),
            "narrow" => Some(SubscriptionPlan::Narrow),
            _ => None,
        }
    }

    /// The plan itself, where it was left to us.
    pub fn resolve(self, accounts: &AccountsFilter) -> SubscriptionPlan {
        match (self, accounts) {
            (SubscriptionPlan::Auto, AccountsFilter::All) => SubscriptionPlan::Accounts,
            (SubscriptionPlan::Auto, AccountsFilter::Listed { .. }) => SubscriptionPlan::Scoped,
            (plan, _) => plan,
        }
    }

    /// Why the plan cannot serve these accounts, if it cannot.
    pub fn fault(self, accounts: &AccountsFilter) -> Option<&'static str> {
        match (self, accounts) {
            (SubscriptionPlan::Scoped | SubscriptionPlan::Narrow, AccountsFilter::All) => {
                Some("plan `scoped` and plan `narrow` need a scope")
            }
            (SubscriptionPlan::Narrow, AccountsFilter::Listed { programs, .. })
                if programs.contains(&SYSTEM_PROGRAM) =>
            {
                Some(
                    "plan `narrow` cannot follow the System Program: any transaction may empty a \
                     wallet",
                )
            }
            _ => None,
        }
    }
}

/// Programs in whose transactions every close of an account in scope happens: only an account's
/// owner can take its last lamports. Listed addresses need none, their own filter delivers their
/// close.
pub fn closing_programs(accounts: &AccountsFilter) -> Vec<Pubkey> {
    let AccountsFilter::Listed {
        programs, mints, ..
    } = accounts
    else {
        return Vec::new();
    };
    let mut closing = programs.clone();
    if !mints.is_empty() {
        closing.extend([TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);
    }
    closing.sort_unstable();
    closing.dedup();
    closing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(programs: Vec<Pubkey>, mints: Vec<Pubkey>) -> AccountsFilter {
        AccountsFilter::Listed {
            programs,
            mints,
            pubkeys: vec![],
        }
    }

    #[test]
    fn every_name_is_a_plan_and_auto_follows_the_scope() {
        let names = ["auto", "blocks", "accounts", "scoped", "narrow"];
        assert!(
            names
                .iter()
                .all(|name| SubscriptionPlan::of_name(name).is_some())
        );
        assert_eq!(SubscriptionPlan::of_name("Blocks"), None);
        let scope = listed(vec![[1; 32]], vec![]);
        assert_eq!(
            SubscriptionPlan::Auto.resolve(&AccountsFilter::All),
            SubscriptionPlan::Accounts
        );
        assert_eq!(
            SubscriptionPlan::Auto.resolve(&scope),
            SubscriptionPlan::Scoped
        );
        assert_eq!(
            SubscriptionPlan::Blocks.resolve(&scope),
            SubscriptionPlan::Blocks
        );
    }

    #[test]
    fn a_plan_that_would_miss_accounts_is_refused() {
        let scope = listed(vec![[1; 32]], vec![]);
        let wallets = listed(vec![[1; 32], SYSTEM_PROGRAM], vec![]);
        for (plan, accounts, is_right) in [
            (SubscriptionPlan::Auto, &AccountsFilter::All, true),
            (SubscriptionPlan::Blocks, &AccountsFilter::All, true),
            (SubscriptionPlan::Accounts, &scope, true),
            (SubscriptionPlan::Scoped, &AccountsFilter::All, false),
            (SubscriptionPlan::Narrow, &AccountsFilter::All, false),
            (SubscriptionPlan::Scoped, &wallets, true),
            (SubscriptionPlan::Narrow, &wallets, false),
            (SubscriptionPlan::Narrow, &scope, true),
        ] {
            assert_eq!(plan.fault(accounts).is_none(), is_right, "{plan:?}");
        }
    }

    #[test]
    fn accounts_of_a_mint_close_in_transactions_of_the_token_programs() {
        assert_eq!(closing_programs(&AccountsFilter::All), [[0; 32]; 0]);
        assert_eq!(closing_programs(&listed(vec![[1; 32]], vec![])), [[1; 32]]);
        let both = closing_programs(&listed(vec![TOKEN_PROGRAM], vec![[2; 32]]));
        assert_eq!(both, [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);
    }
}
