//! How long a transaction may land.

use solana_pubkey::Pubkey as Address;

use super::view::Unsanitized;
use primitives::Pubkey;
use primitives::writable::SYSTEM_PROGRAM;

/// `SystemInstruction::AdvanceNonceAccount`.
const ADVANCE_NONCE: u32 = 4;

/// What limits the time in which a transaction may land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The age of a block's hash.
    Blockhash(Pubkey),
    /// A durable nonce: it may land until the nonce is advanced.
    Nonce {
        /// The account of the nonce; `None` if the transaction does not contain its address.
        account: Option<Pubkey>,
        value: Pubkey,
    },
}

/// The lifetime of a transaction: a durable nonce is advanced by its first instruction.
pub fn lifetime(view: &Unsanitized<'_>) -> Lifetime {
    let hash = *view.recent_blockhash().as_bytes();
    let keys = view.static_account_keys();
    let key = |index: u8| keys.get(usize::from(index)).map(Address::as_array);
    let advanced = view.instructions_iter().next().filter(|instruction| {
        let kind = instruction.data.first_chunk();
        key(instruction.program_id_index) == Some(&SYSTEM_PROGRAM)
            && kind.copied().map(u32::from_le_bytes) == Some(ADVANCE_NONCE)
    });
    match advanced {
        Some(instruction) => Lifetime::Nonce {
            account: instruction
                .accounts
                .first()
                .and_then(|index| key(*index))
                .copied(),
            value: hash,
        },
        None => Lifetime::Blockhash(hash),
    }
}
