//! Binary encoding of a block. Integers are little-endian. Lists and texts follow their length as
//! u32.

use std::io::{self, ErrorKind, Read, Write};

use store::{
    AccountUpdate, Block, BlockParts, TransactionCost, TransactionDetails, TransactionUpdate,
};

const HAS_TIME: u8 = 1;
const HAS_ROOT: u8 = 2;
const HAS_DETAILS: u8 = 4;
/// Absent in spools of former builds.
const HAS_PARTS: u8 = 8;
/// Flags of an account.
const IS_EXECUTABLE: u8 = 1;
const IS_SIGNED: u8 = 2;
/// Maximum list capacity to reserve before reading elements, so that a wrong length uses no memory.
const RESERVED_MAX: usize = 1024;

pub fn encode(block: &Block, to: &mut impl Write) -> io::Result<()> {
    for number in [block.slot, block.parent_slot, block.block_height] {
        to.write_all(&number.to_le_bytes())?;
    }
    to.write_all(&block.blockhash)?;
    to.write_all(&block.parent_blockhash)?;
    let has_time = if block.block_time.is_some() {
        HAS_TIME
    } else {
        0
    };
    let has_root = if block.root.is_some() { HAS_ROOT } else { 0 };
    let has_details = if block.has_details { HAS_DETAILS } else { 0 };
    to.write_all(&[has_time | has_root | has_details | HAS_PARTS])?;
    to.write_all(&block.block_time.unwrap_or(0).to_le_bytes())?;
    to.write_all(&block.root.unwrap_or(0).to_le_bytes())?;
    write_len(to, block.accounts.len())?;
    for account in &block.accounts {
        to.write_all(&account.pubkey)?;
        to.write_all(&account.lamports.to_le_bytes())?;
        to.write_all(&account.rent_epoch.to_le_bytes())?;
        let executable = if account.executable { IS_EXECUTABLE } else { 0 };
        let signed = if account.is_signed { IS_SIGNED } else { 0 };
        to.write_all(&[executable | signed])?;
        to.write_all(&account.owner)?;
        write_bytes(to, &account.data)?;
    }
    write_len(to, block.transactions.len())?;
    block
        .transactions
        .iter()
        .try_for_each(|transaction| encode_transaction(transaction, to))?;
    encode_parts(&block.parts, to)
}

fn encode_parts(parts: &BlockParts, to: &mut impl Write) -> io::Result<()> {
    write_bytes(to, &parts.meta)?;
    to.write_all(&[u8::from(parts.footer.is_some())])?;
    if let Some(footer) = &parts.footer {
        write_bytes(to, footer)?;
    }
    write_len(to, parts.entries.len())?;
    let mut entries = parts.entries.iter();
    entries.try_for_each(|entry| write_bytes(to, entry))
}

fn encode_transaction(transaction: &TransactionUpdate, to: &mut impl Write) -> io::Result<()> {
    to.write_all(&transaction.signature)?;
    to.write_all(&transaction.index.to_le_bytes())?;
    to.write_all(&[u8::from(transaction.error.is_some())])?;
    if let Some(error) = &transaction.error {
        write_bytes(to, error)?;
    }
    to.write_all(&[u8::from(transaction.details.is_some())])?;
    let Some(details) = &transaction.details else {
        return Ok(());
    };
    to.write_all(&[u8::from(details.is_vote)])?;
    write_len(to, details.keys.len())?;
    to.write_all(details.keys.as_flattened())?;
    write_len(to, details.logs.len())?;
    details
        .logs
        .iter()
        .try_for_each(|line| write_bytes(to, line.as_bytes()))?;
    to.write_all(&[u8::from(details.full.is_some())])?;
    if let Some(full) = &details.full {
        write_bytes(to, full)?;
    }
    encode_cost(&details.cost, to)
}

fn encode_cost(cost: &TransactionCost, to: &mut impl Write) -> io::Result<()> {
    to.write_all(&[u8::from(cost.price.is_some())])?;
    to.write_all(&cost.price.unwrap_or(0).to_le_bytes())?;
    write_bytes(to, &cost.writable)?;
    write_len(to, cost.gains.len())?;
    cost.gains.iter().try_for_each(|(position, lamports)| {
        to.write_all(&[*position])?;
        to.write_all(&lamports.to_le_bytes())
    })
}

