//! Which static keys a message can sign with, invoke and write, as far as the message alone shows.

use super::view::View;
use primitives::Pubkey;
use primitives::writable::{RESERVED, UPGRADEABLE_LOADER};

/// The static keys of one message. Keys of lookup tables are unknown without a chain.
pub struct Keys<'a> {
    view: &'a View<'a>,
    /// The programs of its instructions, each once.
    programs: Vec<&'a Pubkey>,
    has_loader: bool,
}

impl<'a> Keys<'a> {
    pub fn of(view: &'a View<'a>) -> Keys<'a> {
        let mut keys = Keys {
            view,
            programs: Vec::new(),
            has_loader: false,
        };
        for instruction in view.instructions_iter() {
            if let Some(program) = keys.get(instruction.program_id_index)
                && !keys.programs.contains(&program)
            {
                keys.programs.push(program);
            }
        }
        let mut all = 0..view.num_static_account_keys();
        keys.has_loader = all.any(|index| keys.get(index) == Some(&UPGRADEABLE_LOADER));
        keys
    }

    /// The static key at `index`; `None` if the index refers to a lookup table.
    pub fn get(&self, index: u8) -> Option<&'a Pubkey> {
        let key = self.view.static_account_keys().get(usize::from(index))?;
        Some(key.as_array())
    }

    pub fn is_signer(&self, index: u8) -> bool {
        index < self.view.num_required_signatures()
    }

    /// Whether an instruction of this message uses the key as its program. A key may be in the list
    /// twice, which the chain rejects later: both entries count as invoked.
    pub fn is_invoked(&self, index: u8) -> bool {
        let key = self.get(index);
        key.is_some_and(|key| self.programs.contains(&key))
    }

    /// Whether the message can write the static key: the header requests it, the key is not
    /// reserved, and it is not invoked as a program unless the upgradeable loader is present.
    pub fn is_writable(&self, index: u8) -> bool {
        let Some(key) = self.get(index) else {
            return false;
        };
        self.is_requested_writable(index)
            && (!self.is_invoked(index) || self.has_loader)
            && !RESERVED.contains(key)
    }

    fn is_requested_writable(&self, index: u8) -> bool {
        let view = self.view;
        let required = view.num_required_signatures();
        // The sanitizer guarantees that neither difference is negative.
        let unsigned_end = view
            .num_static_account_keys()
            .saturating_sub(view.num_readonly_unsigned_static_accounts());
        if index < required {
            index < required.saturating_sub(view.num_readonly_signed_static_accounts())
        } else {
            index < unsigned_end
        }
    }
}
