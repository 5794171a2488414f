//! Tables and statements, which JavaScript declares.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Null;
use rusqlite::{Connection, OpenFlags, Statement};
use serde_json::Value;
use sys::error::{Error, Result};

use crate::cells::{Event, Row};
use crate::counts::{add_functions, to_text};

/// How long one process waits for the transaction of another.
const BUSY: Duration = Duration::from_secs(5);

pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    /// Columns of the primary key.
    pub key: String,
}

/// What is stored, and how a row of cells and an event are added.
pub struct Schema {
    pub tables: Vec<Table>,
    /// Of the store alone: triggers and indexes.
    pub more: Vec<String>,
    /// By the kind of a row: ?1 to ?4 are its key, ?5 the minute, ?6 on the figures, ?14 the
    /// counts by code, ?15 the latencies.
    pub rows: Vec<String>,
    /// The same of what all scopes have counted together, where ?1 to ?3 are empty; an empty
    /// statement: it is not added up.
    pub sums: Vec<String>,
    /// By the kind of an event: ?1 is its JSON, ?2 the cells it was in, ?3 its position there.
    pub events: Vec<String>,
}

/// The recorder's own: which slots and events are in the store.
const OWN: &str = "
    CREATE TABLE IF NOT EXISTS settled
        (cells TEXT, slot INTEGER, generation INTEGER, PRIMARY KEY (cells, slot)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS drained
        (cells TEXT PRIMARY KEY, position INTEGER) WITHOUT ROWID;";

/// Binds parameters that JavaScript gave.
pub fn bind(statement: &mut Statement<'_>, parameters: &[Value]) -> rusqlite::Result<()> {
    for (index, value) in parameters
        .iter()
        .take(statement.parameter_count())
        .enumerate()
    {
        match value {
            Value::String(text) => statement.raw_bind_parameter(index + 1, text)?,
            Value::Number(number) => {
                let whole = number
                    .as_i64()
                    .unwrap_or(number.as_f64().unwrap_or(0.0) as i64);
                statement.raw_bind_parameter(index + 1, whole)?;
            }
            _ => statement.raw_bind_parameter(index + 1, Null)?,
        }
    }
    Ok(())
}

pub fn failed(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => Error::ReadTimeout,
        _ => Error::Internal(format!("usage store: {error}")),
    }
}

/// Runs the statement of a row of cells.
fn run_of(connection: &Connection, sql: &str, row: &Row) -> Result<()> {
    let add = || {
        let mut statement = connection.prepare_cached(sql)?;
        let count = statement.parameter_count();
        let mut parts = row.key.splitn(4, '\0');
        for index in 1..=4 {
            statement.raw_bind_parameter(index, parts.next().unwrap_or_default())?;
        }
        statement.raw_bind_parameter(5, row.minute)?;
        for (at, figure) in row
            .figures
            .iter()
            .enumerate()
            .filter(|(at, _)| at + 6 <= count)
        {
            statement.raw_bind_parameter(at + 6, *figure as i64)?;
        }
        if count >= 14 {
            statement.raw_bind_parameter(14, to_text(row.codes.iter().copied()))?;
        }
        if count >= 15 {
            statement.raw_bind_parameter(15, to_text(row.latencies.iter().copied()))?;
        }
        statement.raw_execute()
    };
    add().map(|_| ()).map_err(failed)
}

impl Schema {
    /// Opens the store in a file; one that nothing keeps where there is no file and none may be
    /// made.
    pub fn open(&self, path: &Path, may_create: bool) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match (may_create, path.exists()) {
            (false, false) => Connection::open_in_memory(),
            (false, true) => Connection::open_with_flags(path, flags),
            (true, _) => Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_CREATE),
        };
        let connection = opened.map_err(failed)?;
        self.prepare(&connection).map_err(failed)?;
        Ok(connection)
    }

    fn prepare(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY)?;
        // NORMAL: a power cut loses what the kernel had not written, as it does of the cells.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
        )?;
        add_functions(connection)?;
        connection.execute_batch(OWN)?;
        for table in &self.tables {
            connection.execute_batch(&table.create("TABLE IF NOT EXISTS"))?;
            table.add_columns(connection)?;
        }
        self.more
            .iter()
            .try_for_each(|sql| connection.execute_batch(sql))
    }

    /// Makes a table beside each of the store's for what is not in the store yet, under the same
    /// name, which statements then mean.
    pub fn add_live(&self, connection: &Connection) -> Result<()> {
        self.tables.iter().try_for_each(|table| {
            let sql = table.create("TEMP TABLE");
            connection.execute_batch(&sql).map_err(failed)
        })
    }

    /// Adds what a slot has counted.
    pub fn add_row(&self, connection: &Connection, row: &Row) -> Result<()> {
        match self.rows.get(row.kind) {
            Some(sql) => run_of(connection, sql, row),
            None => Ok(()),
        }
    }

    /// Whether rows of a kind are added up over all scopes.
    pub fn is_summed(&self, kind: usize) -> bool {
        self.sums.get(kind).is_some_and(|sql| !sql.is_empty())
    }

    /// Adds what all scopes have counted together.
    pub fn add_sum(&self, connection: &Connection, sum: &Row) -> Result<()> {
        match self.sums.get(sum.kind) {
            Some(sql) if !sql.is_empty() => run_of(connection, sql, sum),
            _ => Ok(()),
        }
    }

    /// Adds an event.
    pub fn add_event(&self, connection: &Connection, cells: &str, event: &Event) -> Result<()> {
        let Some(sql) = self.events.get(event.kind) else {
            return Ok(());
        };
        let add = || {
            let mut statement = connection.prepare_cached(sql)?;
            statement.execute((&event.text, cells, event.position as i64))
        };
        add().map(|_| ()).map_err(failed)
    }
}

impl Table {
    fn create(&self, what: &str) -> String {
        let Table { name, columns, key } = self;
        let columns = columns.join(", ");
        format!("CREATE {what} {name} ({columns}, PRIMARY KEY ({key})) WITHOUT ROWID")
    }

    /// Adds the columns that a file of an earlier build lacks.
    fn add_columns(&self, connection: &Connection) -> rusqlite::Result<()> {
        for column in &self.columns {
            let name = column.split(' ').next().unwrap_or_default();
            let found: i64 = connection.query_row(
                "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
                (&self.name, name),
                |row| row.get(0),
            )?;
            if found == 0 {
                let sql = format!("ALTER TABLE {} ADD COLUMN {column}", self.name);
                connection.execute_batch(&sql)?;
            }
        }
        Ok(())
    }
}
