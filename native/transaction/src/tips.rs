//! Computes what a transaction pays to tip addresses and whether it calls an application: the rules
//! for a qualifying member.

use super::keys::Keys;
use super::signature::SignatureRule;
use super::view::View;
use primitives::Pubkey;
use primitives::writable::SYSTEM_PROGRAM;

/// `SystemInstruction::Transfer`. Data after the lamports is ignored, as by the runtime.
const TRANSFER: u32 = 2;

/// Addresses whose tips are summed, and the minimum of the sum.
#[derive(Debug, Clone)]
pub struct TipClass {
    pub addresses: Vec<Pubkey>,
    pub floor_lamports: u64,
}

/// The rules of one route: tips, and which signatures are valid.
#[derive(Debug, Clone)]
pub struct Rules {
    /// No address is in two classes.
    pub tip_classes: Vec<TipClass>,
    /// Programs that do not count as applications: system, compute budget, memo and similar.
    pub exempt_programs: Vec<Pubkey>,
    pub signature_rule: SignatureRule,
}

/// The tips of one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tips {
    /// Lamports for each class, in the order of the rules.
    pub lamports: Vec<u64>,
    /// The addresses that are paid, of all classes, each once, with their lamports.
    pub paid: Vec<(Pubkey, u64)>,
    /// Whether an instruction of a program that is not exempt has a writable static account that is
    /// not a program of this message.
    pub has_application: bool,
    /// Whether every class reaches its floor and there is an application.
    pub qualifies: bool,
}

impl Rules {
    /// The tips of an invalid transaction.
    pub fn nothing(&self) -> Tips {
        Tips {
            lamports: vec![0; self.tip_classes.len()],
            paid: Vec::new(),
            has_application: false,
            qualifies: false,
        }
    }
}

/// Counts only top-level instructions: transfers by other programs are unknown without a chain.
pub fn tips(view: &View<'_>, rules: &Rules) -> Tips {
    let keys = Keys::of(view);
    let mut found = rules.nothing();
    for instruction in view.instructions_iter() {
        let Some(program) = keys.get(instruction.program_id_index) else {
            continue;
        };
        if *program == SYSTEM_PROGRAM
            && let Some((to, lamports)) =
                counted_transfer(&keys, instruction.accounts, instruction.data)
        {
            for (class, sum) in rules.tip_classes.iter().zip(&mut found.lamports) {
                if class.addresses.contains(to) {
                    *sum = sum.saturating_add(lamports);
                    add(&mut found.paid, to, lamports);
                }
            }
        }
        found.has_application |= !rules.exempt_programs.contains(program)
            && instruction
                .accounts
                .iter()
                .any(|index| keys.is_writable(*index) && !keys.is_invoked(*index));
    }
    let mut classes = rules.tip_classes.iter().zip(&found.lamports);
    found.qualifies =
        found.has_application && classes.all(|(class, sum)| *sum >= class.floor_lamports);
    found
}

/// Adds to what an address is paid. Addresses of tips are few.
fn add(paid: &mut Vec<(Pubkey, u64)>, to: &Pubkey, lamports: u64) {
    match paid.iter_mut().find(|(address, _)| address == to) {
        Some((_, sum)) => *sum = sum.saturating_add(lamports),
        None => paid.push((*to, lamports)),
    }
}

/// Recipient and lamports of a system transfer from a signer to another static account, both
/// writable.
fn counted_transfer<'a>(
    keys: &Keys<'a>,
    accounts: &[u8],
    data: &[u8],
) -> Option<(&'a Pubkey, u64)> {
    let (kind, rest) = data.split_first_chunk::<4>()?;
    let lamports = rest.first_chunk::<8>()?;
    let [from, to, ..] = *accounts else {
        return None;
    };
    let recipient = keys.get(to)?;
    let is_counted = u32::from_le_bytes(*kind) == TRANSFER
        && keys.is_signer(from)
        && keys.is_writable(from)
        && keys.is_writable(to)
        && keys.get(from) != Some(recipient);
    is_counted.then(|| (recipient, u64::from_le_bytes(*lamports)))
}
