//! HTML that somebody else wrote, reduced to the structure of its text: no attributes, no elements but those that set text.

use jurybox_draw::escaped;

/// Elements that set text and take no attribute to do it.
const KEPT: [&str; 40] = [
    "a",
    "abbr",
    "article",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "ins",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "td",
    "th",
    "tr",
];
/// These as well: a list has its marks by it.
const LISTS: [&str; 3] = ["ul", "tbody", "thead"];
/// Elements whose content is not text.
const DROPPED: [&str; 12] = [
    "script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title", "textarea",
    "select", "head",
];
/// Elements that are never closed.
const SINGLE: [&str; 2] = ["br", "hr"];

/// Elements within each other; nobody writes more.
const DEEPEST: usize = 100;

/// The text of a document with its structure. Every tag in it was written here.
pub(super) fn cleaned(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        html.push_str(&plain(&rest[..at]));
        rest = &rest[at..];
        let Some((tag, after)) = tag(rest) else {
            html.push_str("&lt;");
            rest = &rest[1..];
            continue;
        };
        rest = after;
        let Tag::Element { name, closes } = tag else { continue };
        if let Some(dropped) = DROPPED.iter().find(|other| **other == name) {
            if !closes {
                rest = past(rest, dropped);
            }
            continue;
        }
        let Some(kept) = KEPT.iter().chain(&LISTS).find(|other| **other == name) else { continue };
        match (closes, SINGLE.contains(kept)) {
            (false, true) => html = html + "<" + kept + ">",
            (false, false) if open.len() == DEEPEST => {}
            (false, false) => {
                html = html + "<" + kept + ">";
                open.push(kept);
            }
            (true, true) => {}
            (true, false) => {
                // One that was never opened closes nothing; one that was closes what was left open within.
                if let Some(place) = open.iter().rposition(|other| other == kept) {
                    for name in open.drain(place..).rev() {
                        html = html + "</" + name + ">";
                    }
                }
            }
        }
    }
    html.push_str(&plain(rest));
    for name in open.into_iter().rev() {
        html = html + "</" + name + ">";
    }
    html
}

/// Text as it reads: the few names for characters that everybody writes, and then escaped.
fn plain(text: &str) -> String {
    let read = [
        ("&nbsp;", "\u{a0}"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_string(), |text, (name, character)| text.replace(name, character));
    escaped(&read)
}

enum Tag {
    Element {
        name: String,
        closes: bool,
    },
    /// A comment, a declaration.
    Other,
}

/// The tag that a text begins with, and what follows it. None where it is a sign in a text.
fn tag(text: &str) -> Option<(Tag, &str)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return Some((Tag::Other, comment.find("-->").map_or("", |at| &comment[at + 3..])));
    }
    let inner = &text[1..];
    if inner.starts_with(['!', '?']) {
        return Some((Tag::Other, inner.find('>').map_or("", |at| &inner[at + 1..])));
    }
    let (closes, named) = match inner.strip_prefix('/') {
        Some(named) => (true, named),
        None => (false, inner),
    };
    if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let end = named.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').unwrap_or(named.len());
    let name = named[..end].to_ascii_lowercase();
    Some((Tag::Element { name, closes }, after_tag(&named[end..])))
}

/// What follows the end of a tag; a sign within quotes does not end it.
fn after_tag(text: &str) -> &str {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return &text[at + 1..],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    ""
}

/// What follows the end of an element whose content is not text.
fn past<'a>(text: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        from += at + 2;
        let end = from + name.len();
        if text.get(from..end).is_some_and(|other| other.eq_ignore_ascii_case(name)) {
            return after_tag(&text[end..]);
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_stays_and_nothing_else() {
        for (text, clean) in [
            ("<p class=x>a <b>b</b></p>", "<p>a <b>b</b></p>"),
            ("<script>alert('</p>')</script>after", "after"),
            ("<style>p{}</style><h1 onclick='x>y'>t</h1>", "<h1>t</h1>"),
            ("<img src=x onerror=alert(1)>text", "text"),
            ("a < b &amp; c > d", "a &lt; b &amp; c &gt; d"),
            ("<ul><li>one<li>two</ul>", "<ul><li>one<li>two</li></li></ul>"),
            ("</p>late<p>open", "late<p>open</p>"),
            ("<!-- <script> --><a href='javascript:x'>link</a>", "<a>link</a>"),
            ("<svg><p>inner</p></svg>x<br/>y", "x<br>y"),
            ("<p title=\"a>b\">t", "<p>t</p>"),
            ("<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"),
            ("<", "&lt;"),
            ("</", "&lt;/"),
        ] {
            assert_eq!(cleaned(text), clean, "{text}");
        }
    }

    /// Whatever comes in, only tags of this file come out.
    #[test]
    fn every_tag_that_comes_out_is_one_of_ours() {
        let pieces = [
            "<", ">", "\"", "'", "/", "script", "p", " ", "=", "onload", "<!--", "-->", "svg", "é", "&lt;",
            "<b", "x",
        ];
        let mut state: u64 = 1;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let clean = cleaned(&text);
            for part in clean.split('<').skip(1) {
                let name = part.split('>').next().unwrap().trim_start_matches('/');
                assert!(KEPT.contains(&name) || LISTS.contains(&name), "{text:?} became {clean:?}");
            }
        }
    }
}
