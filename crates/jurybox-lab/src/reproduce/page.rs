//! The report as one page that needs nothing else: inline pictures, inline style, no script.

use super::finding::Finding;
use super::{Report, Table};
use jurybox_files::escaped;
use std::fmt::Write;

/// Style of the lab's pages: plain, readable, prints well.
pub(crate) const STYLE: &str = "body{font:15px/1.5 Helvetica,Arial,sans-serif;max-width:980px;margin:2em auto;padding:0 1em;\
color:#222}h1{margin-bottom:0}h2{margin-top:2em;border-bottom:1px solid #ddd}table{border-collapse:collapse;margin:1em 0;\
font-size:14px}td,th{border-bottom:1px solid #ddd;padding:4px 10px;text-align:left;vertical-align:top}th{background:#f6f6f6}\
figure{margin:1.5em 0}figcaption{color:#444;font-size:14px}svg{max-width:100%;height:auto}.reproduced{color:#006b4f;\
font-weight:bold}.not-reproduced{color:#a33b00;font-weight:bold}.says-little{color:#4a6b00;font-weight:bold}.cant-tell{color:#666;font-weight:bold}\
.small{color:#666;font-size:13px}td.n{text-align:right;font-variant-numeric:tabular-nums}";

pub(super) fn html(report: &Report) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Jurybox: the paper, reproduced</title>\
         <style>{STYLE}</style><h1>The paper, reproduced</h1><p>\u{201c}Top K Ranking for Multi-Armed Bandit with Noisy \
         Evaluations\u{201d}: its figures, tables and claims, measured again by Jurybox ({}). Bands and brackets are 95% \
         intervals over runs.</p>",
        escaped(&report.about)
    );
    if !report.claims.is_empty() {
        claims(&mut page, report);
    }
    for reason in &report.skipped {
        let _ = write!(page, "<p><b>Skipped:</b> {}</p>", escaped(reason));
    }
    if !report.figures.is_empty() {
        page.push_str("<h2>Figures</h2><p class=\"small\">The numbers behind each are in a CSV file of the same name.</p>");
    }
    for figure in &report.figures {
        let _ = write!(
            page,
            "<figure id=\"{0}\">{1}<figcaption>{2}</figcaption></figure>",
            escaped(&figure.name),
            figure.plot.to_svg(),
            escaped(&figure.caption)
        );
    }
    if !report.tables.is_empty() {
        page.push_str("<h2>Tables</h2>");
    }
    for table in &report.tables {
        write_table(&mut page, table);
    }
    page.push_str("</html>\n");
    page
}

fn claims(page: &mut String, report: &Report) {
    page.push_str("<h2>Claims</h2>");
    for remark in &report.remarks {
        let _ = write!(page, "<p><b>{}</b></p>", escaped(remark));
    }
    let _ = write!(
        page,
        "<p>{}. \
         Comparisons are paired run by run and decided when the 95% interval excludes zero. Whether regret keeps growing linearly \
         is judged by the exponent of what it grows by over two doublings of t up to nearly T: linear above 0.9, sublinear \
         below. That rule replaced the slope of the whole sum after a full run had been seen; both numbers are given, and a \
         claim on which the two disagree says so. A theorem of order T^x is an upper bound: it stands when the exponent is \
         below 0.9 and its interval not all above x + 0.1. An error falls when its log-log slope over the \
         last decade of rounds is below -0.1, and keeps a bias when above. A bound that picking at random keeps too holds, and \
         says little.</p>\
         <table><tr><th>The paper</th><th>Measured</th><th>Finding</th></tr>",
        escaped(&report.tally())
    );
    for claim in &report.claims {
        let class = match claim.finding {
            Finding::Reproduced => "reproduced",
            Finding::HoldsSaysLittle => "says-little",
            Finding::NotReproduced => "not-reproduced",
            Finding::CannotTell => "cant-tell",
        };
        let note = if claim.note.is_empty() { String::new() } else { format!("; {}", claim.note) };
        let _ = write!(
            page,
            "<tr><td>{}<br><span class=\"small\">{}{}</span></td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            escaped(&claim.paper),
            escaped(&claim.id),
            escaped(&note),
            escaped(&claim.measured),
            claim.finding
        );
    }
    page.push_str("</table>");
}

fn write_table(page: &mut String, table: &Table) {
    let _ = write!(page, "<p>{}</p><table><tr>", escaped(&table.caption));
    for name in &table.header {
        let _ = write!(page, "<th>{}</th>", escaped(name));
    }
    page.push_str("</tr>");
    for row in &table.rows {
        page.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let class = if at == 0 { "" } else { " class=\"n\"" };
            let _ = write!(page, "<td{class}>{}</td>", escaped(cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</table>");
}
