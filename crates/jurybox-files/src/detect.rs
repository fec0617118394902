//! Detection of what a column holds, from its first cells: numbers, text or identifiers.

use crate::cell_number::{Decimal, Notation, ParsedCell, yes_or_no};
use crate::roles::{ColumnInfo, ColumnKind, IdFlaws};
use jurybox::toolbox::{hash_number, hash_text};
use std::collections::HashSet;

/// Maximum number of rows of a source from which columns are detected.
pub(crate) const ROWS: usize = 1000;

/// Number of cells whose hashes are kept, to tell whether two columns identify rows together.
const KEPT_HASHES: usize = 256;

/// Minimum number of whole numbers that are taken for identifiers if they hardly repeat. Fewer may
/// be distinct by chance.
const MIN_DISTINCT: usize = 30;

/// About one in this many identifiers may be missing. About one in this many may be repeated if
/// they are in order.
const IDS_PER_FLAW: usize = 20;

/// Minimum number of whole numbers, counting up by one, that are taken for row numbers. Also the
/// minimum number of large whole numbers that are taken for timestamps. Row numbers with missing or
/// repeated values need twice as many.
const MIN_COUNTING: usize = 5;

/// Whole numbers from here on are taken for seconds since 1970, dates such as 20260301, or
/// telephone numbers.
const FIRST_LARGE: f64 = 10_000_000.0;

/// Statistics of a column's first cells.
#[derive(Debug, Default)]
pub(crate) struct ColumnDetector {
    numbers: u64,
    odd: u64,
    yes: u64,
    no: u64,
    decimal_commas: u64,
    /// Cells such as `1,234`, which may be thousands or decimals.
    either: u64,
    /// Numbers beyond 0 to 1 that are not written as shares.
    beyond: u64,
    /// Shares: `13%`, `4/5`.
    shares: u64,
    /// Rounded numbers with an exponent: `1.84669e+17`.
    rounded: u64,
    whole: WholeNumbers,
    range: Option<(f64, f64)>,
    fractions: bool,
    cells: Vec<u32>,
}

impl ColumnDetector {
    /// Adds a text cell.
    pub(crate) fn see(&mut self, cell: &[u8], notation: &Notation) {
        let cell = cell.trim_ascii();
        let read = notation.read(cell);
        if let ParsedCell::Number(_) = read {
            match yes_or_no(cell) {
                Some(1.0) => self.yes += 1,
                Some(_) => self.no += 1,
                None => {}
            }
            self.decimal_commas += u64::from(Notation::is_decimal_comma(cell));
            self.rounded += u64::from(Notation::is_rounded(cell));
        }
        self.either += u64::from(Notation::is_either(cell));
        let beyond = self.beyond;
        self.count(read);
        self.keep(hash_text(&String::from_utf8_lossy(cell)));
        if Notation::is_share(cell) && matches!(read, ParsedCell::Number(_)) {
            self.beyond = beyond;
            self.shares += 1;
        }
    }

    /// Adds a cell that the file stores as a number, not as text.
    pub(crate) fn see_stored(&mut self, cell: ParsedCell) {
        let bits = if let ParsedCell::Number(value) = cell { value.to_bits() } else { u64::MAX };
        self.keep(hash_number(0, bits));
        self.count(cell);
    }

    fn count(&mut self, cell: ParsedCell) {
        match cell {
            ParsedCell::Missing => self.whole.miss(),
            ParsedCell::NotANumber => self.odd(),
            ParsedCell::Unusable => self.numbers += 1,
            ParsedCell::Number(value) => {
                self.numbers += 1;
                self.beyond += u64::from(!(0.0..=1.0).contains(&value));
                self.fractions |= value.fract() != 0.0;
                let (least, greatest) = self.range.unwrap_or((value, value));
                self.range = Some((least.min(value), greatest.max(value)));
                self.whole.see(value);
            }
        }
    }

    /// Adds a cell that cannot be a number.
    pub(crate) fn see_odd(&mut self) {
        self.keep(0);
        self.odd();
    }

    fn keep(&mut self, hash: u64) {
        if self.cells.len() < KEPT_HASHES {
            self.cells.push((hash >> 32) as u32);
        }
    }

    fn odd(&mut self) {
        self.odd += 1;
        self.whole.end();
    }

    /// What the column holds: numbers if at least half of its non-empty cells are. Whether the odd
    /// cells are too many is judged at the end of the pass.
    fn kind(&self) -> ColumnKind {
        let words = self.yes + self.no;
        if self.numbers + self.odd == 0 {
            ColumnKind::Empty
        } else if self.numbers < self.odd {
            // Most odd cells are such as `1,234`: numbers, but it is unclear which.
            if 2 * self.either > self.odd { ColumnKind::TwoNumbers } else { ColumnKind::Text }
        } else if words == self.numbers && (self.yes == 0 || self.no == 0) && !self.is_yes_or_nothing() {
            // A column of `NO` may mean Norway.
            ColumnKind::OneWord
        } else if 2 * self.rounded > self.numbers {
            // More than half are rounded, so not only an id such as 100000, which R writes as
            // `1e+05`.
            ColumnKind::Number
        } else {
            self.whole.kind()
        }
    }

