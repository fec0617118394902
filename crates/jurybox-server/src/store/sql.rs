//! The SQL statements of the stores, in SQLite's syntax. The PostgreSQL store replaces `?1` by `$1`
//! and `instr` by `strpos`.

pub(crate) const HEAD: &str = "SELECT head, at FROM queues WHERE id = ?1";
pub(crate) const QUEUES: &str = "SELECT id, name FROM queues ORDER BY id";
pub(crate) const HEADS: &str = "SELECT id, head, at FROM queues";
pub(crate) const MOVE_HEAD: &str = "UPDATE queues SET head = ?2, at = ?3 WHERE id = ?1";
pub(crate) const EXPIRE: &str = "DELETE FROM leases WHERE queue = ?1 AND until <= ?2";

pub(crate) const INSERT_LOG: &str =
    "INSERT INTO log(queue, seq, at, actor, kind, body, batch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(crate) const INSERT_ITEM: &str = "INSERT INTO items(queue, n, key, seq, arrived, scores, tags, audit, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
pub(crate) const INSERT_RESCORED: &str =
    "INSERT INTO rescored(queue, n, seq, scores) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const UPSERT_PAYLOAD: &str = "INSERT INTO payloads(queue, n, body, expires) VALUES (?1, ?2, ?3, ?4) ON CONFLICT(queue, n) DO UPDATE SET body = excluded.body, expires = excluded.expires";
pub(crate) const INSERT_CLAIM: &str = "INSERT INTO claims(queue, seq, i, item, slot, reviewer, until, model, value, probability, explored) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
pub(crate) const INSERT_LEASE: &str = "INSERT INTO leases(queue, item, slot, claim, reviewer, until, probability, explored) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
pub(crate) const EXTEND_LEASE: &str =
    "UPDATE leases SET until = ?4 WHERE queue = ?1 AND item = ?2 AND slot = ?3";
pub(crate) const DELETE_LEASE: &str = "DELETE FROM leases WHERE queue = ?1 AND item = ?2 AND slot = ?3";
pub(crate) const DELETE_LEASES: &str = "DELETE FROM leases WHERE queue = ?1 AND item >= ?2 AND item <= ?3";
pub(crate) const INSERT_SKIP: &str =
    "INSERT INTO skips(queue, item, seq, reviewer, reason) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const INSERT_VERDICT: &str = "INSERT INTO verdicts(queue, seq, i, id, item, slot, reviewer, source, label, reward, observed_at, claim, supersedes_seq, supersedes_i, decides, probability, explored, stands_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
pub(crate) const INSERT_NOTE: &str = "INSERT INTO notes(queue, n, seq, i, body) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const SUPERSEDE: &str =
    "UPDATE verdicts SET superseded_by = ?4 WHERE queue = ?1 AND seq = ?2 AND i = ?3";
pub(crate) const CLOSE: &str =
    "UPDATE items SET closed_seq = ?4 WHERE queue = ?1 AND n >= ?2 AND n <= ?3 AND closed_seq IS NULL";
pub(crate) const REOPEN: &str = "UPDATE items SET closed_seq = NULL WHERE queue = ?1 AND n = ?2";
/// Erases an item. Its row keeps number, entry, arrival, random check, closing entry, and whether
/// it was golden. Its verdicts lose their labels and ids.
pub(crate) const ERASE: [&str; 7] = [
    "UPDATE items SET key = NULL, scores = NULL, tags = CASE WHEN instr(tags, '{\"golden\":') = 1 OR instr(tags, ',\"golden\":') > 0 THEN '{\"golden\":\"\"}' ELSE '{}' END, due = NULL, closed_seq = COALESCE(closed_seq, ?3) WHERE queue = ?1 AND n = ?2",
    "UPDATE verdicts SET label = NULL, id = 'erased//' || seq || '/' || i WHERE queue = ?1 AND item = ?2 AND ?3 >= 0",
    // Removes the reason and, behind it, the seal.
    "UPDATE log SET body = substr(body, 1, instr(body, ',\"skip\":') - 1) || ',\"skip\":\"\"}' WHERE queue = ?1 AND seq IN (SELECT seq FROM skips WHERE queue = ?1 AND item = ?2) AND instr(body, ',\"skip\":') > 0 AND ?3 >= 0",
    "UPDATE skips SET reason = '' WHERE queue = ?1 AND item = ?2 AND ?3 >= 0",
    "DELETE FROM rescored WHERE queue = ?1 AND n = ?2 AND ?3 >= 0",
    "DELETE FROM payloads WHERE queue = ?1 AND n = ?2 AND ?3 >= 0",
    "DELETE FROM notes WHERE queue = ?1 AND n = ?2 AND ?3 >= 0",
];
/// Empties stored answers that name an erased item. The rows remain, so that a repeated request is
/// still recognised.
pub(crate) const ERASE_ANSWERS: &str = "UPDATE idempotency SET answer = '' WHERE queue = ?1 AND (instr(answer, ?2) > 0 OR instr(answer, ?3) > 0 OR instr(answer, ?4) > 0)";
/// Marks a verdict as taken back, and changes its id, so that the old id can be used again.
pub(crate) const TAKE_BACK: &str = "UPDATE verdicts SET superseded_by = ?4, id = id || ' (taken back by ' || ?4 || ')' WHERE queue = ?1 AND seq = ?2 AND i = ?3";
/// Deletes checkpoints up to an entry, because they contain scores, also of erased items.
pub(crate) const FORGET_CHECKPOINTS: &str = "DELETE FROM checkpoints WHERE queue = ?1 AND seq <= ?2";
/// Stores an answer. An earlier answer of the key is replaced: a request that had no result at
/// first may have one when it is repeated.
pub(crate) const REMEMBER: &str = "INSERT INTO idempotency(queue, key, hash, answer, at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT(queue, key) DO UPDATE SET answer = excluded.answer, at = excluded.at";
pub(crate) const REMEMBERED: &str = "SELECT key, hash, answer FROM idempotency WHERE queue = ?1 AND key = ?2";
pub(crate) const BATCH_OF: &str = "SELECT batch FROM log WHERE queue = ?1 AND seq = ?2";
pub(crate) const KIND_OF: &str = "SELECT kind FROM log WHERE queue = ?1 AND seq = ?2";

/// The pick of an item by an entry. The entry is a claim, or an undo, which gives the item back to
/// the reviewer.
pub(crate) const CLAIMED: &str = "SELECT probability, explored FROM claims WHERE queue = ?1 AND seq = ?2 AND item = ?3 AND reviewer = ?4 UNION ALL SELECT 1.0, 0 FROM log WHERE queue = ?1 AND seq = ?2 AND kind = 'undo' AND instr(body, ?5) > 0 AND instr(body, '\"n\":' || ?3 || ',') > 0";

/// The text that an `undo` entry of this reviewer has in its body.
pub(crate) fn taken_back_by(reviewer: &str) -> String {
    format!("\"reviewer\":{},\"verdict\":", serde_json::Value::from(reviewer))
}

pub(crate) const LOG: &str =
    "SELECT seq, at, actor, kind, body FROM log WHERE queue = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq";
pub(crate) const BODIES: &str = "SELECT seq, body FROM log WHERE queue = ?1 AND kind IN ('create', 'configure', 'erase', 'clock') AND kind IN (?2, ?3) AND seq <= ?4 ORDER BY seq";
/// The query `BODIES` for SQLite, which would scan the log unless told to use the index.
pub(crate) const INDEXED_BODIES: &str = "SELECT seq, body FROM log INDEXED BY log_of_settings WHERE queue = ?1 AND kind IN ('create', 'configure', 'erase', 'clock') AND kind IN (?2, ?3) AND seq <= ?4 ORDER BY seq";
/// Items in a range of numbers, with their original scores.
pub(crate) const ADDED: &str = "SELECT n, arrived, seq, scores, tags, audit, due, closed_seq FROM items WHERE queue = ?1 AND n >= ?2 AND n <= ?3";
pub(crate) const RESCORED: &str =
    "SELECT seq, n, scores FROM rescored WHERE queue = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq, n";
pub(crate) const PICKED: &str = "SELECT seq, item, slot, value, probability, explored FROM claims WHERE queue = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq, i";
/// The items with the lowest numbers that an entry rescored.
pub(crate) const FIRST_RESCORED: &str =
    "SELECT n FROM rescored WHERE queue = ?1 AND seq = ?2 ORDER BY n LIMIT ?3";
pub(crate) const FIRST_PICKED: &str =
    "SELECT item FROM claims WHERE queue = ?1 AND seq = ?2 AND i < ?3 ORDER BY i";
pub(crate) const FIRST_GIVEN: &str = "SELECT item, id, reviewer, source, reward, decides FROM verdicts WHERE queue = ?1 AND seq = ?2 AND i < ?3 ORDER BY i";
/// The entry that last rescored an item, up to the entry `{at}`.
const LATE: &str = "(SELECT r.seq FROM rescored r WHERE r.queue = i.queue AND r.n = i.n AND r.seq <= {at} ORDER BY r.seq DESC LIMIT 1)";
const ITEM: &str = "i.n, i.arrived, COALESCE(late.seq, i.seq), COALESCE(late.scores, i.scores), i.tags, i.audit, i.due, i.closed_seq";
const VERDICT: &str = "v.seq, v.i, v.id, v.item, v.slot, v.reviewer, v.source, v.label, v.reward, v.observed_at, v.claim, v.supersedes_seq, v.supersedes_i, v.superseded_by, v.decides, v.probability, v.explored, v.stands_from";

/// Whether the verdict revises another, or its reviewer had judged the item before in a verdict
/// that was taken back or revised. Such a verdict is not independent: after the earlier one, the
/// reviewer could see what the model predicted.
const SEEN: &str = "CAST(CASE WHEN v.supersedes_seq IS NOT NULL OR EXISTS (SELECT 1 FROM verdicts b WHERE b.queue = v.queue AND b.item = v.item AND b.reviewer = v.reviewer AND b.superseded_by < v.seq) THEN 1 ELSE 0 END AS BIGINT)";

/// Turns the join of rescored rows into a lateral join, for PostgreSQL, which would otherwise read
/// all rescored rows at once.
pub(crate) fn lateral(sql: &str) -> String {
    let (joined, found) = (
        "LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = (SELECT r.seq FROM",
        "LEFT JOIN LATERAL (SELECT r.seq, r.scores FROM",
    );
    sql.replace(joined, found).replace("LIMIT 1)", "LIMIT 1) late ON TRUE")
}

/// An item with the scores that it had at an entry.
pub(crate) fn item_at() -> String {
    let late = LATE.replace("{at}", "?3");
    format!(
        "SELECT {ITEM} FROM items i LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND i.n = ?2"
    )
}

/// All open items with their present scores.
pub(crate) fn open_items() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM} FROM items i LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND i.closed_seq IS NULL ORDER BY i.n"
    )
}

