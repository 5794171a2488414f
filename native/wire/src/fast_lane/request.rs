//! Recognises a single point read in canonical form.

use super::cursor::Cursor;
use super::method::Method;
use crate::account_json::{DataSlice, Encoding, View};
use crate::reads::{Commitment, Wanted};
use primitives::Pubkey;
use primitives::encoding::decode_pubkey_bytes;

/// Larger integers are not exact in JavaScript, where the general path parses them.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Longer requests are not read here: as many addresses as one read takes have 6 KiB.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// A recognised request.
pub(super) struct Request<'a> {
    /// The raw JSON token of the id.
    pub id: &'a [u8],
    pub read: Read<'a>,
}

/// One point read with its parameters checked.
pub(super) enum Read<'a> {
    /// Of a block of this slot or later.
    LatestBlockhash(Commitment, u64),
    AccountInfo(Pubkey, Wanted),
    MultipleAccounts(Addresses<'a>, Wanted),
    /// Unless it was not written after a slot.
    TokenAccountBalance(Pubkey, Option<u64>),
    /// The same of a mint.
    TokenSupply(Pubkey, Option<u64>),
    TokenLargestAccounts(Pubkey),
}

impl Read<'_> {
    pub(super) fn method(&self) -> Method {
        match self {
            Read::LatestBlockhash(..) => Method::LatestBlockhash,
            Read::AccountInfo(..) => Method::AccountInfo,
            Read::MultipleAccounts(..) => Method::MultipleAccounts,
            Read::TokenAccountBalance(..) => Method::TokenAccountBalance,
            Read::TokenSupply(..) => Method::TokenSupply,
            Read::TokenLargestAccounts(_) => Method::TokenLargestAccounts,
        }
    }
}

/// An array of strings, not yet decoded. Base58 has no escapes and no control characters.
#[derive(Clone, Copy)]
pub(super) struct Addresses<'a> {
    /// The text from the opening bracket on.
    text: &'a [u8],
}

impl Addresses<'_> {
    /// Decodes into `keys` and returns the count; `None` if an address is invalid or there are too
    /// many.
    pub fn decode(&self, keys: &mut [Pubkey]) -> Option<usize> {
        let mut count = 0;
        let mut cursor = Cursor::new(self.text);
        let mut more = cursor.open(b'[', b']')?;
        while more {
            *keys.get_mut(count)? = decode_pubkey_bytes(cursor.quoted()?)?;
            count += 1;
            more = cursor.has_more(b']')?;
        }
        Some(count)
    }
}

/// Parses a whole body. `None` is not an error: the general path must parse it.
pub(super) fn recognise(body: &[u8]) -> Option<Request<'_>> {
    if body.len() > BODY_BYTES_MAX {
        return None;
    }
    let mut cursor = Cursor::new(body);
    let (mut jsonrpc, mut id, mut method, mut params) = (None, None, None, None);
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        match cursor.name()? {
            b"jsonrpc" if jsonrpc.is_none() => jsonrpc = Some(cursor.string()?),
            b"id" if id.is_none() => id = Some(read_id(&mut cursor)?),
            b"method" if method.is_none() => method = Some(cursor.string()?),
            b"params" if params.is_none() => params = Some(Params::read(&mut cursor)?),
            _ => return None,
        }
        more = cursor.has_more(b'}')?;
    }
    if !cursor.is_at_end() || jsonrpc? != b"2.0" {
        return None;
    }
    let read = params.unwrap_or_default().read_of(method?)?;
    Some(Request { id: id?, read })
}

fn read_id<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let first = cursor.peek()?;
    let start = cursor.rest();
    match first {
        b'"' => drop(cursor.string()?),
        b'n' => cursor.null()?,
        _ => drop(cursor.number()?),
    }
    start.get(..start.len() - cursor.rest().len())
}

#[derive(Default)]
enum First<'a> {
    #[default]
    Absent,
    Text(&'a [u8]),
    Texts(Addresses<'a>),
}

/// `params` of any point read: one or more addresses, and options.
#[derive(Default)]
struct Params<'a> {
    first: First<'a>,
    options: Options<'a>,
}