    /// Whether the word no never occurs and some cells are missing: a rule may write yes on a few
    /// rows.
    fn is_yes_or_nothing(&self) -> bool {
        self.no == 0 && self.whole.missing > 0
    }

    /// The column `name` with the findings.
    pub(crate) fn found(&self, name: String) -> ColumnInfo {
        // A single `12,50` does not turn every `4,103` into a decimal.
        let seen = self.decimal_commas > 0 && self.decimal_commas >= self.either;
        let decimal = if seen { Decimal::Seen } else { Decimal::Either };
        // Shares and numbers beyond 0 to 1 are on two scales: the more frequent one is the
        // column's.
        let shares = self.shares > self.beyond;
        let no_shares = self.beyond > 0 && !shares;
        let kind = self.kind();
        let flaws = self.whole.flaws().filter(|_| kind == ColumnKind::Serial);
        let (range, fractions, cells) = (self.range, self.fractions, self.cells.clone());
        ColumnInfo {
            decimal,
            no_shares,
            shares,
            range,
            fractions,
            cells,
            flaws,
            ..ColumnInfo::new(name, kind)
        }
    }
}

/// Statistics that distinguish identifiers and timestamps from scores.
#[derive(Debug, Default)]
struct WholeNumbers {
    numbers: usize,
    /// Whole numbers as large as timestamps and telephone numbers.
    long: usize,
    rows: usize,
    seen: HashSet<u64>,
    /// Number of cells whose value occurred before.
    repeated: usize,
    /// Missing cells in total; `gap` counts those since the last number.
    missing: usize,
    gap: usize,
    ended: bool,
    last: f64,
    /// Whether any step between numbers is neither 0 nor 1 nor explained by missing cells.
    jumps: bool,
    /// Steps up; `falls` counts the steps down.
    rises: usize,
    falls: usize,
}

impl WholeNumbers {
    fn see(&mut self, value: f64) {
        self.numbers += 1;
        self.long += usize::from(value >= FIRST_LARGE && value.fract() == 0.0);
        if self.ended {
            return;
        }
        if value.fract() != 0.0 {
            return self.end();
        }
        // Beyond 2^53, different ids may be the same double, so they count as different.
        let exact = value.abs() < (1_u64 << 53) as f64;
        self.repeated += usize::from(exact && !self.seen.insert(value.to_bits()));
        if self.repeated > ROWS / IDS_PER_FLAW {
            return self.end();
        }
        if self.rows > 0 {
            let on = value - self.last;
            self.jumps |= on != 0.0 && on != 1.0 && on != 1.0 + self.gap as f64;
            self.rises += usize::from(on > 0.0);
            self.falls += usize::from(on < 0.0);
        }
        self.rows += 1;
        (self.last, self.gap) = (value, 0);
    }

    fn miss(&mut self) {
        self.missing += 1;
        self.gap += 1;
    }

    fn end(&mut self) {
        self.ended = true;
        self.seen = HashSet::new();
    }

    /// The kind of a column of these numbers.
    fn kind(&self) -> ColumnKind {
        if self.names_things() {
            ColumnKind::Serial
        } else if self.long == self.numbers && self.numbers >= MIN_COUNTING {
            ColumnKind::Long
        } else {
            ColumnKind::Number
        }
    }

    /// Whether the values are identifiers: distinct, or counting up by one.
    ///
    /// Missing values are tolerated: one, or one in [`IDS_PER_FLAW`]. Repeated values are tolerated
    /// too: two, or, if the values are in order, one and one more per [`IDS_PER_FLAW`]. Ids are
    /// often in order; scores are not.
    fn names_things(&self) -> bool {
        let in_order = (self.rises == 0) != (self.falls == 0);
        let few = if in_order { 1 + self.rows / IDS_PER_FLAW } else { 2 };
        let counting = if self.flaws().is_none() { MIN_COUNTING } else { 2 * MIN_COUNTING };
        let plainly = self.repeated <= few && self.missing <= 1.max(self.rows / IDS_PER_FLAW);
        !self.ended && plainly && (self.rows >= MIN_DISTINCT || (self.rows >= counting && !self.jumps))
    }

