//! Finds why the validator's sanitizer rejects a parsed transaction. Like the layout's walk it runs
//! afterwards and does not affect the verdict.

use agave_transaction_view::transaction_version::TransactionVersion;

use super::view::{INSTRUCTION_ACCOUNTS_MAX, SANITIZE, Unsanitized};

/// Maximum bytes of a legacy or version 0 transaction, and of version 1.
const PACKET_BYTES: usize = 1_232;
const V1_BYTES: usize = super::view::BYTES_MAX;
/// Maximum accounts, including those of lookup tables.
const ACCOUNTS_MAX: u16 = 256;
const V1_ACCOUNTS_MAX: u16 = 64;
const SIGNATURES_MAX: u8 = 12;
/// The unit of a heap request.
const HEAP_BYTES: u32 = 1_024;

/// The reason of a rejection; `None` where there is none.
pub fn refusal(view: &Unsanitized<'_>) -> Option<String> {
    let is_v1 = matches!(view.version(), TransactionVersion::V1);
    let bytes_max = if is_v1 { V1_BYTES } else { PACKET_BYTES };
    let bytes = view.data().len();
    if bytes > bytes_max {
        return Some(format!("{bytes} bytes, at most {bytes_max}"));
    }
    header(view)
        .or_else(|| heap(view))
        .or_else(|| signatures(view))
        .or_else(|| {
            let accounts_max = if is_v1 { V1_ACCOUNTS_MAX } else { ACCOUNTS_MAX };
            let accounts = accounts(view);
            (accounts > accounts_max)
                .then(|| format!("{accounts} accounts, at most {accounts_max}"))
        })
        .or_else(|| instructions(view))
        .or_else(|| lookups(view))
}

fn header(view: &Unsanitized<'_>) -> Option<String> {
    let required = view.num_required_signatures();
    let keys = view.num_static_account_keys();
    let readonly = view.num_readonly_unsigned_static_accounts();
    if required == 0 {
        Some("no signature is required".into())
    } else if view.num_readonly_signed_static_accounts() >= required {
        Some("the fee payer is read-only".into())
    } else if keys < required {
        Some(format!("{required} signers of {keys} account keys"))
    } else if readonly > keys - required {
        let unsigned = keys - required;
        Some(format!(
            "{readonly} of {unsigned} unsigned accounts are read-only"
        ))
    } else {
        None
    }
}

fn heap(view: &Unsanitized<'_>) -> Option<String> {
    let bytes = view.transaction_config()?.requested_heap_size()?;
    let (min, max) = (
        SANITIZE.min_requested_heap_size,
        SANITIZE.max_requested_heap_size,
    );
    let is_right = (min..=max).contains(&bytes) && bytes % HEAP_BYTES == 0;
    (!is_right).then(|| {
        format!("a heap of {bytes} bytes, multiples of 1024 from {min} to {max} are possible")
    })
}

fn signatures(view: &Unsanitized<'_>) -> Option<String> {
    let given = view.num_signatures();
    let required = view.num_required_signatures();
    if given != required {
        Some(format!(
            "signature count {given}, the header requires {required}"
        ))
    } else if given > SIGNATURES_MAX {
        Some(format!("{given} signatures, at most {SIGNATURES_MAX}"))
    } else {
        None
    }
}

fn instructions(view: &Unsanitized<'_>) -> Option<String> {
    let count = view.num_instructions();
    if usize::from(count) > SANITIZE.max_instructions {
        let max = SANITIZE.max_instructions;
        return Some(format!("{count} instructions, at most {max}"));
    }
    let keys = view.num_static_account_keys();
    let accounts = accounts(view);
    view.instructions_iter()
        .enumerate()
        .find_map(|(index, instruction)| {
            let program = instruction.program_id_index;
            let wrong = |account: &&u8| u16::from(**account) >= accounts;
            if program >= keys {
                Some(format!(
                    "instruction {index} invokes account {program} of {keys}"
                ))
            } else if program == 0 {
                Some(format!("instruction {index} invokes the fee payer"))
            } else if let Some(account) = instruction.accounts.iter().find(wrong) {
                Some(format!(
                    "instruction {index} names account {account} of {accounts}"
                ))
            } else if instruction.accounts.len() > INSTRUCTION_ACCOUNTS_MAX {
                let count = instruction.accounts.len();
                Some(format!(
                    "instruction {index} names {count} accounts, at most {INSTRUCTION_ACCOUNTS_MAX}"
                ))
            } else {
                None
            }
        })
}

fn lookups(view: &Unsanitized<'_>) -> Option<String> {
    let mut lookups = view.address_table_lookup_iter();
    let empty = lookups.position(|lookup| {
        lookup.writable_indexes.is_empty() && lookup.readonly_indexes.is_empty()
    })?;
    Some(format!("lookup table {empty} selects no account"))
}

fn accounts(view: &Unsanitized<'_>) -> u16 {
    u16::from(view.num_static_account_keys())
        .saturating_add(view.total_writable_lookup_accounts())
        .saturating_add(view.total_readonly_lookup_accounts())
}
