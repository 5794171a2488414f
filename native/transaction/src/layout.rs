//! Finds why the validator's parser rejects a transaction, since the parser gives no reason. It
//! runs after the parser and does not affect the verdict. A property test compares the two.

/// Maximum signatures that fit a packet with their keys.
const SIGNATURES_MAX: u8 = 12;
/// Maximum keys that fit a packet.
const KEYS_MAX: u8 = 38;
/// Maximum lookup tables that fit a packet.
const LOOKUPS_MAX: u8 = 31;
/// Minimum bytes of an instruction and of a lookup table.
const INSTRUCTION_BYTES_MIN: usize = 3;
const LOOKUP_BYTES_MIN: usize = 35;
/// The bit of the first byte that marks a version.
const VERSION_BIT: u8 = 0x80;
/// Config bits known to version 1. The first two are one field.
const CONFIG_BITS: u32 = 0b1_1111;
const FEE_BITS: u32 = 0b11;

/// The reason of an invalid layout, or `Ok` for a valid one.
pub fn walk(bytes: &[u8]) -> Result<(), String> {
    let mut walk = Walk { bytes, offset: 0 };
    match bytes.first() {
        None => return Err("no bytes".into()),
        Some(byte) if byte & VERSION_BIT == 0 => walk.legacy_or_v0()?,
        Some(byte) if *byte == VERSION_BIT | 1 => walk.v1()?,
        Some(byte) => return Err(unknown_version(*byte)),
    }
    match bytes.len().saturating_sub(walk.offset) {
        0 => Ok(()),
        1 => Err("1 byte behind its end".into()),
        left => Err(format!("{left} bytes behind its end")),
    }
}

fn unknown_version(byte: u8) -> String {
    format!("unknown version byte {byte:#04x}")
}

struct Walk<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Walk<'a> {
    fn legacy_or_v0(&mut self) -> Result<(), String> {
        let signatures = self.byte("the signatures")?;
        if !(1..=SIGNATURES_MAX).contains(&signatures) {
            return Err(format!(
                "{signatures} signatures, 1 to {SIGNATURES_MAX} are possible"
            ));
        }
        self.take(64 * usize::from(signatures), "the signatures")?;
        let prefix = self.byte("the header")?;
        let is_v0 = prefix == VERSION_BIT;
        if prefix > VERSION_BIT {
            return Err(unknown_version(prefix));
        }
        self.take(if is_v0 { 3 } else { 2 }, "the header")?;
        let keys = self.byte("the account keys")?;
        if !(1..=KEYS_MAX).contains(&keys) {
            return Err(format!("{keys} account keys, 1 to {KEYS_MAX} are possible"));
        }
        self.take(32 * usize::from(keys), "the account keys")?;
        self.take(32, "the blockhash")?;
        let instructions = self.length("the instructions")?;
        self.peek(INSTRUCTION_BYTES_MIN * instructions, "the instructions")?;
        for index in 0..instructions {
            let name = format!("instruction {index}");
            self.byte(&name)?;
            self.list(&name)?;
            self.list(&name)?;
        }
        if is_v0 { self.lookups() } else { Ok(()) }
    }

    fn lookups(&mut self) -> Result<(), String> {
        let lookups = self.byte("the lookup tables")?;
        if lookups > LOOKUPS_MAX {
            return Err(format!("{lookups} lookup tables, at most {LOOKUPS_MAX}"));
        }
        self.peek(LOOKUP_BYTES_MIN * usize::from(lookups), "the lookup tables")?;
        for index in 0..lookups {
            let name = format!("lookup table {index}");
            self.take(32, &name)?;
            self.list(&name)?;
            self.list(&name)?;
        }
        Ok(())
    }

    fn v1(&mut self) -> Result<(), String> {
        let [_, signers, ..] = *self.array::<4>("the header")?;
        let mask = u32::from_le_bytes(*self.array("the header")?);
        self.take(32, "the blockhash")?;
        let [instructions, keys] = *self.array("the header")?;
        self.take(32 * usize::from(keys), "the account keys")?;
        if mask & !CONFIG_BITS != 0 {
            return Err(format!("unknown config bits {mask:#x}"));
        }
        if (mask & FEE_BITS).count_ones() == 1 {
            return Err("half a priority fee".into());
        }
        self.take(4 * mask.count_ones() as usize, "the config")?;
        let mut payload = 0;
        for _ in 0..instructions {
            let [_, accounts, low, high] = *self.array("the instructions")?;
            payload += usize::from(accounts) + usize::from(u16::from_le_bytes([low, high]));
        }
        self.take(payload, "the instructions")?;
        self.take(64 * usize::from(signers), "the signatures")?;
        Ok(())
    }

    fn peek(&self, count: usize, name: &str) -> Result<&'a [u8], String> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        rest.get(..count)
            .ok_or_else(|| format!("ends at byte {} inside {name}", self.bytes.len()))
    }

    fn take(&mut self, count: usize, name: &str) -> Result<&'a [u8], String> {
        let taken = self.peek(count, name)?;
        self.offset += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, name: &str) -> Result<&'a [u8; N], String> {
        let taken = self.take(N, name)?;
        taken.first_chunk().ok_or_else(String::new)
    }

    fn byte(&mut self, name: &str) -> Result<u8, String> {
        let [byte] = *self.array(name)?;
        Ok(byte)
    }

    /// A length of one byte, or of two in the shortest form. Longer ones never fit a packet.
    fn length(&mut self, name: &str) -> Result<usize, String> {
        let offset = self.offset;
        let low = self.byte(name)?;
        if low & 0x80 == 0 {
            return Ok(low.into());
        }
        match self.byte(name)? {
            0 => Err(format!(
                "length at byte {offset} in {name} is not in its shortest form"
            )),
            high if high & 0x80 != 0 => {
                Err(format!("length at byte {offset} in {name} is too large"))
            }
            high => Ok(usize::from(low & 0x7f) | usize::from(high) << 7),
        }
    }

    fn list(&mut self, name: &str) -> Result<(), String> {
        let length = self.length(name)?;
        self.take(length, name)?;
        Ok(())
    }
}
