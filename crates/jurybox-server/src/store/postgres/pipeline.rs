//! Sending statements to PostgreSQL, several in one round trip.

use super::{ANSWER, LOAD, Postgres, Session};
use crate::Error;
use crate::pg_connection::{PgFailure, in_order};
use crate::store::sql;
use crate::store::value::{SqlValue, SqlWrite};
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use tokio_postgres::binary_copy::{BinaryCopyOutRow, BinaryCopyOutStream};
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use tokio_postgres::{Client, Row, Statement};

/// A parameter of a statement: one value, or an array of them.
#[derive(Debug)]
pub(super) enum StatementParam {
    One(SqlValue),
    Ints(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl StatementParam {
    fn kind(&self) -> Type {
        match self {
            StatementParam::One(SqlValue::Int(_)) => Type::INT8,
            StatementParam::One(SqlValue::Real(_)) => Type::FLOAT8,
            StatementParam::One(SqlValue::Text(_)) => Type::TEXT,
            StatementParam::One(SqlValue::Bytes(_)) => Type::BYTEA,
            StatementParam::Ints(_) => Type::INT8_ARRAY,
            StatementParam::Reals(_) => Type::FLOAT8_ARRAY,
            StatementParam::Texts(_) => Type::TEXT_ARRAY,
            StatementParam::Bytes(_) => Type::BYTEA_ARRAY,
        }
    }

    fn column(first: SqlValue) -> Self {
        match first {
            SqlValue::Int(x) => StatementParam::Ints(vec![x]),
            SqlValue::Real(x) => StatementParam::Reals(vec![x]),
            SqlValue::Text(x) => StatementParam::Texts(vec![x]),
            SqlValue::Bytes(x) => StatementParam::Bytes(vec![x]),
        }
    }

    /// Appends a value to an array of its type. Panics on another type, which no statement has.
    fn push(&mut self, value: SqlValue) {
        match (self, value) {
            (StatementParam::Ints(all), SqlValue::Int(x)) => all.push(x),
            (StatementParam::Reals(all), SqlValue::Real(x)) => all.push(x),
            (StatementParam::Texts(all), SqlValue::Text(x)) => all.push(x),
            (StatementParam::Bytes(all), SqlValue::Bytes(x)) => all.push(x),
            _ => unreachable!("a value of another kind"),
        }
    }
}

impl ToSql for StatementParam {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            StatementParam::One(SqlValue::Int(x)) => x.to_sql(kind, out),
            StatementParam::One(SqlValue::Real(x)) => x.to_sql(kind, out),
            StatementParam::One(SqlValue::Text(x)) => x.to_sql(kind, out),
            StatementParam::One(SqlValue::Bytes(x)) => x.to_sql(kind, out),
            StatementParam::Ints(all) => all.to_sql(kind, out),
            StatementParam::Reals(all) => all.to_sql(kind, out),
            StatementParam::Texts(all) => all.to_sql(kind, out),
            StatementParam::Bytes(all) => all.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Statements are prepared with the types of their parameters.
        true
    }

    to_sql_checked!();
}

/// A statement in PostgreSQL's syntax, with its parameters.
#[derive(Debug)]
pub(super) struct BoundStatement {
    pub(super) sql: String,
    pub(super) cells: Vec<StatementParam>,
}

impl BoundStatement {
    pub(super) fn new(sql: &str, values: Vec<SqlValue>) -> Self {
        BoundStatement {
            sql: sql.replace('?', "$").replace("instr(", "strpos("),
            cells: values.into_iter().map(StatementParam::One).collect(),
        }
    }