/// All open items for PostgreSQL. The queue is part of the text, because COPY takes no parameters.
pub(crate) fn open_items_at_once(queue: i64) -> String {
    format!(
        "SELECT {ITEM} FROM items i LEFT JOIN (SELECT DISTINCT ON (n) n, seq, scores FROM rescored WHERE queue = {queue} ORDER BY n, seq DESC) late ON late.n = i.n WHERE i.queue = {queue} AND i.closed_seq IS NULL ORDER BY i.n"
    )
}

/// The verdicts of a range of entries, each with the scores that its item had at that entry.
pub(crate) fn given() -> String {
    let late = LATE.replace("{at}", "v.seq");
    format!(
        "SELECT {VERDICT}, {ITEM} FROM verdicts v JOIN items i ON i.queue = v.queue AND i.n = v.item LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE v.queue = ?1 AND v.seq > ?2 AND v.seq <= ?3 ORDER BY v.seq, v.i"
    )
}

/// Items in a range of numbers, with present scores, ids and payloads. Erased items are left out.
pub(crate) fn kept() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM}, i.key, p.body FROM items i LEFT JOIN payloads p ON p.queue = i.queue AND p.n = i.n LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND i.n > ?2 AND i.n <= ?3 AND i.key IS NOT NULL ORDER BY i.n"
    )
}

