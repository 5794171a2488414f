//! The one writer of the store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde_json::Value;
use sys::error::Result;

use crate::cells::{Cells, Event, Row, TAIL};
use crate::live::files_of;
use crate::schema::{Schema, bind, failed};

/// The cells of the edges of a machine, by the name that the store has for them.
pub fn cells_of(edges: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(edges) else {
        return Vec::new();
    };
    let dirs = entries.flatten().map(|entry| entry.path());
    let files = dirs.flat_map(|dir| files_of(&dir));
    let named = files.filter_map(|path| {
        let name = path.strip_prefix(edges).ok()?.to_str()?.to_string();
        Some((name, path))
    });
    named.collect()
}

/// Position of the first event of these cells that is not in the store.
pub fn drained(connection: &Connection, cells: &str) -> Result<u64> {
    let sql = "SELECT position FROM drained WHERE cells = ?1";
    let read = || {
        let mut statement = connection.prepare_cached(sql)?;
        statement
            .query_row([cells], |row| row.get::<_, i64>(0))
            .optional()
    };
    Ok(read().map_err(failed)?.unwrap_or(0) as u64)
}

/// Whether a row is in the store.
pub fn is_settled(connection: &Connection, cells: &str, row: &Row) -> Result<bool> {
    let sql = "SELECT generation FROM settled WHERE cells = ?1 AND slot = ?2";
    let read = || {
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row((cells, row.slot as i64), |row| row.get::<_, i64>(0));
        found.optional()
    };
    let found = read().map_err(failed)?;
    Ok(found.is_some_and(|generation| generation as u64 >= row.generation))
}

struct Found {
    rows: Vec<Row>,
    events: Vec<Event>,
    head: u64,
}

/// Adds what edges have counted to the store.
pub struct Recorder {
    connection: Connection,
    schema: Schema,
    edges: PathBuf,
    cells: HashMap<String, Cells>,
}

impl Recorder {
    /// `edges`: the folder of the folders of edges.
    pub fn open(path: &Path, edges: &Path, schema: Schema) -> Result<Recorder> {
        Ok(Recorder {
            connection: schema.open(path, true)?,
            schema,
            edges: edges.to_path_buf(),
            cells: HashMap::new(),
        })
    }

    /// Adds closed rows and events, each once: what is added and that it was are one transaction.
    /// Returns how many.
    pub fn record(&mut self) -> Result<usize> {
        for (name, path) in cells_of(&self.edges) {
            if !self.cells.contains_key(&name)
                && let Some(cells) = Cells::map(&path)?
            {
                self.cells.insert(name, cells);
            }
        }
        let names: Vec<String> = self.cells.keys().cloned().collect();
        names.iter().map(|name| self.record_cells(name)).sum()
    }

    fn record_cells(&mut self, name: &str) -> Result<usize> {
        let Some(cells) = self.cells.get(name) else {
            return Ok(0);
        };
        let (head, events) = cells.events(drained(&self.connection, name)?);
        let rows = cells.rows(&[String::new()], true);
        let found = Found { rows, events, head };
        if found.rows.is_empty() && found.events.is_empty() {
            return Ok(0);
        }
        add(&mut self.connection, &self.schema, name, &found)?;
        for row in &found.rows {
            cells.free(row.slot, row.generation);
        }
        cells.set_number(TAIL, head as f64);
        Ok(found.rows.len() + found.events.len())
    }

    /// Runs statements with the same parameters in one transaction; returns the bytes of the store
    /// that are in use.
    pub fn run(&mut self, statements: &[String], parameters: &[Value]) -> Result<f64> {
        let transaction = self.connection.transaction().map_err(failed)?;
        for sql in statements {
            let run = || {
                let mut statement = transaction.prepare_cached(sql)?;
                bind(&mut statement, parameters)?;
                statement.raw_execute()
            };
            run().map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        let sql = "SELECT (p.page_count - f.freelist_count) * s.page_size FROM
            pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s";
        let bytes = self
            .connection
            .query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(bytes.map_err(failed)? as f64)
    }
}

/// What all scopes have counted together: a row for each kind, minute and name.
#[derive(Default)]
struct Sums(HashMap<(usize, i64, String), Row>);

fn add_counts(sums: &mut Vec<(i64, i64)>, counts: &[(i64, i64)]) {
    for (key, count) in counts {
        match sums.iter_mut().find(|(known, _)| known == key) {
            Some((_, sum)) => *sum += count,
            None => sums.push((*key, *count)),
        }
    }
}

impl Sums {
    fn add(&mut self, row: &Row) {
        let name = row.key.splitn(4, '\0').nth(3).unwrap_or_default();
        let key = (row.kind, row.minute, name.to_string());
        let Some(sum) = self.0.get_mut(&key) else {
            let key_text = format!("\0\0\0{name}");
            let sum = Row {
                key: key_text,
                ..row.clone()
            };
            self.0.insert(key, sum);
            return;
        };
        for (figure, more) in sum.figures.iter_mut().zip(row.figures) {
            *figure += more;
        }
        add_counts(&mut sum.latencies, &row.latencies);
        add_counts(&mut sum.codes, &row.codes);
    }

    /// By the first figure: a store that takes some names of a minute takes the most used.
    fn most_first(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.0.into_values().collect();
        rows.sort_by(|one, other| other.figures[0].total_cmp(&one.figures[0]));
        rows
    }
}

fn add(connection: &mut Connection, schema: &Schema, name: &str, found: &Found) -> Result<()> {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = begun.map_err(failed)?;
    let mut sums = Sums::default();
    for row in &found.rows {
        if !row.is_counted() || is_settled(&transaction, name, row)? {
            continue;
        }
        schema.add_row(&transaction, row)?;
        if schema.is_summed(row.kind) {
            sums.add(row);
        }
        let sql = "INSERT INTO settled VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET generation = excluded.generation";
        let mark = || {
            let mut statement = transaction.prepare_cached(sql)?;
            statement.execute((name, row.slot as i64, row.generation as i64))
        };
        mark().map_err(failed)?;
    }
    for sum in sums.most_first() {
        schema.add_sum(&transaction, &sum)?;
    }
    let from = drained(&transaction, name)?;
    for event in found.events.iter().filter(|event| event.position >= from) {
        schema.add_event(&transaction, name, event)?;
    }
    let sql = "INSERT INTO drained VALUES (?1, ?2)
        ON CONFLICT DO UPDATE SET position = max(position, excluded.position)";
    transaction
        .execute(sql, (name, found.head as i64))
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}
