//! Builds transactions byte by byte from the wire layouts, without the crate under test.

mod check;
mod ed25519;
mod fixtures;
mod frames;
mod properties;
mod real;
mod refusals;
mod tips;
mod writable;

use ed25519_dalek::{Signer, SigningKey};

use super::*;
use primitives::Pubkey;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Legacy,
    V0,
    V1,
}

/// Program index, account indexes, data.
pub type Instruction = (u8, Vec<u8>, Vec<u8>);

/// A message and its signers. Every field may be invalid.
#[derive(Debug, Clone)]
pub struct Build {
    pub version: Version,
    /// Seeds of the signing keys, which are the first account keys.
    pub signers: Vec<u8>,
    /// The other account keys, read-only ones last.
    pub others: Vec<Pubkey>,
    pub readonly_signed: u8,
    pub readonly_unsigned: u8,
    pub instructions: Vec<Instruction>,
    /// Table key, writable indexes, read-only indexes.
    pub lookups: Vec<(Pubkey, Vec<u8>, Vec<u8>)>,
    /// Config words of version 1 and their bits.
    pub config: Vec<(u8, u32)>,
}

/// The reason of an invalid structure, or the kind of another problem.
pub fn problem_text(member: &Member) -> Option<String> {
    let problem = member.problem.clone()?;
    Some(match problem {
        Problem::Structure(reason) => reason,
        problem => problem.kind().into(),
    })
}

pub fn signer(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub fn signer_key(seed: u8) -> Pubkey {
    signer(seed).verifying_key().to_bytes()
}

pub fn push_length(out: &mut Vec<u8>, length: usize) {
    if length < 128 {
        out.push(length as u8);
    } else {
        out.extend([(length & 127) as u8 | 128, (length >> 7) as u8]);
    }
}

fn push_list(out: &mut Vec<u8>, bytes: &[u8]) {
    push_length(out, bytes.len());
    out.extend(bytes);
}

impl Build {
    /// A message of one signer.
    pub fn new(version: Version) -> Build {
        Build {
            version,
            signers: vec![1],
            others: Vec::new(),
            readonly_signed: 0,
            readonly_unsigned: 0,
            instructions: Vec::new(),
            lookups: Vec::new(),
            config: Vec::new(),
        }
    }

    pub fn keys(&self) -> Vec<Pubkey> {
        let signers = self.signers.iter().map(|seed| signer_key(*seed));
        signers.chain(self.others.iter().copied()).collect()
    }

    pub fn message(&self) -> Vec<u8> {
        let header = [
            self.signers.len() as u8,
            self.readonly_signed,
            self.readonly_unsigned,
        ];
        if self.version == Version::V1 {
            return self.v1_message(header);
        }
        let mut out = Vec::new();
        if self.version == Version::V0 {
            out.push(0x80);
        }
        out.extend(header);
        let keys = self.keys();
        push_length(&mut out, keys.len());
        out.extend(keys.as_flattened());
        out.extend([9; 32]);
        push_length(&mut out, self.instructions.len());
        for (program, accounts, data) in &self.instructions {
            out.push(*program);
            push_list(&mut out, accounts);
            push_list(&mut out, data);
        }
        if self.version == Version::V0 {
            push_length(&mut out, self.lookups.len());
            for (table, writable, readonly) in &self.lookups {
                out.extend(table);
                push_list(&mut out, writable);
                push_list(&mut out, readonly);
            }
        }
        out
    }

    fn v1_message(&self, header: [u8; 3]) -> Vec<u8> {
        let mut out = vec![0x81];
        out.extend(header);
        let mask = self
            .config
            .iter()
            .fold(0u32, |mask, (bit, _)| mask | 1 << bit);
        out.extend(mask.to_le_bytes());
        out.extend([9; 32]);
        let keys = self.keys();
        out.extend([self.instructions.len() as u8, keys.len() as u8]);
        out.extend(keys.as_flattened());
        for (_, word) in &self.config {
            out.extend(word.to_le_bytes());
        }
        for (program, accounts, data) in &self.instructions {
            out.extend([*program, accounts.len() as u8]);
            out.extend((data.len() as u16).to_le_bytes());
        }
        for (_, accounts, data) in &self.instructions {
            out.extend(accounts);
            out.extend(data);
        }
        out
    }

    pub fn bytes(&self) -> Vec<u8> {
        let message = self.message();
        let signatures: Vec<u8> = self
            .signers
            .iter()
            .flat_map(|seed| signer(*seed).sign(&message).to_bytes())
            .collect();
        if self.version == Version::V1 {
            return [message, signatures].concat();
        }
        [vec![self.signers.len() as u8], signatures, message].concat()
    }
}

/// A system transfer.
pub fn transfer(lamports: u64) -> Vec<u8> {
    [&2u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat()
}

pub const SYSTEM: Pubkey = [0; 32];
pub const APPLICATION: Pubkey = [0xa1; 32];
pub const SERVICE_TIP: Pubkey = [0x51; 32];
pub const ENGINE_TIP: Pubkey = [0xe1; 32];
pub const SERVICE_FLOOR: u64 = 1_000_000;
pub const ENGINE_FLOOR: u64 = 1_000;

pub fn rules() -> Rules {
    let memo = primitives::encoding::decode_pubkey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
    Rules {
        tip_classes: vec![
            TipClass {
                addresses: vec![[0x52; 32], SERVICE_TIP],
                floor_lamports: SERVICE_FLOOR,
            },
            TipClass {
                addresses: vec![ENGINE_TIP],
                floor_lamports: ENGINE_FLOOR,
            },
        ],
        exempt_programs: vec![SYSTEM, memo.unwrap()],
        signature_rule: SignatureRule::Strict,
    }
}

/// A transaction of one signer that pays both floors and writes an account of an application. Keys:
/// payer, service tip, engine tip, account, system program, application.
pub fn qualifying(version: Version) -> Build {
    Build {
        others: vec![SERVICE_TIP, ENGINE_TIP, [0xac; 32], SYSTEM, APPLICATION],
        readonly_unsigned: 2,
        instructions: vec![
            (4, vec![0, 1], transfer(SERVICE_FLOOR)),
            (4, vec![0, 2], transfer(ENGINE_FLOOR)),
            (5, vec![3], vec![7]),
        ],
        ..Build::new(version)
    }
}

/// Sets the required signatures in the header of a legacy transaction of one signer.
pub fn legacy_header(bytes: &[u8], required: u8) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[65] = required;
    changed[66] = 0;
    changed[67] = 0;
    changed
}
