//! What was taken back, and whether the tables say what the log says.

use super::read::{Entry, Found};
use super::{Open, Play, Problem};
use std::collections::HashSet;

impl Play<'_> {
    pub(super) fn undo(&mut self, entry: &Entry) -> Found<()> {
        let body = &entry.body;
        let n = body["n"].as_u64().unwrap_or(0);
        let (Some(slot), Some(until), Some(reviewer)) =
            (body["slot"].as_i64(), body["until"].as_i64(), body["reviewer"].as_str())
        else {
            return Err(Problem("it does not say what".into()));
        };
        let rest = body["rest"].as_array().into_iter().flatten();
        let rest = rest.filter_map(|v| {
            Some((v["slot"].as_i64()?, v["reviewer"].as_str()?.to_string(), v["reward"].as_f64()?))
        });
        let rest: Vec<_> = rest.collect();
        if !self.open.contains_key(&n) {
            let item = self
                .records
                .items
                .get(n as usize - 1)
                .ok_or_else(|| Problem(format!("there is no item {n}")))?;
            let row = match self.records.scores_at(n, entry.seq) {
                Some((row, of)) => self.records.moved(&row, of, self.setup),
                None => vec![f64::NAN; self.records.setups[self.setup].evaluators.len()],
            };
            let (tags, skipped) = (item.tags.clone(), HashSet::new());
            let open = Open {
                row,
                arrived: item.arrived,
                tags,
                audit: item.audit,
                due: item.due,
                leases: Vec::new(),
                verdicts: Vec::new(),
                skipped,
            };
            self.open.insert(n, open);
            self.values.remove(&n);
        }
        let unwilling = body["skipped"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_string()))
            .collect();
        let open = self.at(n)?;
        (open.verdicts, open.skipped) = (rest, unwilling);
        open.leases.push((slot, reviewer.into(), until));
        Ok(())
    }

    /// Whether the tables say what the log says.
    pub(super) fn compare_tables(&mut self) {
        for item in &self.records.items {
            if item.closed.is_none() != self.open.contains_key(&item.n) {
                self.found.lost += 1;
                self.found.tell(format!(
                    "item {} is {} by its row, and not by the log",
                    item.n,
                    if item.closed.is_none() { "open" } else { "closed" }
                ));
            }
        }
        if self.records.items.len() as u64 + 1 != self.next {
            self.found.tell(format!(
                "{} items are there, and the log speaks of {}",
                self.records.items.len(),
                self.next - 1
            ));
        }
        let now = self.records.log.last().map_or(0, |entry| entry.at);
        let by_row: HashSet<(u64, i64, &str, i64)> =
            self.records.leases.iter().map(|l| (l.0, l.1, l.2.as_str(), l.3)).filter(|l| l.3 > now).collect();
        let by_log: HashSet<(u64, i64, &str, i64)> = self
            .open
            .iter()
            .flat_map(|(n, open)| open.leases.iter().map(|l| (*n, l.0, l.1.as_str(), l.2)))
            .collect();
        let apart = by_row.symmetric_difference(&by_log).count() as u64;
        if apart > 0 {
            self.found.lost += apart;
            self.found.tell(format!("{apart} leases stand in the log or in their table, and not in both"));
        }
        let mut standing: HashSet<(u64, i64)> = HashSet::new();
        for verdict in
            self.records.verdicts.values().flatten().filter(|verdict| verdict.replaced_by.is_none())
        {
            if !standing.insert((verdict.item, verdict.slot)) {
                self.found.twice += 1;
                self.found.tell(format!(
                    "item {}, review {} has two verdicts that stand",
                    verdict.item, verdict.slot
                ));
            }
        }
    }
}
