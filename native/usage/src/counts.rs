//! Counts by a number, as a JSON object: SQL functions that add them up.

use std::collections::BTreeMap;
use std::fmt::Write;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Result};

type Counts = BTreeMap<i64, i64>;

pub fn to_text(counts: impl IntoIterator<Item = (i64, i64)>) -> String {
    let mut text = String::from("{");
    for (key, count) in counts {
        let comma = if text.len() > 1 { "," } else { "" };
        // A String takes everything.
        let _ = write!(text, "{comma}\"{key}\":{count}");
    }
    text.push('}');
    text
}

/// Adds the counts of a text that `to_text` wrote; what is none adds nothing.
fn add(counts: &mut Counts, text: &str) {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    for pair in inner.split(',') {
        let Some((key, count)) = pair.split_once(':') else {
            continue;
        };
        if let (Ok(key), Ok(count)) = (key.trim_matches('"').parse(), count.parse::<i64>()) {
            let sum: &mut i64 = counts.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

struct Sum;

impl Aggregate<Counts, String> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Counts> {
        Ok(Counts::new())
    }

    fn step(&self, context: &mut Context<'_>, counts: &mut Counts) -> Result<()> {
        let text: String = context.get(0)?;
        add(counts, &text);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, counts: Option<Counts>) -> Result<String> {
        Ok(to_text(counts.unwrap_or_default()))
    }
}

/// `add_counts(one, other)`, and the aggregate `sum_counts(counts)`.
pub fn add_functions(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("add_counts", 2, flags, |context| {
        let mut counts = Counts::new();
        for index in 0..2 {
            let text: String = context.get(index)?;
            add(&mut counts, &text);
        }
        Ok(to_text(counts))
    })?;
    connection.create_aggregate_function("sum_counts", 1, flags, Sum)
}