impl<'a> Params<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut params = Params::default();
        if !cursor.open(b'[', b']')? {
            return Some(params);
        }
        match cursor.peek()? {
            b'"' => params.first = First::Text(cursor.string()?),
            b'[' => params.first = First::Texts(read_addresses(cursor)?),
            _ => {
                params.options = Options::read(cursor)?;
                return (!cursor.has_more(b']')?).then_some(params);
            }
        }
        if cursor.has_more(b']')? {
            params.options = if cursor.peek()? == b'n' {
                cursor.null()?;
                Options::default()
            } else {
                Options::read(cursor)?
            };
            if cursor.has_more(b']')? {
                return None;
            }
        }
        Some(params)
    }

    fn read_of(self, method: &[u8]) -> Option<Read<'a>> {
        let Options {
            view,
            commitment,
            min_context_slot,
            changed_since,
        } = self.options;
        let changed_since = match changed_since {
            Some(number) => Some(integer_of(number)?),
            None => None,
        };
        let wanted = Wanted {
            view: view.unwrap_or(DEFAULT_VIEW),
            changed_since,
        };
        Some(match (method, self.first) {
            (b"getAccountInfo", First::Text(key)) => {
                Read::AccountInfo(decode_pubkey_bytes(key)?, wanted)
            }
            (b"getMultipleAccounts", First::Texts(addresses)) => {
                Read::MultipleAccounts(addresses, wanted)
            }
            // The other methods have no encoding. The ordinary path decides whether one is an
            // error.
            _ if view.is_some() => return None,
            (b"getLatestBlockhash", First::Absent) if changed_since.is_none() => {
                let min_slot = min_context_slot.map_or(Some(0), integer_of)?;
                Read::LatestBlockhash(commitment.unwrap_or(Commitment::Finalized), min_slot)
            }
            (b"getTokenAccountBalance", First::Text(key)) => {
                Read::TokenAccountBalance(decode_pubkey_bytes(key)?, changed_since)
            }
            (b"getTokenSupply", First::Text(key)) => {
                Read::TokenSupply(decode_pubkey_bytes(key)?, changed_since)
            }
            // The others have no changedSinceSlot either.
            _ if changed_since.is_some() => return None,
            (b"getTokenLargestAccounts", First::Text(key)) => {
                Read::TokenLargestAccounts(decode_pubkey_bytes(key)?)
            }
            _ => return None,
        })
    }
}

fn read_addresses<'a>(cursor: &mut Cursor<'a>) -> Option<Addresses<'a>> {
    let text = cursor.rest();
    let mut more = cursor.open(b'[', b']')?;
    while more {
        cursor.quoted()?;
        more = cursor.has_more(b']')?;
    }
    Some(Addresses { text })
}

/// The encoding of a request without one (contract: account-encodings).
const DEFAULT_VIEW: View = View {
    encoding: Encoding::Base64,
    slice: None,
};

/// The options object. `view` is set if `encoding` or `dataSlice` is present, even as `null`.
#[derive(Default)]
struct Options<'a> {
    view: Option<View>,
    /// Only some methods have one.
    commitment: Option<Commitment>,
    /// The number as written; only getLatestBlockhash looks at it (contract: min-context-slot).
    min_context_slot: Option<&'a [u8]>,
    /// The number as written.
    changed_since: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let (mut encoding, mut slice) = (None, None);
        let (mut commitment, mut min_context_slot, mut changed_since) = (None, None, None);
        let mut more = cursor.open(b'{', b'}')?;
        while more {
            let name = cursor.name()?;
            let is_null = cursor.peek()? == b'n';
            if is_null {
                cursor.null()?;
            }
            match name {
                b"commitment" if commitment.is_none() => {
                    commitment = Some(match is_null {
                        true => Commitment::Finalized,
                        false => Commitment::of_name(cursor.string()?),
                    });
                }
                b"minContextSlot" if min_context_slot.is_none() => {
                    min_context_slot = Some(match is_null {
                        true => None,
                        false => Some(cursor.number()?),
                    });
                }
                b"changedSinceSlot" if changed_since.is_none() => {
                    changed_since = Some(match is_null {
                        true => None,
                        false => Some(cursor.number()?),
                    });
                }
                b"encoding" if encoding.is_none() => {
                    encoding = Some(match is_null {
                        true => Encoding::Base64,
                        false => Encoding::of_name(cursor.string()?)?,
                    });
                }
                b"dataSlice" if slice.is_none() => {
                    slice = Some(if is_null {
                        None
                    } else {
                        Some(read_slice(cursor)?)
                    });
                }
                _ => return None,
            }
            more = cursor.has_more(b'}')?;
        }
        let view = (encoding.is_some() || slice.is_some()).then(|| View {
            encoding: encoding.unwrap_or(DEFAULT_VIEW.encoding),
            slice: slice.flatten(),
        });
        Some(Options {
            view,
            commitment,
            min_context_slot: min_context_slot.flatten(),
            changed_since: changed_since.flatten(),
        })
    }
}

fn read_slice(cursor: &mut Cursor<'_>) -> Option<DataSlice> {
    let (mut offset, mut length) = (None, None);
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        match cursor.name()? {
            b"offset" if offset.is_none() => offset = Some(read_integer(cursor)?),
            b"length" if length.is_none() => length = Some(read_integer(cursor)?),
            _ => return None,
        }
        more = cursor.has_more(b'}')?;
    }
    Some(DataSlice {
        offset: offset?,
        length: length?,
    })
}

/// A non-negative integer, digits only.
fn read_integer(cursor: &mut Cursor<'_>) -> Option<u64> {
    integer_of(cursor.number()?)
}

fn integer_of(number: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(number).ok()?;
    text.parse()
        .ok()
        .filter(|number| *number <= SAFE_INTEGER_MAX)
}
