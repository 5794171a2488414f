//! The methods of the fast lane.

/// The methods of the fast lane. Their numbers are those at the native boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    LatestBlockhash = 0,
    AccountInfo = 1,
    MultipleAccounts = 2,
    TokenAccountBalance = 3,
    TokenSupply = 4,
    TokenLargestAccounts = 5,
}

/// How many methods there are.
pub const METHODS: usize = 6;
