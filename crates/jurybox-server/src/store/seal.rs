//! Seals of log entries: hashes of an entry and of the rows it wrote, by which later changes are
//! detected. A hash is the first eight bytes of a SHA-256.
//!
//! The checker computes the hashes again with code of its own. Cells are hashed in the order in
//! which they are written, without the queue number. Each cell begins with a character for its
//! type: `-` for null, `i` and `r` before eight little-endian bytes, `t` and `b` before length and
//! bytes. The length is eight little-endian bytes. Minus zero counts as zero, because SQLite does
//! not store it.
//!
//! Rows are hashed [64 at a time](TOGETHER), table by table, so that erasing an item makes few
//! other rows unverifiable. Payloads and notes have a hash each, because they are deleted singly.

use super::sql;
use super::value::{SqlValue, SqlWrite, values};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The most rows in one hash.
const TOGETHER: usize = 64;
/// The inserts whose rows are sealed. Their values change only by erasing, or by an undo, which
/// extends the id of the verdict it takes back. Leases change, so they are not sealed.
const SEALED: [&str; 4] = [sql::INSERT_ITEM, sql::INSERT_RESCORED, sql::INSERT_CLAIM, sql::INSERT_VERDICT];

/// The body of an entry with its seal appended. The seal covers number, time, actor, kind, body,
/// and the hashes of the entry's rows, which the body lists. With `shows` it also covers payloads
/// and notes.
pub(super) fn sealed(mut body: String, entry: &[SqlValue], rows: &[SqlWrite], shows: bool) -> String {
    body.pop();
    let mut hashes = Vec::new();
    for table in SEALED {
        let rows: Vec<&SqlWrite> = rows.iter().filter(|op| op.sql == table).collect();
        hashes.extend(rows.chunks(TOGETHER).map(|rows| hash(rows.iter().flat_map(|op| &op.values[1..]))));
    }
    if !hashes.is_empty() {
        let _ = write!(body, ",\"rows\":[\"{}\"]", hashes.join("\",\""));
    }
    if shows {
        let _ = write!(body, ",\"shown\":[{}]", shown(rows));
    }
    let words = values![&body];
    let seal = hash(entry.iter().chain(&words));
    let _ = write!(body, ",\"seal\":\"{seal}\"}}");
    body
}

/// Hashes of payloads by item, or of notes by position in the entry. Each run of consecutive
/// numbers is written as its first number and its hashes in one string.
fn shown(rows: &[SqlWrite]) -> String {
    let (mut text, mut next) = (String::new(), None);
    for op in rows {
        let number = match op.sql {
            sql::UPSERT_PAYLOAD => op.values.get(1),
            sql::INSERT_NOTE => op.values.get(3),
            _ => None,
        };
        let Some(SqlValue::Int(Some(number))) = number else { continue };
        if next != Some(*number) {
            text += if next.is_some() { "\"]," } else { "" };
            let _ = write!(text, "[{number},\"");
        }
        text += &hash(op.values[1..].iter());
        next = Some(number + 1);
    }
    text + if next.is_some() { "\"]" } else { "" }
}

/// The first eight bytes of a SHA-256, in hexadecimal.
fn hash<'a>(cells: impl Iterator<Item = &'a SqlValue>) -> String {
    let mut hash = Sha256::new();
    for cell in cells {
        match cell {
            SqlValue::Int(Some(x)) => {
                hash.update(b"i");
                hash.update(x.to_le_bytes());
            }
            SqlValue::Real(Some(x)) => {
                hash.update(b"r");
                hash.update((x + 0.0).to_le_bytes());
            }
            SqlValue::Text(Some(x)) => long(&mut hash, b"t", x.as_bytes()),
            SqlValue::Bytes(Some(x)) => long(&mut hash, b"b", x),
            _ => hash.update(b"-"),
        }
    }
    hash.finalize()[..8].iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn long(hash: &mut Sha256, kind: &[u8], bytes: &[u8]) {
    hash.update(kind);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}
