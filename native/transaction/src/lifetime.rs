//! How long a transaction may land.

use solana_pubkey::Pubkey as Address;

use super::keys::SYSTEM_PROGRAM;
use super::view::Unsanitized;
use primitives::Pubkey;

/// `SystemInstruction::AdvanceNonceAccount`.
const ADVANCE_NONCE: u32 = 4;

/// What limits the time in which a transaction may land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The age of a block's hash.
    Blockhash(Pubkey),
    /// A durable nonce: it may land until the nonce is advanced.
    Nonce,
}

/// The lifetime of a transaction: a durable nonce is advanced by its first instruction.
pub fn lifetime(view: &Unsanitized<'_>) -> Lifetime {
    let advances = view.instructions_iter().next().is_some_and(|instruction| {
        let keys = view.static_account_keys();
        let program = keys.get(usize::from(instruction.program_id_index));
        let kind = instruction.data.first_chunk();
        program.map(Address::as_array) == Some(&SYSTEM_PROGRAM)
            && kind.copied().map(u32::from_le_bytes) == Some(ADVANCE_NONCE)
    });
    if advances {
        Lifetime::Nonce
    } else {
        Lifetime::Blockhash(*view.recent_blockhash().as_bytes())
    }
}