    /// A statement with two parameters: the queue, and an array of keys.
    pub(super) fn with_keys(sql: &str, queue: i64, keys: StatementParam) -> Self {
        BoundStatement { sql: sql.into(), cells: vec![StatementParam::One(SqlValue::Int(Some(queue))), keys] }
    }
}

/// Combines consecutive inserts by the same statement into one statement. Log entries come first,
/// then claims, then all others in their order.
pub(super) fn gathered(ops: Vec<SqlWrite>) -> Vec<BoundStatement> {
    // Moving log entries and claims to the front does no harm, and makes them consecutive.
    let (apart, ops): (Vec<SqlWrite>, Vec<SqlWrite>) =
        ops.into_iter().partition(|op| op.sql == sql::INSERT_LOG || op.sql == sql::INSERT_CLAIM);
    let (log, claims): (Vec<SqlWrite>, Vec<SqlWrite>) =
        apart.into_iter().partition(|op| op.sql == sql::INSERT_LOG);
    let mut all: Vec<BoundStatement> = Vec::new();
    let mut last: Option<&'static str> = None;
    // One statement must not write the same payload twice.
    let mut touched: HashSet<Option<i64>> = HashSet::new();
    for SqlWrite { sql, values } in log.into_iter().chain(claims).chain(ops) {
        let item = match values.get(1) {
            Some(SqlValue::Int(n)) if sql == sql::UPSERT_PAYLOAD => *n,
            _ => None,
        };
        if !sql.starts_with("INSERT INTO ") {
            all.push(BoundStatement::new(sql, values));
            last = None;
            continue;
        }
        if last != Some(sql) {
            touched.clear();
        }
        match all.last_mut() {
            Some(said) if last == Some(sql) && (item.is_none() || touched.insert(item)) => {
                for (cells, value) in said.cells.iter_mut().zip(values).skip(1) {
                    cells.push(value);
                }
            }
            _ => {
                all.push(many_of(sql, values));
                touched.clear();
                touched.insert(item);
                last = Some(sql);
            }
        }
    }
    all
}

/// Turns an insert of single values into an insert of arrays, one for each column. The first value,
/// the queue's number, is common to all rows.
fn many_of(sql: &str, values: Vec<SqlValue>) -> BoundStatement {
    let (head, rest) = sql.split_once(" VALUES (").unwrap_or((sql, ""));
    let tail = rest.split_once(')').map_or("", |(_, tail)| tail);
    let arrays = values.iter().enumerate().skip(1).map(|(at, value)| {
        let kind = match value {
            SqlValue::Int(_) => "bigint",
            SqlValue::Real(_) => "float8",
            SqlValue::Text(_) => "text",
            SqlValue::Bytes(_) => "bytea",
        };
        format!("${}::{kind}[]", at + 1)
    });
    let arrays = arrays.collect::<Vec<_>>().join(", ");
    let mut values = values.into_iter();
    let queue = values.next().map(StatementParam::One);
    BoundStatement {
        sql: format!("{head} SELECT $1::bigint, * FROM unnest({arrays}){tail}"),
        cells: queue.into_iter().chain(values.map(StatementParam::column)).collect(),
    }
}

impl Postgres {
    /// Prepares a statement unless this connection has prepared it before.
    fn prepare(&mut self, said: &BoundStatement) -> Result<(), Error> {
        let known = |session: &mut Session| session.prepared.contains_key(&said.sql);
        if self.session().is_ok_and(known) {
            return Ok(());
        }
        // If statements that were sent earlier have failed, their error is reported.
        self.wait_for_what_is_under_way()?;
        let (kinds, limit) = (said.cells.iter().map(StatementParam::kind).collect::<Vec<Type>>(), self.limit);
        let prepared = self.session().and_then(|session| {
            let prepared =
                session.line.wait(limit, async |client| client.prepare_typed(&said.sql, &kinds).await)?;
            session.prepared.insert(said.sql.clone(), prepared);
            Ok(())
        });
        prepared.map_err(|failure| self.failed(&failure))
    }

    fn wait_for_what_is_under_way(&mut self) -> Result<(), Error> {
        let Some(under_way) = self.ahead_of.under_way.take() else { return Ok(()) };
        let limit = self.limit;
        let done =
            self.session().and_then(|session| session.line.wait(limit, async |_| arrival(under_way).await));
        done.map(drop).map_err(|failure| self.failed(&failure))
    }

