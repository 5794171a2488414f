//! How a client wants a transaction.

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Details {
    Full,
    /// Signatures, accounts and balances.
    Accounts,
    Signatures,
    /// Only that there is one.
    None,
}

impl Details {
    /// By their codes at the native boundary.
    pub const ALL: [Details; 4] = [
        Details::Full,
        Details::Accounts,
        Details::Signatures,
        Details::None,
    ];

    pub fn has_transaction(self) -> bool {
        matches!(self, Details::Full | Details::Accounts)
    }
}

/// How the transaction itself is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Base64,
    Base58,
    Json,
    JsonParsed,
}

impl Encoding {
    /// By their codes at the native boundary.
    pub const ALL: [Encoding; 4] = [
        Encoding::Base64,
        Encoding::Base58,
        Encoding::Json,
        Encoding::JsonParsed,
    ];
}

/// Whose notifications it is among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Of Helius: `{transaction, signature, slot, transactionIndex}`.
    Positional,
    /// Of richat: `{slot, signature}` or `{slot, transaction}`.
    Named,
}

/// Equal views of a transaction are equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionView {
    pub details: Details,
    pub encoding: Encoding,
    pub shows_rewards: bool,
    /// Of a version over it only an error is written; without one, of all but legacy ones.
    pub version_max: Option<u8>,
    pub shape: Shape,
}
