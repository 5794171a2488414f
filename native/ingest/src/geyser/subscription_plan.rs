//! Subscription plans for accounts: what each requires from the server and which changes it misses.

use super::accounts_filter::AccountsFilter;
use primitives::Pubkey;
use primitives::token::{TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

/// Owner of wallets. Any transaction may close a wallet, so plan [`SubscriptionPlan::Narrow`]
/// cannot detect the close.
const SYSTEM_PROGRAM: Pubkey = [0; 32];

/// How accounts are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubscriptionPlan {
    /// [`SubscriptionPlan::Accounts`] for an unscoped store, [`SubscriptionPlan::Scoped`] for a
    /// scoped one.
    #[default]
    Auto,
    /// Whole blocks with all accounts in one message. Exact. The reader drops accounts out of
    /// scope.
    Blocks,
    /// All accounts, one message each. Exact. The reader drops accounts out of scope.
    Accounts,
    /// Accounts in scope, and every account with zero lamports: a closed account is owned by the
    /// System Program, so the owner filter would miss the close. Misses an account that changes
    /// owner to another program without closing, or that is closed and recreated under another
    /// program within one slot.
    Scoped,
    /// Accounts in scope by owner or address, and the transactions that mention its programs,
    /// because these contain every close. Misses owner changes as [`SubscriptionPlan::Scoped`]
    /// does. Misses a close and recreation only within one transaction.
    Narrow,
}

impl SubscriptionPlan {
    /// Parses the configuration value.
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

    /// Resolves `Auto` to a concrete plan.
    pub fn resolve(self, accounts: &AccountsFilter) -> SubscriptionPlan {
        match (self, accounts) {
            (SubscriptionPlan::Auto, AccountsFilter::All) => SubscriptionPlan::Accounts,
            (SubscriptionPlan::Auto, AccountsFilter::Listed { .. }) => SubscriptionPlan::Scoped,
            (plan, _) => plan,
        }
    }

    /// Why the plan cannot serve these accounts, or `None` if it can.
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

/// Programs whose transactions contain every close of an account in scope: only the owner program
/// can take an account's last lamports. Listed addresses need no program, because their own filter
/// delivers the close.
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
    fn each_name_is_parsed_and_auto_depends_on_the_scope() {
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
    fn a_plan_that_would_miss_accounts_is_rejected() {
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
    fn closes_of_mint_accounts_use_the_token_programs() {
        assert_eq!(closing_programs(&AccountsFilter::All), [[0; 32]; 0]);
        assert_eq!(closing_programs(&listed(vec![[1; 32]], vec![])), [[1; 32]]);
        let both = closing_programs(&listed(vec![TOKEN_PROGRAM], vec![[2; 32]]));
        assert_eq!(both, [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);
    }
}