    /// Sends all statements in one round trip, in order, and returns the rows of each.
    pub(super) fn ask_all(&mut self, all: &[BoundStatement]) -> Result<Vec<Vec<Row>>, Error> {
        self.ask_after(None, all)
    }

    /// Sends a command without parameters, the held-back writes, and all statements, in this order
    /// and in one round trip. Returns the rows of each statement. Preparing takes more round trips.
    pub(super) fn ask_after(
        &mut self,
        word: Option<&str>,
        all: &[BoundStatement],
    ) -> Result<Vec<Vec<Row>>, Error> {
        self.borrow()?;
        let asked = self.ask_over_session(word, all);
        self.give_back();
        asked
    }

    fn ask_over_session(
        &mut self,
        word: Option<&str>,
        all: &[BoundStatement],
    ) -> Result<Vec<Vec<Row>>, Error> {
        self.prepare_held_back()?;
        for said in all {
            self.prepare(said)?;
        }
        let held_back = std::mem::take(&mut self.ahead_of.held_back);
        let (under_way, limit) = (self.ahead_of.under_way.take(), self.limit);
        let asked = self.session().and_then(|Session { line, prepared }| {
            line.wait(limit, async |client| {
                let mut futures: Vec<_> = under_way.into_iter().map(arrival).collect();
                if let Some(word) = word {
                    futures.push(say_word(client, word));
                }
                futures.extend(held_back.iter().chain(all).map(|said| query(client, prepared, said)));
                in_order(futures).await
            })
        });
        let mut rows = asked.map_err(|failure| self.failed(&failure))?;
        Ok(rows.split_off(rows.len() - all.len()))
    }

    /// Prepares the held-back statements.
    pub(super) fn prepare_held_back(&mut self) -> Result<(), Error> {
        let held_back = std::mem::take(&mut self.ahead_of.held_back);
        let prepared = held_back.iter().try_for_each(|said| self.prepare(said));
        self.ahead_of.held_back = held_back;
        prepared
    }

    /// Sends the held-back statements without waiting for answers. The database works on them while
    /// this thread continues.
    pub(super) fn send_held_back(&mut self) -> Result<(), Error> {
        self.prepare_held_back()?;
        let held_back = std::mem::take(&mut self.ahead_of.held_back);
        let before = self.ahead_of.under_way.take();
        let session = self.session().map_err(|failure| failure.to_error())?;
        let prepared: HashMap<String, Statement> =
            held_back.iter().map(|said| (said.sql.clone(), session.prepared[&said.sql].clone())).collect();
        let under_way = session.line.start(|client| async move {
            let mut futures: Vec<_> = before.into_iter().map(arrival).collect();
            futures.extend(held_back.iter().map(|said| query(&client, &prepared, said)));
            in_order(futures).await.map(|_| Vec::new())
        });
        self.ahead_of.under_way = under_way;
        Ok(())
    }

    /// Sends the held-back statements, which must be prepared, and commits, in one round trip.
    pub(super) fn commit_with_held_back(&mut self) -> Result<(), PgFailure> {
        let held_back = std::mem::take(&mut self.ahead_of.held_back);
        let under_way = self.ahead_of.under_way.take();
        let Session { line, prepared } = self.session()?;
        let ended = line.wait(ANSWER, async |client| {
            let mut futures: Vec<_> = under_way.into_iter().map(arrival).collect();
            futures.extend(held_back.iter().map(|said| query(client, prepared, said)));
            futures.push(say_word(client, "COMMIT"));
            in_order(futures).await
        });
        ended.map(|_| ())
    }

    /// Runs one statement and returns its rows.
    pub(super) fn ask(&mut self, sql: &str, values: Vec<SqlValue>) -> Result<Vec<Row>, Error> {
        let said = BoundStatement::new(sql, values);
        Ok(self.ask_all(&[said])?.pop().unwrap_or_default())
    }

