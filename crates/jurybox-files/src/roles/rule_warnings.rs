//! Warnings about columns for which a rule, not the caller, decided whether they are evaluators.

use super::NotEvaluator;
use crate::column_info::{ColumnInfo, ColumnKind};
use crate::own_columns;
use crate::warning::Warning;
use jurybox::{Direction, Evaluator};
use std::collections::HashSet;
use std::path::Path;

/// Whole numbers up to this one raise no warning beside scores from 0 to 1. Many tables have counts
/// or percentages.
const LARGE: f64 = 100.0;

/// Minimum number of rows of a long table, which has one score per row. A smaller table may look
/// long by chance.
const LEAST_ROWS: usize = 6;

/// Maximum number of judges of a long table.
const MOST_JUDGES: usize = 64;

/// The warnings about `evaluators`, which were found by rule. Columns named like a verdict are in
/// `others` if they were left out. They are in `doubted` if they became evaluators for want of
/// others.
pub(super) fn warnings(
    path: &Path,
    evaluators: &[Evaluator],
    others: &[(String, NotEvaluator)],
    doubted: &[String],
    columns: &[ColumnInfo],
) -> Vec<Warning> {
    let left = others
        .iter()
        .filter(|(_, why)| *why == NotEvaluator::NamedLikeVerdict)
        .map(|(column, _)| (column, false));
    let named = left.chain(doubted.iter().map(|column| (column, true)));
    let warning = |(column, is_evaluator): (&String, bool)| {
        let (path, column) = (path.into(), column.clone());
        Warning::NamedLikeAVerdict { path, column, is_evaluator }
    };
    let mut warnings: Vec<Warning> = named.map(warning).collect();
    let is_evaluator = |found: &ColumnInfo| {
        evaluators.iter().any(|one| one.name == found.name && one.direction != Direction::Context)
    };
    let is_left_over = |found: &ColumnInfo| {
        others.iter().any(|(name, why)| *name == found.name && *why != NotEvaluator::Ignored)
    };
    warnings.extend(other_scale(path, columns.iter().filter(|found| is_evaluator(found))));
    let columns: Vec<&ColumnInfo> =
        columns.iter().filter(|found| is_evaluator(found) || is_left_over(found)).collect();
    warnings.extend(looks_long(path, &columns, is_evaluator));
    warnings
}

/// Warns of counts beside scores from 0 to 1, such as 50 to 26053 followers.
fn other_scale<'a>(path: &Path, evaluators: impl Iterator<Item = &'a ColumnInfo> + Clone) -> Option<Warning> {
    let ranged = evaluators.filter_map(|found| Some((found, found.range?)));
    let is_share = |found: &ColumnInfo, (least, greatest): (f64, f64)| {
        found.fractions && least >= 0.0 && greatest <= 1.0
    };
    ranged.clone().find(|(found, range)| is_share(found, *range))?;
    let large = ranged.filter(|(found, (_, greatest))| !found.fractions && *greatest > LARGE);
    let columns: Vec<(String, String)> = large
        .map(|(found, (least, greatest))| (found.name.clone(), format!("{least} to {greatest}")))
        .collect();
    (!columns.is_empty()).then(|| Warning::OtherScale { path: path.into(), columns })
}

/// Warns of a table that looks long, with one score per row and two columns for item and judge. No
/// two rows have the same item and judge, and at least half of all pairs of item and judge occur.
fn looks_long(
    path: &Path,
    columns: &[&ColumnInfo],
    is_evaluator: impl Fn(&ColumnInfo) -> bool,
) -> Option<Warning> {
    let names = |found: &ColumnInfo| {
        matches!(found.kind, ColumnKind::Text | ColumnKind::Number | ColumnKind::Serial) && !found.fractions
    };
    let rows = columns.iter().map(|found| found.cells.len()).max().filter(|rows| *rows >= LEAST_ROWS)?;
    // A long table has few columns, and comparing all pairs of many columns takes long.
    if columns.len() > 32 {
        return None;
    }
    let distinct = |found: &ColumnInfo| found.cells.iter().collect::<HashSet<_>>().len();
    let counted: Vec<(&ColumnInfo, usize)> = columns
        .iter()
        .copied()
        .filter(|found| names(found) && found.cells.len() == rows)
        .map(|found| (found, distinct(found)))
        .filter(|(_, count)| (2..=rows / 2).contains(count))
        .collect();
    for (at, &(one, of_one)) in counted.iter().enumerate() {
        for &(other, of_other) in &counted[at + 1..] {
            let pairs: HashSet<_> = one.cells.iter().zip(&other.cells).collect();
            if pairs.len() < rows || 2 * rows < of_one * of_other {
                continue;
            }
            let turned = own_columns::names_items(&other.name)
                || (of_other > of_one && !own_columns::names_items(&one.name))
                || is_evaluator(other) && !is_evaluator(one) && other.kind == ColumnKind::Number;
            let ((item, _), (judge, judges)) =
                if turned { ((other, of_other), (one, of_one)) } else { ((one, of_one), (other, of_other)) };
            let mut grades =
                columns.iter().copied().filter(|found| is_evaluator(found) && found.name != item.name);
            if judge.kind == ColumnKind::Text
                && judges <= MOST_JUDGES
                && let (Some(grade), None) = (grades.next(), grades.next())
            {
                let [item, judge, grade] = [item, judge, grade].map(|found| found.name.clone());
                return Some(Warning::LooksLong { path: path.into(), item, judge, grade });
            }
        }
    }
    None
}
