//! Escapes names and other text from outside for HTML and SVG.

/// Escapes text for HTML and SVG, between tags and in quoted attributes of either kind.
///
/// Control characters, U+FFFE and U+FFFF become U+FFFD, so that strict XML parsers can read the
/// page. Tabs and line breaks are kept.
///
/// ```
/// use jurybox_draw::escaped;
/// assert_eq!(escaped("a < \"b\" & 'c'"), "a &lt; &quot;b&quot; &amp; &#39;c&#39;");
/// assert_eq!(escaped("bell\u{7}"), "bell\u{fffd}");
/// ```
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(character),
            // XML parsers turn an unescaped carriage return into a line feed.
            '\r' => safe.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_leave_neither_text_nor_attribute() {
        assert_eq!(escaped("\"><script>alert('x')</script>"), {
            "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"
        });
        assert_eq!(escaped("&lt;"), "&amp;lt;");
        assert_eq!(escaped("naïve 世界 🙂"), "naïve 世界 🙂");
    }
}
