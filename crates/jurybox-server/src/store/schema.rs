//! The tables of the database, and the migrations from earlier versions.
//!
//! Times are whole microseconds since 1970. Scores are little-endian doubles, NaN if missing. Both
//! databases have the same tables and columns; types and table options differ.

/// The statements of each version, in order. A database records how many migrations it has run;
/// released migrations never change.
pub(crate) const MIGRATIONS: &[&str] = &[
    FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, NINTH, TENTH, ELEVENTH, TWELFTH, THIRTEENTH,
    FOURTEENTH, FIFTEENTH, SIXTEENTH,
];

/// The version of the tables that this program uses.
pub(crate) const VERSION: i64 = 16;
/// The version since which deleted queues are removed in small steps, and an SQLite file shrinks.
pub(crate) const CLEARS_AWAY: i64 = 15;
const _: () = assert!(MIGRATIONS.len() == VERSION as usize);

/// The version of the rules by which logs are folded and models fitted: the last migration that
/// discards checkpoints. Each claim records it. The model of a claim with an earlier version may
/// differ from the one that this program computes. A change of the models that follow from a log
/// needs a migration and a new value here. Otherwise the test `by_the_rules_that_claims_name`
/// fails.
pub(crate) const RULES: u64 = 15;

/// The first tables. Later migrations add `api_keys`, `webhooks`, `notes` and `deleted_queues`.
const FIRST: &str = "
CREATE TABLE queues(
  id {key}, name {text} NOT NULL UNIQUE, head {integer} NOT NULL, at {integer} NOT NULL){strict};
CREATE TABLE log(
  queue {integer} NOT NULL, seq {integer} NOT NULL, at {integer} NOT NULL, actor {text} NOT NULL, kind {text} NOT NULL,
  body {text} NOT NULL, batch {integer} NOT NULL, PRIMARY KEY(queue, seq)){rowless};
CREATE TABLE items(
  queue {integer} NOT NULL, n {integer} NOT NULL, key {text}, seq {integer} NOT NULL, arrived {integer} NOT NULL,
  scores {bytes}, tags {text} NOT NULL, audit {real}, due {integer}, closed_seq {integer}, PRIMARY KEY(queue, n)){rowless};
CREATE UNIQUE INDEX items_by_key ON items(queue, key);
CREATE TABLE rescored(
  queue {integer} NOT NULL, n {integer} NOT NULL, seq {integer} NOT NULL, scores {bytes} NOT NULL,
  PRIMARY KEY(queue, n, seq)){rowless};
CREATE INDEX rescored_by_seq ON rescored(queue, seq);
CREATE TABLE payloads(
  queue {integer} NOT NULL, n {integer} NOT NULL, body {text} NOT NULL, expires {integer}, PRIMARY KEY(queue, n)){rowless};
CREATE TABLE claims(
  queue {integer} NOT NULL, seq {integer} NOT NULL, i {integer} NOT NULL, item {integer} NOT NULL, slot {integer} NOT NULL,
  reviewer {text} NOT NULL, until {integer} NOT NULL, model {integer} NOT NULL, value {real} NOT NULL,
  probability {real} NOT NULL, explored {integer} NOT NULL, PRIMARY KEY(queue, seq, i)){rowless};
CREATE TABLE leases(
  queue {integer} NOT NULL, item {integer} NOT NULL, slot {integer} NOT NULL, claim {integer} NOT NULL,
  reviewer {text} NOT NULL, until {integer} NOT NULL, probability {real} NOT NULL, explored {integer} NOT NULL,
  PRIMARY KEY(queue, item, slot)){rowless};
CREATE INDEX leases_by_until ON leases(queue, until);
CREATE TABLE skips(
  queue {integer} NOT NULL, item {integer} NOT NULL, seq {integer} NOT NULL, reviewer {text} NOT NULL, reason {text} NOT NULL,
  PRIMARY KEY(queue, item, seq)){rowless};
CREATE TABLE verdicts(
  queue {integer} NOT NULL, seq {integer} NOT NULL, i {integer} NOT NULL, id {text} NOT NULL, item {integer} NOT NULL,
  slot {integer} NOT NULL, reviewer {text} NOT NULL, source {text} NOT NULL, label {text}, reward {real} NOT NULL,
  observed_at {integer}, claim {integer}, supersedes_seq {integer}, supersedes_i {integer}, superseded_by {integer},
  decides {real}, probability {real} NOT NULL, explored {integer} NOT NULL, stands_from {integer} NOT NULL,
  PRIMARY KEY(queue, seq, i)){rowless};
CREATE UNIQUE INDEX verdicts_by_id ON verdicts(queue, id);
CREATE UNIQUE INDEX verdicts_that_stand ON verdicts(queue, item, slot) WHERE superseded_by IS NULL;
CREATE TABLE checkpoints(
  queue {integer} NOT NULL, seq {integer} NOT NULL, epoch {integer} NOT NULL, state {bytes} NOT NULL, sha256 {bytes} NOT NULL,
  PRIMARY KEY(queue, seq)){rowless};
CREATE TABLE idempotency(
  queue {integer} NOT NULL, key {text} NOT NULL, hash {bytes} NOT NULL, answer {text} NOT NULL, at {integer} NOT NULL,
  PRIMARY KEY(queue, key)){rowless};
";

/// Indexes for open items, for answers by age, and for payloads by expiry.
const SECOND: &str = "
CREATE INDEX items_open ON items(queue, n) WHERE closed_seq IS NULL;
CREATE INDEX idempotency_by_age ON idempotency(at);
CREATE INDEX payloads_by_end ON payloads(expires) WHERE expires IS NOT NULL;
";

