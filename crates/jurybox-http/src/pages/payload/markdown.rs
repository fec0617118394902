//! A renderer of simple Markdown: headings, lists, quotes, code, emphasis and links.

use maud::{Markup, PreEscaped, html};

/// Renders Markdown. Unknown syntax stays as text, and HTML is always escaped.
pub(super) fn rendered(text: &str) -> Markup {
    let lines: Vec<&str> = text.lines().collect();
    let (mut html, mut at) = (String::new(), 0);
    while at < lines.len() {
        let (block, next) = block(&lines, at);
        html.push_str(&block.into_string());
        at = next;
    }
    PreEscaped(html)
}

/// The index of the first line, from `at` on, that is not `alike`.
fn run(lines: &[&str], at: usize, alike: impl Fn(&str) -> bool) -> usize {
    at + lines[at..].iter().take_while(|line| alike(line)).count()
}

fn block(lines: &[&str], at: usize) -> (Markup, usize) {
    let line = lines[at].trim_end();
    if line.trim().is_empty() {
        return (html! {}, at + 1);
    }
    if line.trim_start().starts_with("```") {
        let end = run(lines, at + 1, |line| !line.trim_start().starts_with("```"));
        let code = lines[at + 1..end].join("\n");
        return (html! { pre tabindex="0" { code { (code) } } }, (end + 1).min(lines.len()).max(at + 1));
    }
    if let Some((depth, title)) = heading(line) {
        // The page around the text has `h1` and `h2`.
        return (
            html! { @if depth == 1 { h3 { (inline(title)) } } @else { h4 { (inline(title)) } } },
            at + 1,
        );
    }
    if line.starts_with('>') {
        let end = run(lines, at, |line| line.starts_with('>'));
        let inner: Vec<&str> = lines[at..end].iter().map(|line| line[1..].trim_start()).collect();
        return (html! { blockquote { p { (inline(&inner.join(" "))) } } }, end);
    }
    if bullet(line).is_some() {
        let end = run(lines, at, |line| bullet(line).is_some());
        let points = lines[at..end].iter().filter_map(|line| bullet(line));
        return (html! { ul { @for point in points { li { (inline(point)) } } } }, end);
    }
    if numbered(line).is_some() {
        let end = run(lines, at, |line| numbered(line).is_some());
        let points = lines[at..end].iter().filter_map(|line| numbered(line));
        return (html! { ol { @for point in points { li { (inline(point)) } } } }, end);
    }
    let plain = |line: &str| {
        let special = heading(line).is_some() || bullet(line).is_some() || numbered(line).is_some();
        !line.trim().is_empty() && !special && !line.starts_with('>') && !line.trim_start().starts_with("```")
    };
    let end = run(lines, at, plain).max(at + 1);
    (html! { p { (inline(&lines[at..end].join("\n"))) } }, end)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[depth..].strip_prefix(' ')?;
    (1..=6).contains(&depth).then(|| (depth, title.trim()))
}

fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))
}

fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.trim_start().split_once(". ")?;
    ((1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

/// Renders emphasis, code and links within a text.
fn inline(text: &str) -> Markup {
    let mut html = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        html.push_str(&jurybox_draw::escaped(&rest[..at]));
        rest = &rest[at..];
        let Some((part, after)) = markup_at(rest) else {
            html.push_str(&jurybox_draw::escaped(&rest[..1]));
            rest = &rest[1..];
            continue;
        };
        html.push_str(&part.into_string());
        rest = after;
    }
    html.push_str(&jurybox_draw::escaped(rest));
    PreEscaped(html)
}

/// Renders the markup at the start of a text, and returns the rest. None if it is plain text.
fn markup_at(text: &str) -> Option<(Markup, &str)> {
    if let Some(code) = text.strip_prefix('`') {
        let end = code.find('`')?;
        return Some((html! { code { (code[..end]) } }, &code[end + 1..]));
    }
    for (mark, strong) in [("**", true), ("*", false)] {
        let Some(inner) = text.strip_prefix(mark) else { continue };
        let end = inner.find(mark).filter(|end| *end > 0 && !inner.starts_with(' '))?;
        let (content, after) = (&inner[..end], &inner[end + mark.len()..]);
        // Emphasis within emphasis stays as text.
        return Some((html! { @if strong { strong { (content) } } @else { em { (content) } } }, after));
    }
    let (content, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    let web = target.starts_with("https://") || target.starts_with("http://");
    let clean = web && target.bytes().all(|byte| byte.is_ascii_graphic()) && !content.contains(['[', '\n']);
    clean.then(|| {
        (html! { a href=(target) rel="noopener noreferrer nofollow" target="_blank" { (content) } }, after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(markdown: &str) -> String {
        rendered(markdown).into_string()
    }

    #[test]
    fn what_people_write_is_set() {
        for (markdown, html) in [
            ("# A\ntext", "<h3>A</h3><p>text</p>"),
            ("- one\n- **two**", "<ul><li>one</li><li><strong>two</strong></li></ul>"),
            ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
            ("> said\n> twice", "<blockquote><p>said twice</p></blockquote>"),
            ("a *b* `c<d`", "<p>a <em>b</em> <code>c&lt;d</code></p>"),
            ("```\nx < y\n```\nz", "<pre tabindex=\"0\"><code>x &lt; y</code></pre><p>z</p>"),
            ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
            ("```", "<pre tabindex=\"0\"><code></code></pre>"),
        ] {
            assert_eq!(text(markdown), html, "{markdown}");
        }
    }

    #[test]
    fn nothing_of_it_is_html_and_links_lead_to_the_web_alone() {
        assert_eq!(text("<script>x</script>"), "<p>&lt;script&gt;x&lt;/script&gt;</p>");
        assert!(
            text("[a](https://b.test)")
                .contains("<a href=\"https://b.test\" rel=\"noopener noreferrer nofollow\"")
        );
        for hostile in [
            "[a](javascript:alert(1))",
            "[a](data:text/html,x)",
            "[a](https://x\" onclick=\"y)",
            "**<b>**",
            "`<b>`",
        ] {
            let html = text(hostile);
            assert!(!html.contains("<a ") && !html.contains("<b>"), "{html}");
        }
    }
}