/// The valid verdicts on items in a range of numbers. Also the times of verdict and claim, the
/// model of the claim, the note, and `SEEN`.
pub(crate) fn told_of() -> String {
    format!(
        "SELECT {VERDICT}, given.at, c.model, claimed.at, note.body, {SEEN} FROM verdicts v JOIN log given ON given.queue = v.queue AND given.seq = v.seq LEFT JOIN notes note ON note.queue = v.queue AND note.n = v.item AND note.seq = v.seq AND note.i = v.i LEFT JOIN claims c ON c.queue = v.queue AND c.seq = v.claim AND c.item = v.item LEFT JOIN log claimed ON claimed.queue = v.queue AND claimed.seq = v.claim WHERE v.queue = ?1 AND v.item > ?2 AND v.item <= ?3 AND v.superseded_by IS NULL ORDER BY v.item, v.seq, v.i"
    )
}

/// All distinct sets of tags of items that were not erased, but for the empty set.
pub(crate) const TAG_SETS: &str =
    "SELECT DISTINCT tags FROM items WHERE queue = ?1 AND key IS NOT NULL AND tags <> '{}'";

/// Items that have a valid verdict, once per verdict, and random checks without one; by number,
/// then in log order.
pub(crate) fn reviewed() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM}, v.source, v.reward, v.decides, v.claim FROM items i LEFT JOIN verdicts v ON v.queue = i.queue AND v.item = i.n AND v.superseded_by IS NULL LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND (i.audit IS NOT NULL OR v.item IS NOT NULL) ORDER BY i.n, v.seq, v.i"
    )
}

