//! Finds a secret in every form in which a server may repeat its input.

use super::escapes::{is_mark, read};

/// One bit for each pair of bytes.
const PAIR_WORDS: usize = 256 * 256 / 64;

fn both_cases(byte: u8) -> [u8; 2] {
    [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]
}

/// Texts that are searched for, in small and capital letters.
pub struct Forms {
    /// Found as they are only: what looks like an escape in them is none.
    exact: Vec<Vec<u8>>,
    /// Found whichever of their characters are escaped. Backslashes are left out: any number of
    /// them may be before each character.
    escapable: Vec<Vec<u8>>,
    /// The pairs of bytes with which any of the texts may begin.
    pairs: Vec<u64>,
}

impl Forms {
    /// Texts of a single byte, or of none, are not searched for.
    #[must_use]
    pub fn new(exact: &[&[u8]], escapable: &[&[u8]]) -> Self {
        let fold = |text: &&[u8]| text.to_ascii_lowercase();
        let without_backslashes = |text: &&[u8]| {
            fold(text)
                .into_iter()
                .filter(|&byte| byte != b'\\')
                .collect()
        };
        let is_searched = |text: &Vec<u8>| text.len() > 1;
        let mut forms = Forms {
            exact: exact.iter().map(fold).filter(is_searched).collect(),
            escapable: escapable
                .iter()
                .map(without_backslashes)
                .filter(is_searched)
                .collect(),
            pairs: vec![0; PAIR_WORDS],
        };
        if !forms.escapable.is_empty() {
            for mark in (0..=u8::MAX).filter(|&byte| is_mark(byte)) {
                (0..=u8::MAX).for_each(|next| set(&mut forms.pairs, mark, next));
            }
        }
        for text in forms.exact.iter().chain(&forms.escapable) {
            let (Some(&first), Some(&second)) = (text.first(), text.get(1)) else {
                continue;
            };
            for start in both_cases(first) {
                for next in both_cases(second) {
                    set(&mut forms.pairs, start, next);
                }
                for next in 0..=u8::MAX {
                    if is_mark(next) {
                        set(&mut forms.pairs, start, next);
                    }
                }
            }
        }
        forms
    }

    /// Where texts begin that begin in a range, with their ends; they do not overlap. The work is
    /// linear in the range: each form is tried at each position once, and an attempt ends at the
    /// first character that differs.
    #[must_use]
    pub fn find(&self, text: &[u8], from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let last = to.min(text.len().saturating_sub(1));
        let mut at = from;
        while at < last {
            let next = text.get(at..).and_then(|rest| rest.first_chunk::<2>());
            let is_start = next.is_some_and(|pair| self.may_begin(*pair));
            match is_start.then(|| self.match_at(text, at)).flatten() {
                Some(end) => {
                    found.push((at, end));
                    at = end;
                }
                None => at += 1,
            }
        }
        found
    }

    fn may_begin(&self, [first, second]: [u8; 2]) -> bool {
        let pair = usize::from(first) << 8 | usize::from(second);
        self.pairs
            .get(pair / 64)
            .is_some_and(|word| word >> (pair % 64) & 1 == 1)
    }

    fn match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let is_exact = |form: &&Vec<u8>| {
            rest.get(..form.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(form))
        };
        if let Some(form) = self.exact.iter().find(is_exact) {
            return Some(at + form.len());
        }
        // What begins within a run of backslashes begins with the run.
        let is_in_run = at > 0 && text.get(at - 1..=at) == Some(b"\\\\");
        if is_in_run {
            return None;
        }
        // Read once for all forms: few begin so.
        let first = read(text, at)?;
        self.escapable.iter().find_map(|form| {
            let (&wanted, others) = form.split_first()?;
            let mut end = first.end_of(wanted)?;
            for &wanted in others {
                end = read(text, end)?.end_of(wanted)?;
            }
            Some(end)
        })
    }
}

fn set(pairs: &mut [u64], first: u8, second: u8) {
    let pair = usize::from(first) << 8 | usize::from(second);
    if let Some(word) = pairs.get_mut(pair / 64) {
        *word |= 1 << (pair % 64);
    }
}
