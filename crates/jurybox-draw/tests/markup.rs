//! Property test: whatever names and numbers come in, the markup is well-formed and has only known
//! elements and attributes.

use jurybox_draw::{
    Bar, Bars, Curve, Frame, HeatMap, Plot, Scale, escaped, page, sparkline, table, warnings,
};
use proptest::prelude::*;
use roxmltree::Document;

const ELEMENTS: [&str; 30] = [
    "html", "head", "meta", "title", "style", "body", "main", "h1", "p", "ul", "li", "div", "table", "tr",
    "th", "td", "thead", "tbody", "svg", "g", "rect", "path", "circle", "text", "figure", "h2", "h3", "b",
    "code", "span",
];
const ATTRIBUTES: [&str; 34] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "viewBox",
    "width",
    "height",
    "role",
    "aria-label",
    "font-family",
    "font-size",
    "font-weight",
    "fill",
    "fill-opacity",
    "x",
    "y",
    "rx",
    "r",
    "cx",
    "cy",
    "d",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-linejoin",
    "stroke-linecap",
    "stroke-dasharray",
    "text-anchor",
    "transform",
    "pointer-events",
    "scope",
    "title",
];

/// Parses a document strictly, refuses unknown elements and attributes, and returns all its text
/// and attribute values.
fn read(markup: &str) -> Result<String, TestCaseError> {
    let markup = markup.strip_prefix("<!doctype html>").unwrap_or(markup);
    let document =
        Document::parse(markup).map_err(|error| TestCaseError::fail(format!("{error}: {markup}")))?;
    let mut text = String::new();
    for node in document.descendants() {
        if node.is_element() {
            let name = node.tag_name().name();
            prop_assert!(ELEMENTS.contains(&name), "element {name}");
            for attribute in node.attributes() {
                prop_assert!(ATTRIBUTES.contains(&attribute.name()), "attribute {}", attribute.name());
                for word in ["NaN", "inf"] {
                    let label = ["aria-label", "title"].contains(&attribute.name());
                    prop_assert!(label || !attribute.value().contains(word), "{}", attribute.value());
                }
                text.push_str(attribute.value());
                text.push('\n');
            }
        } else if let Some(piece) = node.text() {
            prop_assert!(node.is_text(), "neither comments nor instructions");
            text.push_str(piece);
            text.push('\n');
        }
    }
    Ok(text)
}

/// Names as an attacker or a careless colleague would write them.
fn hostile() -> impl Strategy<Value = String> {
    const PIECES: [&str; 26] = [
        "\"><script>alert(1)</script>",
        "</title>",
        "</text>",
        "<!--",
        "-->",
        "]]>",
        "<![CDATA[",
        "&amp;",
        "&#0;",
        "'",
        "\" onload=\"x",
        "</svg>",
        "</style>",
        "\u{0}",
        "\u{1b}[31m",
        "\u{fffe}",
        "\u{202e}",
        "\r\n",
        "\t",
        "<?x ?>",
        "{}",
        "var(--ink)",
        "",
        "a-very-long-name-that-has-to-be-cut-somewhere-to-fit-<b>",
        "世界",
        "🙂",
    ];
    let piece = prop_oneof![proptest::sample::select(&PIECES[..]).prop_map(String::from), any::<String>()];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -10.0..10.0_f64, 1 => any::<f64>(), 1 => proptest::sample::select(&[
        0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, 1e-300,
    ][..])]
}

fn curve() -> impl Strategy<Value = Curve> {
    let points = proptest::collection::vec((number(), number(), number()), 0..16);
    (hostile(), points, any::<bool>(), proptest::option::of(0..40_usize)).prop_map(
        |(name, points, reference, style)| {
            let curve = Curve::with_band(&name, points);
            Curve { style, ..if reference { curve.as_reference() } else { curve } }
        },
    )
}

/// A name as a parser reads it back after escaping.
fn as_read(name: &str) -> String {
    let shown = |c: char| !matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    let kept = |c: char| shown(c) || matches!(c, '\t' | '\n' | '\r');
    name.chars().map(|c| if kept(c) { c } else { '\u{fffd}' }).collect()
}

proptest! {
    #[test]
    fn text_reads_back_as_it_was(name in hostile()) {
        let markup = format!("<p title=\"{0}\" class='{0}'>{0}</p>", escaped(&name));
        let document = Document::parse(&markup).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let root = document.root_element();
        let text: String = root.children().filter_map(|node| node.text()).collect();
        prop_assert_eq!(&text, &as_read(&name));
        // Parsers read tabs and line feeds in attribute values as spaces.
        let flat = as_read(&name).replace(['\t', '\n'], " ");
        for attribute in ["title", "class"] {
            prop_assert_eq!(root.attribute(attribute), Some(flat.as_str()));
        }
    }

    #[test]
    fn plots_hold_whatever_they_are_given(
        title in hostile(), x_label in hostile(), y_label in hostile(),
        logs in any::<(bool, bool)>(), tight in any::<bool>(), legend in any::<bool>(),
        curves in proptest::collection::vec(curve(), 0..40),
    ) {
        let scale = |log| if log { Scale::Log } else { Scale::Linear };
        let plot = Plot { title, x_label, y_label, x_scale: scale(logs.0), y_scale: scale(logs.1), curves };
        let mut frame = Frame::tight(400.0, 260.0, if legend { 120.0 } else { 0.0 });
        frame.tight = tight;
        for svg in [plot.drawn(&frame), plot.drawn(&frame.for_file()), plot.to_svg()] {
            let text = read(&svg)?;
            prop_assert!(text.contains(&as_read(&plot.title)));
        }
        read(&format!("<div>{}</div>", plot.to_html()))?;
        prop_assert_eq!(plot.to_html(), plot.clone().to_html());
    }

    #[test]
    fn maps_bars_and_sparklines_too(
        names in proptest::collection::vec(hostile(), 0..12),
        values in proptest::collection::vec(number(), 144),
        most in 0..14_usize,
    ) {
        let map = HeatMap::new(&names, |i, j| values[12 * i + j]).ordered();
        for markup in [map.drawn(300.0), map.drawn(820.0), map.to_table()] {
            let text = read(&markup)?;
            for name in &names {
                prop_assert!(text.contains(&as_read(name)));
            }
        }
        prop_assert_eq!(map.clone().strongest(most).names().len(), most.min(names.len()));
        let bar = |(at, name): (usize, &String)| Bar::new(name, values[at], Some((values[at + 1], values[at + 2])));
        let bars = Bars { bars: names.iter().enumerate().map(bar).collect() };
        read(&format!("<div>{}</div>", bars.to_html()))?;
        for (at, bar) in bars.bars.iter().enumerate() {
            let text = read(&bar.cell(values[at]))?;
            prop_assert!(text.contains(&as_read(&bar.name)));
            read(&sparkline(&bar.name, &values[..at * 7], at))?;
        }
    }

    #[test]
    fn so_does_the_page(title in hostile(), cells in proptest::collection::vec(hostile(), 6)) {
        let body = warnings(&cells) + &table(&cells[..2], &[&cells[2..4], &cells[4..]]);
        let text = read(&page(&title, &body))?;
        for part in cells.iter().chain([&title]) {
            prop_assert!(text.contains(&as_read(part)));
        }
    }
}