/// Reads one block written by [`encode`] and no bytes after it.
pub fn decode(from: &mut impl Read) -> io::Result<Block> {
    let (slot, parent_slot, block_height) = (read_u64(from)?, read_u64(from)?, read_u64(from)?);
    let (blockhash, parent_blockhash) = (read_array(from)?, read_array(from)?);
    let [flags] = read_array(from)?;
    let time = i64::from_le_bytes(read_array(from)?);
    let root = read_u64(from)?;
    Ok(Block {
        slot,
        parent_slot,
        blockhash,
        parent_blockhash,
        block_height,
        block_time: (flags & HAS_TIME != 0).then_some(time),
        root: (flags & HAS_ROOT != 0).then_some(root),
        has_details: flags & HAS_DETAILS != 0,
        accounts: read_list(from, decode_account)?,
        transactions: read_list(from, decode_transaction)?,
        parts: if flags & HAS_PARTS != 0 {
            decode_parts(from)?
        } else {
            BlockParts::default()
        },
    })
}

fn decode_parts(from: &mut impl Read) -> io::Result<BlockParts> {
    Ok(BlockParts {
        meta: read_bytes(from)?,
        footer: if read_bool(from)? {
            Some(read_bytes(from)?)
        } else {
            None
        },
        entries: read_list(from, |from| read_bytes(from))?,
    })
}

fn decode_account(from: &mut impl Read) -> io::Result<AccountUpdate> {
    let (pubkey, lamports, rent_epoch) = (read_array(from)?, read_u64(from)?, read_u64(from)?);
    let [flags] = read_array(from)?;
    if flags & !(IS_EXECUTABLE | IS_SIGNED) != 0 {
        return Err(malformed("flag"));
    }
    Ok(AccountUpdate {
        pubkey,
        lamports,
        rent_epoch,
        executable: flags & IS_EXECUTABLE != 0,
        is_signed: flags & IS_SIGNED != 0,
        owner: read_array(from)?,
        data: read_bytes(from)?,
    })
}

fn decode_transaction(from: &mut impl Read) -> io::Result<TransactionUpdate> {
    let signature = read_array(from)?;
    let index = u32::from_le_bytes(read_array(from)?);
    let error = if read_bool(from)? {
        Some(read_bytes(from)?)
    } else {
        None
    };
    let details = if read_bool(from)? {
        Some(decode_details(from)?)
    } else {
        None
    };
    Ok(TransactionUpdate {
        signature,
        index,
        error,
        details,
    })
}

fn decode_details(from: &mut impl Read) -> io::Result<TransactionDetails> {
    Ok(TransactionDetails {
        is_vote: read_bool(from)?,
        keys: read_list(from, |from| read_array(from))?,
        logs: read_list(from, |from| {
            String::from_utf8(read_bytes(from)?).map_err(|_| malformed("a log line"))
        })?,
        full: if read_bool(from)? {
            Some(read_bytes(from)?)
        } else {
            None
        },
        cost: Box::new(decode_cost(from)?),
    })
}

fn decode_cost(from: &mut impl Read) -> io::Result<TransactionCost> {
    let has_price = read_bool(from)?;
    let price = read_u64(from)?;
    Ok(TransactionCost {
        price: has_price.then_some(price),
        writable: read_bytes(from)?,
        gains: read_list(from, |from| {
            let [position] = read_array(from)?;
            Ok((position, read_u64(from)?))
        })?,
    })
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("malformed {what}"))
}

fn write_len(to: &mut impl Write, len: usize) -> io::Result<()> {
    let len = u32::try_from(len).map_err(|_| malformed("length: over 32 bits"))?;
    to.write_all(&len.to_le_bytes())
}

fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    write_len(to, bytes.len())?;
    to.write_all(bytes)
}

fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut array = [0; N];
    from.read_exact(&mut array)?;
    Ok(array)
}

fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    Ok(u64::from_le_bytes(read_array(from)?))
}

fn read_bool(from: &mut impl Read) -> io::Result<bool> {
    match read_array(from)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(malformed("flag")),
    }
}

fn read_bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let len = u32::from_le_bytes(read_array(from)?);
    let mut bytes = Vec::with_capacity((len as usize).min(64 * RESERVED_MAX));
    let read = from.by_ref().take(len.into()).read_to_end(&mut bytes)?;
    if read as u64 == u64::from(len) {
        Ok(bytes)
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

fn read_list<R: Read, T>(
    from: &mut R,
    mut read: impl FnMut(&mut R) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    let len = u32::from_le_bytes(read_array(from)?);
    let mut list = Vec::with_capacity((len as usize).min(RESERVED_MAX));
    for _ in 0..len {
        list.push(read(from)?);
    }
    Ok(list)
}
