//! Queries over the store and what is not in it yet.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};
use serde_json::Value;
use sys::error::Result;

use crate::cells::{Cells, Event, Row};
use crate::recorder::{cells_of, drained, is_settled};
use crate::schema::{Schema, bind, failed};

/// Steps of a query between two looks at the clock.
const STEPS: i32 = 10_000;

/// Bounds of one query.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub time: Duration,
    pub rows: usize,
    /// Whether what is not in the store yet is read, too.
    pub is_live: bool,
}

/// Reads what edges have counted up to this moment.
pub struct Reader {
    connection: Connection,
    schema: Schema,
    path: PathBuf,
    edges: PathBuf,
    /// Whether there was a store when it was opened.
    is_stored: bool,
}

struct Live {
    name: String,
    rows: Vec<Row>,
    events: Vec<Event>,
}

impl Reader {
    pub fn open(path: &Path, edges: &Path, schema: Schema) -> Result<Reader> {
        // First: a store that is made meanwhile is opened by the next query.
        let is_stored = path.exists();
        let connection = schema.open(path, false)?;
        schema.add_live(&connection)?;
        Ok(Reader {
            connection,
            schema,
            path: path.to_path_buf(),
            edges: edges.to_path_buf(),
            is_stored,
        })
    }

    /// The rows of a query as a JSON array of objects. Of what is not in the store yet it sees the
    /// rows of some accesses, or without one, those of all.
    pub fn query(
        &mut self,
        sql: &str,
        parameters: &[Value],
        accesses: &[String],
        bounds: Bounds,
    ) -> Result<String> {
        if !self.is_stored && self.path.exists() {
            self.connection = self.schema.open(&self.path, false)?;
            self.schema.add_live(&self.connection)?;
            self.is_stored = true;
        }
        // First: what is settled after this is seen in the store, by its mark.
        let live = if bounds.is_live {
            self.read_live(accesses)?
        } else {
            Vec::new()
        };
        let ends = Instant::now() + bounds.time;
        let stop = move || Instant::now() >= ends;
        self.connection
            .progress_handler(STEPS, Some(stop))
            .map_err(failed)?;
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        let found = self.query_now(&live, sql, parameters, bounds.rows);
        let _ = self.connection.progress_handler(0, None::<fn() -> bool>);
        let ended = self.connection.execute_batch("ROLLBACK");
        let rows = found?;
        ended.map_err(failed)?;
        Ok(rows)
    }

    fn read_live(&self, accesses: &[String]) -> Result<Vec<Live>> {
        let mut prefixes: Vec<String> = accesses.iter().map(|id| format!("{id}\0")).collect();
        if prefixes.is_empty() {
            prefixes.push(String::new());
        }
        let mut live = Vec::new();
        for (name, path) in cells_of(&self.edges) {
            if let Some(cells) = Cells::map(&path)? {
                let rows = cells.rows(&prefixes, false);
                let (_, events) = cells.events(drained(&self.connection, &name)?);
                live.push(Live { name, rows, events });
            }
        }
        Ok(live)
    }

    /// Within a transaction that sees one state of the store.
    fn query_now(
        &self,
        live: &[Live],
        sql: &str,
        parameters: &[Value],
        rows_max: usize,
    ) -> Result<String> {
        for Live { name, rows, events } in live {
            for row in rows {
                if row.is_counted() && !is_settled(&self.connection, name, row)? {
                    self.schema.add_row(&self.connection, row)?;
                }
            }
            let from = drained(&self.connection, name)?;
            for event in events.iter().filter(|event| event.position >= from) {
                self.schema.add_event(&self.connection, name, event)?;
            }
        }
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        bind(&mut statement, parameters).map_err(failed)?;
        read(&mut statement, rows_max).map_err(failed)
    }
}

/// The rows as JSON, with their columns in the order of the query.
fn read(statement: &mut Statement<'_>, rows_max: usize) -> rusqlite::Result<String> {
    let names: Vec<Value> = statement.column_names().map(Value::from).collect();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() >= rows_max {
            break;
        }
        let mut fields = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
                _ => Value::Null,
            };
            fields.push(format!("{name}:{value}"));
        }
        found.push(format!("{{{}}}", fields.join(",")));
    }
    Ok(format!("[{}]", found.join(",")))
}