    /// The numbers of missing and repeated values; `None` if there are none.
    fn flaws(&self) -> Option<IdFlaws> {
        let flaws = IdFlaws { missing: self.missing, repeated: self.repeated };
        (flaws != IdFlaws::default()).then_some(flaws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(cells: &[&str]) -> ColumnKind {
        let mut look = ColumnDetector::default();
        cells.iter().for_each(|cell| look.see(cell.as_bytes(), &Notation::default()));
        look.kind()
    }

    #[test]
    fn a_column_is_of_its_most_frequent_kind() {
        assert_eq!(kind(&["", "NA"]), ColumnKind::Empty);
        assert_eq!(kind(&["1.5", "high", "2"]), ColumnKind::Number);
        assert_eq!(kind(&["a", "b", "2"]), ColumnKind::Text);
        assert_eq!(kind(&["yes", "no"]), ColumnKind::Number);
        assert_eq!(kind(&["NO", "NO", "NO"]), ColumnKind::OneWord);
        assert_eq!(kind(&["NO", "", "NO"]), ColumnKind::OneWord);
        assert_eq!(kind(&["yes", "", "yes"]), ColumnKind::Number);
        assert_eq!(kind(&["NO", "SE", "DK"]), ColumnKind::Text);
        assert_eq!(kind(&["1,234", "2,500", "7,100"]), ColumnKind::TwoNumbers);
        assert_eq!(kind(&["1,234", "2,5", "7,1"]), ColumnKind::Number);
    }

    #[test]
    fn large_whole_numbers_are_no_scores() {
        assert_eq!(
            kind(&["1767225600", "1767225660", "1767225600", "1767225601", "1767225660"]),
            ColumnKind::Long
        );
        assert_eq!(kind(&["20260301", "20260302", "20260302", "20260303", "20260303"]), ColumnKind::Long);
        assert_eq!(kind(&["20260301", "20260302", "20260302", "7", "20260303"]), ColumnKind::Number);
        assert_eq!(kind(&["20260301.5", "20260302", "20260302", "20260309", "20260303"]), ColumnKind::Number);
    }

    #[test]
    fn large_rounded_numbers_are_scores() {
        let of = |cell: &dyn Fn(u64) -> String| {
            let cells: Vec<String> = (1..60).map(cell).collect();
            kind(&cells.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(of(&|n| format!("{}.{}e+17", n % 9 + 1, n * 7919)), ColumnKind::Number);
        // All digits of a long id, as pandas writes it beside a missing one. Then ids rounded by a
        // spreadsheet, and one id in R's notation among plain ones.
        assert_eq!(of(&|n| format!("1.2345678901234{:03}e+18", 7 * n)), ColumnKind::Serial);
        assert_eq!(of(&|n| format!("{}.{:05}E+12", n % 9 + 1, n * 791)), ColumnKind::Serial);
        assert_eq!(
            of(&|n| if n == 30 { "1e+05".into() } else { (99_970 + n).to_string() }),
            ColumnKind::Serial
        );
    }

    #[test]
    fn counting_and_distinct_whole_numbers_are_identifiers() {
        let cells = |values: Vec<u64>| -> Vec<String> { values.iter().map(ToString::to_string).collect() };
        let of = |values: Vec<u64>| kind(&cells(values).iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(of((7..12).collect()), ColumnKind::Serial);
        assert_eq!(of((7..11).collect()), ColumnKind::Number);
        assert_eq!(of((0..30).map(|n| n * 7919 % 1000).collect()), ColumnKind::Serial);
        assert_eq!(of((0..29).map(|n| n * 7919 % 1000).collect()), ColumnKind::Number);
        assert_eq!(of((0..60).map(|n| n % 55).collect()), ColumnKind::Number);
    }

    #[test]
    fn a_gap_or_a_repetition_does_not_turn_identifiers_into_scores() {
        let looked = |cells: &[String]| {
            let mut look = ColumnDetector::default();
            cells.iter().for_each(|cell| look.see(cell.as_bytes(), &Notation::default()));
            let found = look.found("post".into());
            (found.kind, found.flaws.map(|flaws| (flaws.missing, flaws.repeated)))
        };
        let ids: Vec<String> = (0..60).map(|n| (n * 7919 % 1000 + 100).to_string()).collect();
        let with = |row: usize, cell: &str| {
            let mut ids = ids.clone();
            ids[row] = cell.into();
            looked(&ids)
        };
        assert_eq!(looked(&ids), (ColumnKind::Serial, None));
        assert_eq!(with(7, ""), (ColumnKind::Serial, Some((1, 0))));
        assert_eq!(with(7, &ids[3]), (ColumnKind::Serial, Some((0, 1))));
        assert_eq!(with(7, "0.5"), (ColumnKind::Number, None));
        // Counting up with one missing or repeated value takes ten numbers; six cells are too few.
        for cells in
            ["1.0,2.0,,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0", "1,2,3,4,,5,6,7,8,9,10", "1,2,3,3,4,5,6,7,8,9"]
        {
            let cells: Vec<String> = cells.split(',').map(Into::into).collect();
            assert_eq!(looked(&cells).0, ColumnKind::Serial, "{cells:?}");
            assert_eq!(looked(&cells[..6]).0, ColumnKind::Number, "{cells:?}");
        }
        // 7 of 200 values are repeated in both columns; out of order, only two may be.
        let sorted: Vec<String> = (0..200).map(|n| (3 * (n - n / 25)).to_string()).collect();
        assert_eq!(looked(&sorted), (ColumnKind::Serial, Some((0, 7))));
        let marks: Vec<String> = (0..200).map(|n| (n * 7919 % 193).to_string()).collect();
        assert_eq!(looked(&marks).0, ColumnKind::Number);
        let half: Vec<String> = ids.iter().flat_map(|id| [id.clone(), String::new()]).collect();
        assert_eq!(looked(&half).0, ColumnKind::Number);
    }
}