/// The last valid verdicts, newest first, with their items and the times of verdict and claim. The
/// unary plus keeps SQLite from using an index in another order.
pub(crate) fn recent_verdicts() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM}, l.at, c.at, v.reviewer, v.source, v.label, v.reward, v.decides, v.explored, {SEEN} FROM verdicts v CROSS JOIN items i CROSS JOIN log l LEFT JOIN log c ON c.queue = v.queue AND c.seq = v.claim LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE v.queue = ?1 AND +v.superseded_by IS NULL AND i.queue = v.queue AND i.n = v.item AND l.queue = v.queue AND l.seq = v.seq ORDER BY v.seq DESC, v.i DESC LIMIT ?2"
    )
}
pub(crate) const SKIPPED: &str = "SELECT l.at, s.reviewer, s.reason FROM skips s JOIN log l ON l.queue = s.queue AND l.seq = s.seq WHERE s.queue = ?1 ORDER BY s.seq DESC LIMIT ?2";
/// The skips of items in a range of numbers, by item, then in log order.
pub(crate) const SKIPPED_OF: &str = "SELECT s.item, l.at, s.reviewer, s.reason FROM skips s JOIN log l ON l.queue = s.queue AND l.seq = s.seq WHERE s.queue = ?1 AND s.item > ?2 AND s.item <= ?3 ORDER BY s.item, s.seq";
pub(crate) const LAST_ARRIVALS: &str = "SELECT arrived FROM items WHERE queue = ?1 ORDER BY n DESC LIMIT ?2";
/// A reviewer's own valid verdicts after an entry, newest first; those on erased items are left
/// out.
pub(crate) const OWN_VERDICTS: &str = "SELECT v.id, i.key, l.at, v.stands_from, v.label, v.reward, n.body FROM verdicts v CROSS JOIN items i CROSS JOIN log l LEFT JOIN notes n ON n.queue = v.queue AND n.n = v.item AND n.seq = v.seq AND n.i = v.i WHERE v.queue = ?1 AND v.seq > ?2 AND v.reviewer = ?3 AND v.source = 'reviewer' AND +v.superseded_by IS NULL AND i.queue = v.queue AND i.n = v.item AND i.key IS NOT NULL AND l.queue = v.queue AND l.seq = v.seq ORDER BY v.seq DESC, v.i DESC LIMIT ?4";

/// The number of a reviewer's own valid verdicts after an entry, also on erased items.
pub(crate) const COUNT_OWN: &str = "SELECT count(*) FROM verdicts v WHERE v.queue = ?1 AND v.seq > ?2 AND v.reviewer = ?3 AND v.source = 'reviewer' AND +v.superseded_by IS NULL";
/// The time of the last entry whose time is at most `?2`.
pub(crate) const AT_BEFORE: &str =
    "SELECT at FROM log WHERE queue = ?1 AND at <= ?2 ORDER BY seq DESC LIMIT 1";
/// The time of an entry.
pub(crate) const AT_OF: &str = "SELECT at FROM log WHERE queue = ?1 AND seq = ?2";

