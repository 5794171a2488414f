//! The answer on a bidirectional stream: version, flags, status, length and words.

const VERSION: u8 = 1;
const FLAGS: u8 = 0;
/// Longer ones are an error to the client.
const BODY_BYTES_MAX: usize = 1024;

/// The beginning of some words, cut between two characters.
pub fn cut(words: &str, bytes_max: usize) -> &[u8] {
    let mut end = words.len().min(bytes_max);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    &words.as_bytes()[..end]
}

/// Words beyond the bound are cut between two characters.
pub fn encode(status: u16, words: &str) -> Vec<u8> {
    let body = cut(words, BODY_BYTES_MAX);
    let mut frame = Vec::with_capacity(6 + body.len());
    frame.extend([VERSION, FLAGS]);
    frame.extend(status.to_be_bytes());
    frame.extend((body.len() as u16).to_be_bytes());
    frame.extend(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_bytes_of_the_published_example() {
        let frame = encode(429, "rate limit exceeded");
        assert_eq!(frame[..6], [0x01, 0x00, 0x01, 0xad, 0x00, 0x13]);
        assert_eq!(&frame[6..], b"rate limit exceeded");
        assert_eq!(encode(200, ""), [1, 0, 0, 200, 0, 0]);
    }

    #[test]
    fn long_words_end_with_a_whole_character() {
        let frame = encode(400, &"ä€".repeat(1024));
        let body = &frame[6..];
        assert!(body.len() <= 1024 && body.len() > 1020);
        assert!(std::str::from_utf8(body).is_ok());
        assert_eq!(
            usize::from(u16::from_be_bytes([frame[4], frame[5]])),
            body.len()
        );
    }
}
