//! The HTML page around drawings: one document that loads nothing from elsewhere.

use crate::colour::variables;
use crate::escape::escaped;
use crate::heat::shades;

/// A page that loads nothing, runs no script, follows the reader's light or dark mode, and can be
/// printed.
///
/// `body` is markup: text from outside must pass [`escaped`] first. The markup may use the classes
/// of [`style`], such as `lead`, `advice` and `small` for paragraphs, or `scroll` around tables.
/// `words` is for tables of text, and `grid` for small drawings side by side.
///
/// ```
/// let html = jurybox_draw::page("Q & A", "<p>Nothing yet.</p>");
/// assert!(html.contains("<h1>Q &amp; A</h1>") && html.contains("default-src 'none'"));
/// ```
pub fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    let style = style();
    format!(
        "<!doctype html>\n\
         <html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title}</title>\n<style>\n{style}</style></head>\n<body><main>\n<h1>{title}</h1>\n{body}\n</main></body></html>\n"
    )
}

const RULES: &str = "\
*{box-sizing:border-box}
body{margin:0;background:var(--background);color:var(--ink);font:400 16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,Helvetica,Arial,sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
main{max-width:64rem;margin:0 auto;padding:40px 24px 64px;overflow-wrap:break-word}
h1{font-size:28px;line-height:1.25;font-weight:600;margin:0 0 8px}
h2{font-size:20px;line-height:1.3;font-weight:600;margin:40px 0 8px}
h3{font-size:14px;font-weight:600;margin:0 0 4px}
p{margin:8px 0;max-width:44rem}
b,strong{font-weight:600}
a{color:var(--accent)}
code{font:14px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.lead{color:var(--muted)}
.advice{font-size:18px;line-height:1.45}
details{margin:16px 0}
summary{cursor:pointer;color:var(--accent);font-size:14px}
.small,figcaption{color:var(--muted);font-size:14px}
table{border-collapse:collapse;font-size:14px}
th,td{padding:6px 8px;text-align:right;vertical-align:middle;white-space:nowrap;border-bottom:1px solid var(--hairline)}
tr:last-child td{border-bottom:0}
th{font-size:12px;font-weight:600;color:var(--muted)}
th:first-child,td:first-child{text-align:left;padding-left:0}
th:last-child,td:last-child{padding-right:0}
.words th,.words td{text-align:left;vertical-align:top;white-space:normal}
.words td.n{text-align:right;white-space:nowrap}
td.bar{padding:0 4px}
tr.reference td{color:var(--muted)}
.good{color:var(--good);font-weight:600}
.warn{color:var(--warn);font-weight:600}
.bad{color:var(--bad);font-weight:600}
.muted{color:var(--muted);font-weight:600}
.scroll,figure,.warnings{background:var(--surface);border:1px solid var(--hairline);border-radius:8px;padding:16px;margin:16px 0}
.scroll{overflow-x:auto}
figcaption{margin-top:8px}
.warnings{border-left:4px solid var(--warn);padding-left:32px;font-size:14px}
.warnings li{margin:4px 0}
.warnings li::marker{color:var(--warn)}
svg{display:block;max-width:100%;height:auto;overflow:visible}
svg svg{overflow:hidden}
td svg{display:inline-block;max-width:none;vertical-align:middle}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:16px;margin:16px 0}
.grid figure{margin:0}
.heat{border-collapse:separate;border-spacing:2px}
.heat th,.heat td{padding:0 2px;border:0;text-align:center;font-size:12px}
.heat td{height:2.4em;min-width:2.9em;border-radius:2px}
.heat th[scope=row]{text-align:left;padding-right:8px;white-space:nowrap;font-weight:400}
.heat .unknown{background:var(--hairline)}
.narrow{display:none}
@media (max-width:48rem){
main{padding:24px 12px 40px}
h1{font-size:20px}
h2{font-size:16px;margin-top:32px}
.scroll,figure{padding:12px}
.wide{display:none}
.narrow{display:block}
.narrow svg{width:100%;max-width:26rem}
.narrow svg svg{max-width:none}
}
@media print{
body{font-size:11px}
main{max-width:none;padding:0}
.wide{display:block}
.narrow{display:none}
h2,h3{break-after:avoid}
figure,tr,svg{break-inside:avoid}
.scroll,figure{border:0;padding:0}
}
";

/// The style sheet of [`page`]: its rules, the shades of heat maps, and a CSS variable for each
/// [`Colour`](crate::Colour), light and dark.
///
/// It serves pages that are not made by [`page`], such as those with scripts.
///
/// ```
/// assert!(jurybox_draw::style().contains("prefers-color-scheme:dark"));
/// ```
pub fn style() -> String {
    // Dark mode is for screens only: on paper it would cost ink.
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n{RULES}{}",
        variables(false),
        variables(true),
        shades()
    )
}

/// Text as markup: escaped, with text between two backticks as code.
///
/// ```
/// use jurybox_draw::prose;
/// assert_eq!(prose("`a<b` and `c`"), "<code>a&lt;b</code> and <code>c</code>");
/// assert_eq!(prose("a ` alone"), "a ` alone");
/// ```
pub fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (at, part) in parts.iter().enumerate() {
        // Every second part is code, unless its closing backtick is missing.
        let (before, after) = match (at % 2, at + 1 < parts.len()) {
            (0, _) => ("", ""),
            (_, true) => ("<code>", "</code>"),
            (_, false) => ("`", ""),
        };
        html = html + before + &escaped(part) + after;
    }
    html
}

/// A list of warnings as markup, each formatted by [`prose`]; an empty string if there are none.
///
/// ```
/// use jurybox_draw::warnings;
/// assert_eq!(warnings(&[]), "");
/// assert!(warnings(&["a < b".into()]).contains("a &lt; b"));
/// ```
pub fn warnings(list: &[String]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let items = list.iter().fold(String::new(), |items, warning| items + "<li>" + &prose(warning) + "</li>");
    format!("<ul class=\"warnings\">{items}</ul>")
}

/// A table of texts as markup, all escaped. [`style`] aligns the first column left, as row labels,
/// and the others right, as numbers.
///
/// ```
/// let html = jurybox_draw::table(&["policy", "regret"], &[["esag", "12"], ["<b>", "40"]]);
/// assert!(html.contains("<td>&lt;b&gt;</td><td>40</td>"));
/// ```
pub fn table<S: AsRef<str>, R: AsRef<[S]>, H: AsRef<str>>(header: &[H], rows: &[R]) -> String {
    let cells =
        |html: String, text: &str, tag: &str| html + "<" + tag + ">" + &escaped(text) + "</" + tag + ">";
    let head = header.iter().fold(String::new(), |html, name| cells(html, name.as_ref(), "th"));
    let body = rows.iter().fold(String::new(), |html, row| {
        let row = row.as_ref().iter().fold(String::new(), |html, cell| cells(html, cell.as_ref(), "td"));
        html + "<tr>" + &row + "</tr>"
    });
    format!("<div class=\"scroll\"><table><tr>{head}</tr>{body}</table></div>")
}
