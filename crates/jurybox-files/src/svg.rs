//! Pages and the map of correlations, written by hand: small, self-contained, the same bytes every time.

use std::fmt::Write;

/// A map of correlations from -1 (blue) over 0 (white) to 1 (red), with the numbers in it.
pub(crate) fn heat_map(names: &[String], value: impl Fn(usize, usize) -> f64) -> String {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
    let cell = if names.len() > 14 { 30.0 } else { 42.0 };
    let margin = (longest * 7.2 + 16.0).min(220.0);
    let size = names.len() as f64 * cell;
    let mut svg = open(margin + size + 70.0, size + margin * 0.75 + 16.0);
    for (i, name) in names.iter().enumerate() {
        let at = (i as f64 + 0.5) * cell;
        label(&mut svg, margin - 6.0, at + 4.0, "end", name);
        let _ = write!(
            svg,
            r#"<text transform="translate({:.1} {:.1}) rotate(40)">{}</text>"#,
            margin + at - 4.0,
            size + 14.0,
            escaped(name)
        );
        for j in 0..names.len() {
            let v = value(i, j);
            let _ = write!(
                svg,
                r#"<rect x="{:.1}" y="{:.1}" width="{cell}" height="{cell}" fill="{}" stroke="white"/>"#,
                margin + j as f64 * cell,
                i as f64 * cell,
                shade(v)
            );
            let ink = if v.abs() > 0.65 { "white" } else { "#333" };
            let text = if v.is_nan() { "–".into() } else { format!("{v:.2}") };
            let _ = write!(
                svg,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle" font-size="10" fill="{ink}">{text}</text>"#,
                margin + (j as f64 + 0.5) * cell,
                at + 3.5
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// A word at a place.
fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = write!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#, escaped(text));
}

fn shade(value: f64) -> String {
    if value.is_nan() {
        return "#f4f4f4".into();
    }
    let share = value.abs().min(1.0);
    let end = if value > 0.0 { [178.0, 24.0, 43.0] } else { [33.0, 102.0, 172.0] };
    let mix = |channel: usize| (255.0 + share * (end[channel] - 255.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

fn open(width: f64, height: f64) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="system-ui, sans-serif" font-size="11.5" fill="#333" role="img">"##
    )
}

/// A number as people write it.
///
/// ```
/// assert_eq!((jurybox_files::short(0.25), jurybox_files::short(1234.5)), ("0.25".into(), "1234".into()));
/// ```
pub fn short(value: f64) -> String {
    if value.is_nan() {
        return "–".into();
    }
    let size = value.abs();
    let text = match () {
        () if size == 0.0 => return "0".into(),
        () if !(1e-3..1e6).contains(&size) => return format!("{value:.2e}"),
        () if size >= 1000.0 => format!("{value:.0}"),
        () if size >= 100.0 => format!("{value:.1}"),
        () if size >= 10.0 => format!("{value:.2}"),
        () if size >= 1.0 => format!("{value:.3}"),
        () => format!("{value:.4}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Text that may stand in HTML and SVG.
///
/// ```
/// assert_eq!(jurybox_files::escaped("a < \"b\""), "a &lt; &quot;b&quot;");
/// ```
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page that needs nothing from elsewhere, and prints.
///
/// ```
/// assert!(jurybox_files::page("A < B", "<p>why</p>").contains("<h1>A &lt; B</h1>"));
/// ```
pub fn page(title: &str, body: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 68rem; margin: 2rem auto; padding: 0 1.2rem; }}
h1 {{ font-size: 1.6rem; margin-bottom: .2rem; }} h2 {{ font-size: 1.2rem; margin: 2.2rem 0 .4rem; }} h3 {{ font-size: 1rem; margin: 1rem 0 .2rem; }}
p.lead {{ color: #555; margin-top: 0; }}
table {{ border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #e4e4e4; }}
th {{ font-weight: 600; border-bottom: 2px solid #999; }} th:first-child, td:first-child {{ text-align: left; }}
td, th {{ white-space: nowrap; }} td.bar {{ padding: 0 .4rem; }} td.bar svg {{ max-width: none; }} tr.reference td {{ color: #666; }}
ul.warnings {{ background: #fff6e0; border-left: 4px solid #e69f00; padding: .6rem 1rem .6rem 2rem; }}
.scroll {{ overflow-x: auto; }} svg {{ max-width: 100%; height: auto; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: .4rem 1rem; }}
.small {{ color: #555; font-size: .9rem; }}
@media print {{ body {{ margin: 0; max-width: none; font-size: 11px; }} h2 {{ break-after: avoid; }} table, svg, figure {{ break-inside: avoid; }} }}
</style></head><body>
<h1>{0}</h1>
{body}
</body></html>
"#,
        escaped(title)
    )
}

/// A list of warnings, or nothing.
///
/// ```
/// assert!(jurybox_files::warnings(&[]).is_empty());
/// ```
pub fn warnings(list: &[String]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let items =
        list.iter().fold(String::new(), |items, warning| items + "<li>" + &escaped(warning) + "</li>");
    format!("<ul class=\"warnings\">{items}</ul>")
}