    /// Runs commands without parameters.
    pub(super) fn say(&mut self, words: &str) -> Result<(), Error> {
        self.borrow()?;
        let limit = self.limit;
        let said = self
            .session()
            .and_then(|session| session.line.wait(limit, async |client| client.batch_execute(words).await));
        let said = said.map_err(|failure| self.failed(&failure));
        self.give_back();
        said
    }

    /// Reads all rows of a query by COPY, and passes them to `each` until that fails.
    pub(super) fn copy_out(
        &mut self,
        query: &str,
        kinds: &[Type],
        each: &mut dyn FnMut(&BinaryCopyOutRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let copy = format!("COPY ({query}) TO STDOUT (FORMAT binary)");
        let mut refused = None;
        self.borrow()?;
        let read = self.session().and_then(|session| {
            session.line.wait(LOAD, async |client| {
                let stream = client.copy_out(&copy).await?;
                let mut rows = pin!(BinaryCopyOutStream::new(stream, kinds));
                while let Some(row) = next(&mut rows).await {
                    let row = row?;
                    // The remaining rows are read even after an error, so that the connection can
                    // be reused.
                    if refused.is_none() {
                        refused = each(&row).err();
                    }
                }
                Ok(())
            })
        });
        let read = read.map_err(|failure| self.failed(&failure));
        self.give_back();
        read?;
        refused.map_or(Ok(()), Err)
    }
}

type PendingRows<'a> =
    std::pin::Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

/// Waits for statements that were sent earlier. If their task ended without a result, this waits
/// for ever, and the caller's time limit applies.
fn arrival<'a>(
    under_way: tokio::task::JoinHandle<Result<Vec<Row>, tokio_postgres::Error>>,
) -> PendingRows<'a> {
    Box::pin(async move {
        match under_way.await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    })
}

/// Sends a command without parameters.
fn say_word<'a>(client: &'a Client, word: &'a str) -> PendingRows<'a> {
    Box::pin(async move { client.batch_execute(word).await.map(|()| Vec::new()) })
}

/// Sends a prepared statement.
fn query<'a>(
    client: &'a Client,
    prepared: &'a HashMap<String, Statement>,
    said: &'a BoundStatement,
) -> PendingRows<'a> {
    let statement = &prepared[&said.sql];
    Box::pin(async move {
        let cells: Vec<&(dyn ToSql + Sync)> =
            said.cells.iter().map(|cells| cells as &(dyn ToSql + Sync)).collect();
        client.query(statement, &cells).await
    })
}

async fn next(
    rows: &mut std::pin::Pin<&mut BinaryCopyOutStream>,
) -> Option<Result<BinaryCopyOutRow, tokio_postgres::Error>> {
    use futures_core::Stream;
    std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::value::values;

    #[test]
    fn rows_of_one_table_go_together_and_none_is_touched_twice_by_one_statement() {
        let payload =
            |n: u64| SqlWrite { sql: sql::UPSERT_PAYLOAD, values: values![1_u64, n, "{}", None::<i64>] };
        let log = |seq: u64| SqlWrite {
            sql: sql::INSERT_LOG,
            values: values![1_u64, seq, 0_i64, "a", "items", "{}", 0_i64],
        };
        let move_head = SqlWrite { sql: sql::MOVE_HEAD, values: values![1_u64, 2_u64, 0_i64] };
        let said = gathered(vec![log(1), payload(1), payload(2), log(2), payload(1), move_head]);
        let sizes: Vec<(usize, String)> = said
            .iter()
            .map(|said| {
                let rows = match &said.cells[1] {
                    StatementParam::Ints(all) => all.len(),
                    _ => 0,
                };
                (rows, said.sql.split(['(', ' ']).nth(2).unwrap().to_string())
            })
            .collect();
        let expected = [(2, "log"), (2, "payloads"), (1, "payloads"), (0, "SET")];
        assert_eq!(sizes, expected.map(|(rows, table)| (rows, table.to_string())));
        assert!(said[1].sql.contains(
            "SELECT $1::bigint, * FROM unnest($2::bigint[], $3::text[], $4::bigint[]) ON CONFLICT"
        ));
    }
}
