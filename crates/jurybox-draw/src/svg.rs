//! Writes SVG elements, for the two targets of a drawing: a page or a file.

use crate::colour::Colour;
use crate::escape::escaped;
use crate::number::trimmed;
use std::fmt::Write;

/// The target of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// A page, whose CSS variables give the colours.
    Page,
    /// An SVG file of its own, in light colours on a background.
    File,
}

/// A drawing under construction. Its texts, labels and titles are all escaped here.
pub(crate) struct Svg {
    text: String,
    ground: Ground,
}

/// A coordinate or a length, rounded to a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match trimmed(&text) {
        "-0" => "0".into(),
        text => text.into(),
    }
}

impl Svg {
    /// Starts a drawing of this size; `label` is read by screen readers.
    pub(crate) fn new(width: f64, height: f64, label: &str, ground: Ground) -> Svg {
        let mut svg = Svg { text: String::new(), ground };
        let (w, h) = (px(width), px(height));
        // On a page the drawing inherits the page's font.
        let (name, family) = match ground {
            Ground::Page => ("", ""),
            Ground::File => (
                " xmlns=\"http://www.w3.org/2000/svg\"",
                " font-family=\"system-ui, -apple-system, Helvetica, Arial, sans-serif\"",
            ),
        };
        let ink = svg.colour(Colour::Ink);
        let _ = write!(
            svg.text,
            "<svg{name} viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\"{family} \
             font-size=\"12\" fill=\"{ink}\">",
            escaped(label)
        );
        if ground == Ground::File {
            let surface = svg.colour(Colour::Surface);
            let _ = write!(svg.text, "<rect width=\"{w}\" height=\"{h}\" fill=\"{surface}\"/>");
        }
        svg
    }

    pub(crate) fn colour(&self, colour: Colour) -> String {
        match self.ground {
            Ground::Page => colour.variable(),
            Ground::File => colour.light(),
        }
    }

    /// Adds markup unescaped: it must be made of fixed text, numbers and colours alone.
    pub(crate) fn raw(&mut self, markup: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(markup);
    }

    /// Adds text at a position; `more` are attributes.
    pub(crate) fn word(&mut self, x: f64, y: f64, anchor: &str, more: &str, text: &str) {
        let _ = write!(
            self.text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\"{}{more}>{}</text>",
            px(x),
            px(y),
            if more.is_empty() { "" } else { " " },
            escaped(text)
        );
    }

    /// Adds text in the muted colour.
    pub(crate) fn aside(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let more = format!("fill=\"{}\"", self.colour(Colour::Muted));
        self.word(x, y, anchor, &more, text);
    }

    /// Adds a name, shortened to `room` pixels; a shortened name has the whole name as its tooltip.
    pub(crate) fn name(&mut self, x: f64, y: f64, anchor: &str, room: f64, name: &str) {
        let cut = fitted(name, room);
        if cut == name {
            return self.word(x, y, anchor, "", name);
        }
        self.titled(name, |svg| svg.word(x, y, anchor, "", &cut));
    }

    /// Adds what `inside` draws, with `title` as its tooltip unless empty.
    pub(crate) fn titled(&mut self, title: &str, inside: impl FnOnce(&mut Svg)) {
        if title.is_empty() {
            return inside(self);
        }
        let _ = write!(self.text, "<g><title>{}</title>", escaped(title));
        inside(self);
        self.text.push_str("</g>");
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Wraps a wide and a narrow drawing; the page's style sheet shows one of them.
pub(crate) fn both(wide: &str, narrow: &str) -> String {
    format!("<div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div>")
}

/// Approximate width of a text in pixels, at a font size of 12 pixels.
pub(crate) fn width_of(text: &str) -> f64 {
    text.chars().map(advance).sum()
}

fn advance(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '!' => 3.6,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' | '[' | ']' => 4.8,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 10.4,
        'A'..='Z' | '_' | '+' | '=' | '~' => 8.2,
        '\u{1100}'..='\u{ffef}' | '\u{1f000}'.. => 12.4,
        _ => 7.2,
    }
}

/// The text, shortened with an ellipsis to about `room` pixels.
pub(crate) fn fitted(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.into();
    }
    let mut used = 12.0;
    let cut: String = text
        .chars()
        .take_while(|c| {
            used += advance(*c);
            used <= room
        })
        .collect();
    cut.trim_end().to_string() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_their_room() {
        assert_eq!(fitted("spam", 60.0), "spam");
        let cut = fitted("a-very-long-evaluator-name-v3", 90.0);
        assert!(cut.ends_with('…') && cut.starts_with("a-very") && width_of(&cut) <= 95.0, "{cut}");
    }

    #[test]
    fn places_are_short() {
        assert_eq!([px(3.0), px(-0.01), px(2.25), px(10.0)], ["3", "0", "2.2", "10"]);
    }
}