/// The entries that added, rescored, claimed, skipped, judged or closed an item, or superseded a
/// verdict on it; newest first. No index has all claims or all verdicts by item, so those since the
/// item's arrival are scanned.
pub(crate) const ABOUT: &str = "SELECT seq FROM items WHERE queue = ?1 AND n = ?2 UNION SELECT closed_seq FROM items WHERE queue = ?1 AND n = ?2 AND closed_seq IS NOT NULL UNION SELECT seq FROM rescored WHERE queue = ?1 AND n = ?2 UNION SELECT seq FROM skips WHERE queue = ?1 AND item = ?2 UNION SELECT seq FROM claims WHERE queue = ?1 AND item = ?2 AND seq > (SELECT seq FROM items WHERE queue = ?1 AND n = ?2) UNION SELECT seq FROM verdicts WHERE queue = ?1 AND item = ?2 AND seq > (SELECT seq FROM items WHERE queue = ?1 AND n = ?2) UNION SELECT superseded_by FROM verdicts WHERE queue = ?1 AND item = ?2 AND superseded_by IS NOT NULL AND seq > (SELECT seq FROM items WHERE queue = ?1 AND n = ?2) ORDER BY 1 DESC LIMIT ?3";

/// Items whose number is a multiple of a step, with present scores; erased items are left out.
pub(crate) fn every() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM} FROM items i LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND i.n % ?2 = 0 AND i.key IS NOT NULL ORDER BY i.n"
    )
}

/// Items in a range of numbers, with present scores; erased items are left out.
pub(crate) fn scored() -> String {
    let late = LATE.replace("r.seq <= {at}", "TRUE");
    format!(
        "SELECT {ITEM} FROM items i LEFT JOIN rescored late ON late.queue = i.queue AND late.n = i.n AND late.seq = {late} WHERE i.queue = ?1 AND i.n > ?2 AND i.n <= ?3 AND i.key IS NOT NULL ORDER BY i.n"
    )
}

/// Counts of the items that each entry added: all, not erased, golden, golden and not erased. The
/// pattern matches only the name of a tag, because JSON puts a backslash before a quotation mark
/// within a string.
pub(crate) const ARRIVALS: &str = "SELECT seq, COUNT(*), COUNT(key), COUNT(CASE WHEN instr(tags, '{\"golden\":') = 1 OR instr(tags, ',\"golden\":') > 0 THEN 1 END), COUNT(CASE WHEN key IS NOT NULL AND (instr(tags, '{\"golden\":') = 1 OR instr(tags, ',\"golden\":') > 0) THEN 1 END) FROM items WHERE queue = ?1 GROUP BY seq ORDER BY seq";
/// Items that were claimed before they got a valid verdict that answers no claim. The join starts
/// from claims, since valid verdicts have an index by item.
pub(crate) const ASKED_BEFORE: &str = "SELECT DISTINCT v.item FROM claims c CROSS JOIN verdicts v WHERE c.queue = ?1 AND v.queue = ?1 AND v.item = c.item AND v.superseded_by IS NULL AND v.claim IS NULL AND c.seq < v.seq";

/// The number of claimed items that nobody holds and that have no valid verdict. Random checks and
/// golden items do not count; erased ones do. The unary plus keeps SQLite from scanning all leases
/// for each item.
pub(crate) const GIVEN_BACK: &str = "SELECT COUNT(*) FROM (SELECT DISTINCT c.item FROM claims c JOIN items i ON i.queue = c.queue AND i.n = c.item WHERE c.queue = ?1 AND i.audit IS NULL AND instr(i.tags, '{\"golden\":') <> 1 AND instr(i.tags, ',\"golden\":') = 0 AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.queue = c.queue AND v.item = c.item AND v.superseded_by IS NULL) AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.queue = c.queue AND l.item = c.item AND +l.until > ?2)) given";

/// The labels of valid verdicts, each with its lowest and highest reward.
pub(crate) const REWARDS: &str = "SELECT label, MIN(reward), MAX(reward) FROM verdicts WHERE queue = ?1 AND superseded_by IS NULL GROUP BY label ORDER BY COALESCE(label, '')";

pub(crate) fn verdict_by_id() -> String {
    format!("SELECT {VERDICT} FROM verdicts v WHERE v.queue = ?1 AND v.id = ?2")
}

