//! An HTML sanitizer for payloads: it keeps text and the elements that structure it, without their
//! attributes. Text that a browser would show must stay visible. So tags and comments end as in
//! browsers, and the values of some attributes are written out. The result says whether anything
//! was dropped that a browser might show.

/// Elements that are kept, without attributes.
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
/// More elements that are kept.
const LISTS: [&str; 3] = ["ul", "tbody", "thead"];
/// Elements that are dropped with their content, because it is not text for readers.
const DROPPED: [&str; 5] = ["script", "style", "template", "iframe", "title"];
/// Attributes whose value is written out, because readers see it or follow it.
const SEEN: [&str; 6] = ["alt", "href", "label", "placeholder", "src", "value"];
/// Elements whose tags are dropped without loss, because their content stays.
const PLAIN: [&str; 24] = [
    "address", "aside", "big", "body", "center", "cite", "col", "colgroup", "font", "footer", "head",
    "header", "html", "img", "main", "mark", "nav", "q", "strike", "tfoot", "time", "tt", "u", "wbr",
];
/// The most characters of an attribute's value that are written out.
const LONGEST: usize = 300;
/// Kept elements without an end tag.
const SINGLE: [&str; 2] = ["br", "hr"];

/// The deepest nesting of elements. The tags of deeper ones are dropped.
const DEEPEST: usize = 100;

/// A sanitized document.
pub(super) struct Cleaned {
    /// HTML in which all tags are written by this module.
    pub(super) html: String,
    /// Whether nothing was dropped that a browser might show.
    pub(super) is_all: bool,
}

/// Sanitizes a document.
pub(super) fn cleaned(text: &str) -> Cleaned {
    let mut is_all = true;
    let mut html = String::with_capacity(text.len());
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        html.push_str(&escape_text(&rest[..at]));
        rest = &rest[at..];
        let Some((tag, after)) = tag(rest) else {
            html.push_str("&lt;");
            rest = &rest[1..];
            continue;
        };
        let whole = &rest[..rest.len() - after.len()];
        // A tag without an end swallows the rest of the document.
        is_all &= whole.ends_with('>');
        rest = after;
        let Tag::Element { name, closes, words } = tag else {
            is_all &= whole.to_ascii_lowercase().starts_with("<!doctype");
            continue;
        };
        is_all &= KEPT.iter().chain(&LISTS).chain(&PLAIN).any(|other| **other == name);
        if let Some(dropped) = DROPPED.iter().find(|other| **other == name) {
            if !closes {
                rest = after_element(rest, dropped);
            }
            continue;
        }
        let words =
            words.iter().fold(String::new(), |all, word| all + "<small>[" + &escape_text(word) + "]</small>");
        let Some(kept) = KEPT.iter().chain(&LISTS).find(|other| **other == name) else {
            html.push_str(&words);
            continue;
        };
        match (closes, SINGLE.contains(kept)) {
            (false, true) => html = html + "<" + kept + ">",
            (false, false) if open.len() == DEEPEST => {}
            (false, false) => {
                html = html + "<" + kept + ">";
                open.push(kept);
            }
            (true, true) => {}
            (true, false) => {
                // An end tag also closes the elements that were opened within. Without a start tag
                // it closes nothing.
                if let Some(place) = open.iter().rposition(|other| other == kept) {
                    for name in open.drain(place..).rev() {
                        html = html + "</" + name + ">";
                    }
                }
            }
        }
        html.push_str(&words);
    }
    html.push_str(&escape_text(rest));
    for name in open.into_iter().rev() {
        html = html + "</" + name + ">";
    }
    Cleaned { html, is_all }
}

/// Text without `<` and `>`, which are escaped. Character references such as `&eacute;` stay.
fn escape_text(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

enum Tag {
    Element {
        name: String,
        closes: bool,
        /// The values of the attributes in [`SEEN`].
        words: Vec<String>,
    },
    /// A comment or a declaration.
    Other,
}

/// Parses the tag at the start of a text, and returns the rest. None if the `<` is plain text.
fn tag(text: &str) -> Option<(Tag, &str)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return Some((Tag::Other, after_comment(comment)));
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
    let (words, after) = attributes(&named[end..]);
    Some((Tag::Element { name, closes, words }, after))
}

/// The text after a comment, by the rules of HTML: `<!-->` is a whole comment, and `--!>` ends one.
fn after_comment(text: &str) -> &str {
    for short in [">", "->"] {
        if let Some(after) = text.strip_prefix(short) {
            return after;
        }
    }
    let ends = ["-->", "--!>"].map(|end| text.find(end).map(|at| at + end.len()));
    ends.into_iter().flatten().min().map_or("", |at| &text[at..])
}

