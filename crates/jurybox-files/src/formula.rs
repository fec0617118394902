//! Protection against formulas in CSV cells.
//!
//! A post titled `=HYPERLINK(...)` becomes a formula when a spreadsheet opens the file. An
//! apostrophe before it makes spreadsheets treat the cell as text.

use crate::output_rows::{OutputColumn, OutputRows};
use std::borrow::Cow;

/// The text of a cell, with an apostrophe in front if it could start a formula. Numbers are
/// unchanged.
///
/// ```
/// use jurybox_files::without_formula;
/// assert_eq!(without_formula("=1+2"), "'=1+2");
/// assert_eq!(without_formula("-0.25"), "-0.25");
/// assert_eq!(without_formula("a=b"), "a=b");
/// ```
pub fn without_formula(cell: &str) -> Cow<'_, str> {
    // Some spreadsheets accept the full-width forms of these signs as well.
    let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if begins && cell.parse::<f64>().is_err() { format!("'{cell}").into() } else { cell.into() }
}

impl OutputRows {
    /// The rows with formulas in cells and column names neutralised.
    pub(crate) fn without_formulas(&self) -> OutputRows {
        let safe = |column: &OutputColumn| {
            let cells: Vec<String> = (0..self.rows).map(|row| column.text(row)).collect();
            let shown = cells.iter().map(|cell| without_formula(cell));
            if shown.clone().all(|cell| matches!(cell, Cow::Borrowed(_))) {
                return column.clone();
            }
            OutputColumn::Text { cells: shown.map(|cell| cell.as_ref().into()).collect(), numeric: None }
        };
        OutputRows {
            names: self.names.iter().map(|name| without_formula(name).into_owned()).collect(),
            columns: self.columns.iter().map(safe).collect(),
            rows: self.rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_numbers_stay() {
        for cell in
            ["=cmd|' /C calc'!A0", "+SUM(A1)", "-2+3", "@x", "\tx", "\rx", "\n=x", "＝x", "-", "=", "--1"]
        {
            assert_eq!(without_formula(cell), format!("'{cell}"));
        }
        for cell in ["", "-1", "+2.5", "-1e-7", "a", "1=1", " x", "'=x", "{\"a\":1}", "-inf"] {
            assert_eq!(without_formula(cell), cell);
        }
    }
}