/// The table of API keys.
const THIRD: &str = "
CREATE TABLE api_keys(
  name {text} NOT NULL PRIMARY KEY, roles {text} NOT NULL, queues {text} NOT NULL, made {integer} NOT NULL,
  hash {bytes} NOT NULL UNIQUE){rowless};
";

/// Queue numbers are never reused. An index finds a queue's settings without reading its log.
const FOURTH: &str = "
{numbers}
CREATE INDEX log_of_settings ON log(queue, kind, seq) WHERE kind IN ('create', 'configure', 'erase');
";

/// The table of webhooks with their delivery state.
const FIFTH: &str = "
CREATE TABLE webhooks(
  queue {integer} NOT NULL, name {text} NOT NULL, url {text} NOT NULL, secret {bytes} NOT NULL, seen {integer} NOT NULL,
  made {integer} NOT NULL, holder {integer} NOT NULL, until {integer} NOT NULL, failures {integer} NOT NULL,
  failing_since {integer}, next_try {integer} NOT NULL, why {text}, off {integer} NOT NULL, PRIMARY KEY(queue, name)){rowless};
";

/// The last entry of the page that a webhook is sending, so that a retry sends the same page.
const SIXTH: &str = "
ALTER TABLE webhooks ADD COLUMN page {integer};
";

/// The table of reviewers' notes, apart from verdicts because few verdicts have one.
const SEVENTH: &str = "
CREATE TABLE notes(
  queue {integer} NOT NULL, n {integer} NOT NULL, seq {integer} NOT NULL, i {integer} NOT NULL, body {text} NOT NULL,
  PRIMARY KEY(queue, n, seq, i)){rowless};
";

/// The first entry from which every entry must have a seal. It is 1, except in queues that programs
/// before this version wrote to.
const EIGHTH: &str = "
ALTER TABLE queues ADD COLUMN sealed {integer} NOT NULL DEFAULT 1;
UPDATE queues SET sealed = COALESCE(
  (SELECT l.seq FROM log l WHERE l.queue = queues.id AND l.body LIKE '%,\"seal\":\"%' ORDER BY l.seq LIMIT 1), head + 1);
";

/// An index for finding whether a reviewer judged an item before in a verdict that was taken back
/// or revised.
const NINTH: &str = "
CREATE INDEX verdicts_before ON verdicts(queue, item, reviewer, superseded_by) WHERE superseded_by IS NOT NULL;
";

/// Discards checkpoints, which now count how often scores were replaced.
const TENTH: &str = "
DELETE FROM checkpoints;
";

/// Discards checkpoints, which now keep statistics for detecting changes.
const ELEVENTH: &str = "
DELETE FROM checkpoints;
";

/// Discards checkpoints, which now keep confirmed changes, and learn who the reviewer was.
const TWELFTH: &str = "
DELETE FROM checkpoints;
";

/// Discards checkpoints: claims now name the rules of their models, and the rules had changed since
/// the last migration.
const THIRTEENTH: &str = "
DELETE FROM checkpoints;
";

/// Discards checkpoints, which now record whether scores vary. The models changed for columns that
/// never vary, equal verdicts, rewards of many values, and binary rewards with many equal
/// evaluators.
const FOURTEENTH: &str = "
DELETE FROM checkpoints;
";

/// Discards checkpoints: models now read missing scores of an evaluator with a single score value
/// as 0. Adds an index for entries that set the clock back, and the list of deleted queues whose
/// rows remain.
const FIFTEENTH: &str = "
DELETE FROM checkpoints;
CREATE TABLE IF NOT EXISTS deleted_queues(queue {integer} NOT NULL PRIMARY KEY){rowless};
DROP INDEX log_of_settings;
CREATE INDEX log_of_settings ON log(queue, kind, seq) WHERE kind IN ('create', 'configure', 'erase', 'clock');
";

/// Adds reviewer, expiry and last use to keys, and an index of large payloads, which earlier
/// programs accepted without a limit.
const SIXTEENTH: &str = "
ALTER TABLE api_keys ADD COLUMN reviewer {text};
ALTER TABLE api_keys ADD COLUMN expires {integer};
ALTER TABLE api_keys ADD COLUMN used {integer};
CREATE INDEX payloads_large ON payloads(queue, octet_length(body)) WHERE octet_length(body) > 65536;
";

/// Makes queue numbers unique for ever in SQLite. PostgreSQL's identity columns need no change.
const NUMBERS: &str = "
CREATE TABLE numbered(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, head INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
INSERT INTO numbered SELECT id, name, head, at FROM queues;
DROP TABLE queues;
ALTER TABLE numbered RENAME TO queues;
";

/// The statements of a migration for SQLite.
pub(crate) fn for_sqlite(migration: &str) -> String {
    filled(migration, "INTEGER", "TEXT", "BLOB", "REAL")
        .replace("{key}", "INTEGER PRIMARY KEY")
        .replace("{rowless}", " STRICT, WITHOUT ROWID")
        .replace("{strict}", " STRICT")
        .replace("{numbers}", NUMBERS)
}

/// The statements of a migration for PostgreSQL.
pub(crate) fn for_postgres(migration: &str) -> String {
    filled(migration, "BIGINT", "TEXT", "BYTEA", "DOUBLE PRECISION")
        .replace("{key}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        .replace("{rowless}", "")
        .replace("{strict}", "")
        .replace("{numbers}", "")
}

fn filled(migration: &str, integer: &str, text: &str, bytes: &str, real: &str) -> String {
    migration
        .replace("{integer}", integer)
        .replace("{text}", text)
        .replace("{bytes}", bytes)
        .replace("{real}", real)
}