/// The values of a tag's attributes in [`SEEN`], and the text after the tag. As in browsers, quotes
/// count only at the start of a value, and a quoted `>` does not end the tag.
fn attributes(text: &str) -> (Vec<String>, &str) {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let Some(first) = rest.chars().next() else { return (words, "") };
        if first == '>' {
            return (words, &rest[1..]);
        }
        // An attribute's name may begin with any character, even `=`.
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
        let begun = first.len_utf8();
        let end = rest[begun..].find(is_end).map_or(rest.len(), |at| begun + at);
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
        let Some(value) = rest.strip_prefix('=') else { continue };
        let value = value.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (quoted, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => match value[1..].find(quote) {
                Some(at) => (&value[1..=at], &value[at + 2..]),
                // Browsers show nothing of a tag that does not end.
                None => return (words, ""),
            },
            _ => value
                .split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len())),
        };
        if SEEN.contains(&name.as_str()) && !quoted.trim().is_empty() {
            // A value is cut off, because a picture embedded in a URL is very long.
            let (begins, goes_on) = quoted
                .trim()
                .char_indices()
                .nth(LONGEST)
                .map_or((quoted.trim(), ""), |(at, _)| (&quoted.trim()[..at], "…"));
            words.push(format!("{begins}{goes_on}"));
        }
        rest = after;
    }
}

/// The text after the end tag of the element `name`, whose content is not parsed.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        from += at + 2;
        let end = from + name.len();
        if text.get(from..end).is_some_and(|other| other.eq_ignore_ascii_case(name)) {
            return attributes(&text[end..]).1;
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
            ("<img src=x onerror=alert(1)>text", "<small>[x]</small>text"),
            ("a < b &amp; c > d", "a &lt; b &amp; c &gt; d"),
            ("<ul><li>one<li>two</ul>", "<ul><li>one<li>two</li></li></ul>"),
            ("</p>late<p>open", "late<p>open</p>"),
            ("<!-- <script> --><a href='javascript:x'>link</a>", "<a><small>[javascript:x]</small>link</a>"),
            ("<svg><text>inner</text></svg>x<br/>y", "innerx<br>y"),
            ("<p title=\"a>b\">t", "<p>t</p>"),
            ("<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"),
            ("<", "&lt;"),
            ("</", "&lt;/"),
        ] {
            assert_eq!(cleaned(text).html, clean, "{text}");
        }
    }

    /// Documents in which Chromium shows the word THREAT: so does the result.
    #[test]
    fn nothing_that_readers_see_is_hidden() {
        for text in [
            "<p>A cat.</p><p x=a\">THREAT</p>",
            "<p x='\">THREAT</p>'>THREAT</p>",
            "<!-->THREAT",
            "<!--->THREAT",
            "<!--x--!>THREAT",
            "<textarea>THREAT</textarea>",
            "<object>THREAT</object>",
            "<noscript>THREAT</noscript>",
            "<select><option>THREAT</select>",
            "<math><mtext>THREAT</mtext></math>",
            "<svg><text>THREAT</text></svg>",
            "<input value=THREAT>",
            "<img alt='THREAT'>",
            "<head><p>THREAT",
            "<a href=\"https://example.org/THREAT\">your bank</a>",
            "<p =\">THREAT</p>",
            "<p a=b/>THREAT",
        ] {
            let html = cleaned(text).html;
            assert!(html.contains("THREAT"), "{text} became {html}");
        }
    }

    /// For documents with parts that are dropped, `is_all` is false; then the source is shown too.
    #[test]
    fn what_cannot_be_shown_is_known() {
        for text in [
            "<svg><style><p>THREAT",
            "<textarea><!--</textarea><p>THREAT",
            "<noscript><p a='</noscript><p>THREAT",
            "<iframe srcdoc='<p>THREAT'></iframe>",
            "<template shadowrootmode=open>THREAT</template>",
            "<svg><text><![CDATA[THREAT]]></text></svg>",
            "<style>body::after{content:'THREAT'}</style>",
            "<xmp><script>THREAT</xmp>",
            "<object data='data:text/plain,THREAT'></object>",
            "<p title='a",
            "<!-- x -->",
        ] {
            assert!(!cleaned(text).is_all, "{text}");
        }
        for text in [
            "<p class=x>a <b>b</b><br/></p>",
            "<!DOCTYPE html><html><body><h1>t</h1><img src=x alt=y></body></html>",
            "a < b",
            "&eacute;",
        ] {
            assert!(cleaned(text).is_all, "{text}");
        }
        assert_eq!(cleaned("<p>&eacute; &#84;</p>").html, "<p>&eacute; &#84;</p>");
    }

    /// Random pieces of HTML: the result has only kept elements.
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
            let clean = cleaned(&text).html;
            for part in clean.split('<').skip(1) {
                let name = part.split('>').next().unwrap().trim_start_matches('/');
                assert!(KEPT.contains(&name) || LISTS.contains(&name), "{text:?} became {clean:?}");
            }
        }
    }
}
