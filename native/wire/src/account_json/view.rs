//! How a client wants the data of an account: its encoding, and a part of it.

/// How `data` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Base64,
    Base58,
    Base64Zstd,
    JsonParsed,
}

impl Encoding {
    /// All four, in the order of their codes at the native boundary.
    pub const ALL: [Encoding; 4] = [
        Encoding::Base64,
        Encoding::Base58,
        Encoding::Base64Zstd,
        Encoding::JsonParsed,
    ];

    /// The encoding of a code: base64 0, base58 1, base64+zstd 2, jsonParsed 3.
    pub fn of_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// The encoding of a client's name for it.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name().as_bytes() == name)
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Base64 => "base64",
            Encoding::Base58 => "base58",
            Encoding::Base64Zstd => "base64+zstd",
            Encoding::JsonParsed => "jsonParsed",
        }
    }
}

/// The part of `data` that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSlice {
    pub offset: u64,
    pub length: u64,
}

/// Encoding and slice of `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub encoding: Encoding,
    pub slice: Option<DataSlice>,
}

impl View {
    /// The bytes that this view encodes. jsonParsed ignores the slice, even where it falls back to
    /// base64. An offset past the end leaves no bytes.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let Some(slice) = self.slice.filter(|_| self.encoding != Encoding::JsonParsed) else {
            return data;
        };
        let offset = usize::try_from(slice.offset)
            .unwrap_or(usize::MAX)
            .min(data.len());
        let (_, rest) = data.split_at(offset);
        rest.get(..usize::try_from(slice.length).unwrap_or(usize::MAX))
            .unwrap_or(rest)
    }
}
