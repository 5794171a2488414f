//! The accounts that a transaction can write, for estimates of fees.

use super::keys::Keys;
use super::parse::parse;
use primitives::Pubkey;

/// Static keys, and positions of addresses in lookup tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writable {
    pub keys: Vec<Pubkey>,
    pub tables: Vec<(Pubkey, Vec<u8>)>,
}

/// What a transaction of any version can write; its signatures are not checked. `None` for bytes
/// that are no transaction.
pub fn writable(bytes: &[u8]) -> Option<Writable> {
    let view = parse(bytes).ok()?;
    let keys = Keys::of(&view);
    let positions = 0..view.num_static_account_keys();
    let writable = positions.filter(|position| keys.is_writable(*position));
    Some(Writable {
        keys: writable
            .filter_map(|position| keys.get(position).copied())
            .collect(),
        tables: view
            .address_table_lookup_iter()
            .map(|lookup| {
                let table = *lookup.account_key.as_array();
                (table, lookup.writable_indexes.to_vec())
            })
            .collect(),
    })
}