pub(crate) fn verdicts_on() -> String {
    format!(
        "SELECT {VERDICT} FROM verdicts v WHERE v.queue = ?1 AND v.item = ?2 AND v.superseded_by IS NULL ORDER BY v.seq, v.i"
    )
}

pub(crate) fn verdicts_on_open() -> String {
    format!(
        "SELECT {VERDICT} FROM items i JOIN verdicts v ON v.queue = i.queue AND v.item = i.n WHERE i.queue = ?1 AND i.closed_seq IS NULL AND v.superseded_by IS NULL ORDER BY v.seq, v.i"
    )
}

pub(crate) const FIND: &str = "SELECT key, n FROM items WHERE queue = ?1 AND key = ?2";
pub(crate) const SHOWN: &str = "SELECT i.n, i.key, p.body FROM items i LEFT JOIN payloads p ON p.queue = i.queue AND p.n = i.n WHERE i.queue = ?1 AND i.n = ?2 AND i.key IS NOT NULL";
pub(crate) const PAYLOAD_BYTES: &str =
    "SELECT n, octet_length(body) FROM payloads WHERE queue = ?1 AND n = ?2";
/// The size in bytes of the largest payload above 64 KiB, by the index of large payloads.
pub(crate) const LARGE_PAYLOAD: &str = "SELECT octet_length(body) FROM payloads WHERE queue = ?1 AND octet_length(body) > 65536 ORDER BY queue DESC, octet_length(body) DESC LIMIT 1";
pub(crate) const LEASES: &str = "SELECT item, slot, claim, reviewer, until, probability, explored FROM leases WHERE queue = ?1 ORDER BY item, slot";
pub(crate) const SKIPS: &str = "SELECT s.item, s.reviewer FROM skips s JOIN items i ON i.queue = s.queue AND i.n = s.item WHERE s.queue = ?1 AND i.closed_seq IS NULL ORDER BY s.item, s.seq";
pub(crate) const SKIPS_ON: &str = "SELECT reviewer FROM skips WHERE queue = ?1 AND item = ?2 ORDER BY seq";
pub(crate) const TOTALS: &str = "SELECT (SELECT COALESCE(MAX(n), 0) FROM items WHERE queue = ?1), (SELECT COUNT(*) FROM verdicts WHERE queue = ?1 AND superseded_by IS NULL)";
/// The decisions of items that have a revised or an appealed decision. Decisions by rules
/// (`automatic`) are left out.
pub(crate) const REVISED: &str = "SELECT item, decides, seq, i FROM verdicts WHERE queue = ?1 AND seq <= ?2 AND decides IS NOT NULL AND source <> 'automatic' AND item IN (SELECT item FROM verdicts WHERE queue = ?1 AND seq <= ?2 AND decides IS NOT NULL AND source <> 'automatic' AND (supersedes_seq IS NOT NULL OR source = 'appeal')) ORDER BY seq, i";

pub(crate) const KEEP: &str = "INSERT INTO checkpoints(queue, seq, epoch, state, sha256) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
/// Deletes all but the last eight checkpoints, which suffice to start from and to compare with
/// other nodes.
pub(crate) const THIN_OUT: &str = "DELETE FROM checkpoints WHERE queue = ?1 AND seq < (SELECT MIN(seq) FROM (SELECT seq FROM checkpoints WHERE queue = ?1 ORDER BY seq DESC LIMIT 8) AS last)";
pub(crate) const REPLACE: &str =
    "UPDATE checkpoints SET epoch = ?3, state = ?4, sha256 = ?5 WHERE queue = ?1 AND seq = ?2";
pub(crate) const CHECKPOINT: &str = "SELECT seq, epoch, state, sha256 FROM checkpoints WHERE queue = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1";
pub(crate) const CHECKPOINTS: &str =
    "SELECT seq, epoch, state, sha256 FROM checkpoints WHERE queue = ?1 ORDER BY seq";
/// With the unary plus, SQLite uses an index by time. Otherwise it would scan all rows of a queue.
pub(crate) const TIDY: [&str; 2] = [
    "DELETE FROM payloads WHERE +queue = ?1 AND expires IS NOT NULL AND expires <= ?2",
    // A repeated request counts as a new one after a day.
    "DELETE FROM idempotency WHERE +queue = ?1 AND at <= ?2 - 86400000000",
];
