//! The report as a self-contained HTML page.

use super::ReproductionReport;
use super::finding::Finding;
use jurybox_draw::{escaped, page, table};
use std::fmt::Write;

pub(super) fn html(report: &ReproductionReport) -> String {
    let mut body = String::new();
    let _ = write!(
        body,
        "<p class=\"lead\">\u{201c}Top K Ranking for Multi-Armed Bandit with Noisy \
         Evaluations\u{201d}: its figures, tables and claims, measured again by Jurybox ({}). Bands and brackets are 95% \
         intervals over runs.</p>",
        escaped(&report.about)
    );
    if !report.claims.is_empty() {
        claims(&mut body, report);
    }
    for reason in &report.skipped {
        let _ = write!(body, "<p><b>Skipped:</b> {}</p>", escaped(&reason.to_string()));
    }
    if !report.figures.is_empty() {
        body.push_str("<h2>Figures</h2><p class=\"small\">The numbers behind each are in a CSV file of the same name.</p>");
    }
    for figure in &report.figures {
        let _ = write!(
            body,
            "<figure id=\"{0}\">{1}<figcaption>{2}</figcaption></figure>",
            escaped(&figure.name),
            figure.plot.to_html(),
            escaped(&figure.caption)
        );
    }
    if !report.tables.is_empty() {
        body.push_str("<h2>Tables</h2>");
    }
    for shown in &report.tables {
        let _ = write!(body, "<p>{}</p>{}", escaped(&shown.caption), table(&shown.header, &shown.rows));
    }
    page("The paper, reproduced", &body)
}

fn claims(body: &mut String, report: &ReproductionReport) {
    body.push_str("<h2>Claims</h2>");
    for remark in &report.remarks {
        let _ = write!(body, "<p><b>{}</b></p>", escaped(remark));
    }
    let _ = write!(
        body,
        "<p>{}. \
         Comparisons are paired by run, and decided if the 95% interval excludes zero. Regret grows linearly if its growth exponent, over two doublings of t up to nearly T, is above 0.9, and sublinearly if below. That rule replaced the slope of the whole sum after a full run; both numbers are given, and a note says where they disagree. A theorem of order T^x is an upper bound: it fails if the interval of the exponent lies above x + 0.1, and stands if it lies below 0.9 and not above x. An error falls if its log-log slope over the last decade of rounds is below -0.1, and keeps a bias if above. A bound that random picks keep too holds, and says little.</p>\
         <div class=\"scroll\"><table class=\"words\"><tr><th>The paper</th><th>Measured</th><th>Finding</th></tr>",
        escaped(&report.tally())
    );
    for claim in &report.claims {
        let class = match claim.finding {
            Finding::Reproduced => "good",
            Finding::HoldsSaysLittle => "warn",
            Finding::NotReproduced => "bad",
            Finding::CannotTell => "muted",
        };
        let note = if claim.note.is_empty() { String::new() } else { format!("; {}", claim.note) };
        let _ = write!(
            body,
            "<tr><td>{}<br/><span class=\"small\">{}{}</span></td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            escaped(&claim.paper),
            escaped(&claim.id),
            escaped(&note),
            escaped(&claim.measured),
            claim.finding
        );
    }
    body.push_str("</table></div>");
}
