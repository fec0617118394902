//! The colours of drawings and pages, named by purpose, in light and dark.

/// A colour by its purpose.
///
/// [`Colour::Series`] takes the number of a curve, so that it looks the same in several drawings.
/// Its eight colours are those of Okabe and Ito, safe for colour-blind readers, adjusted for
/// contrast. Numbers from 8 on repeat them, and [dashes](crate::Curve::style) tell the curves
/// apart.
///
/// ```
/// use jurybox_draw::Colour;
/// assert_eq!(Colour::Muted.variable(), "var(--muted)");
/// assert_eq!(Colour::Series(8).variable(), Colour::Series(0).variable());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Background of the page.
    Background,
    /// Background of panels.
    Surface,
    /// Text.
    Ink,
    /// Muted text.
    Muted,
    /// Grids and borders.
    Hairline,
    /// Links.
    Accent,
    /// A good state.
    Good,
    /// A state that deserves a look.
    Warn,
    /// A bad state.
    Bad,
    /// The positive end of a scale around zero.
    Warm,
    /// The negative end of a scale around zero.
    Cool,
    /// One of the colours that tell curves apart.
    Series(usize),
}

/// Name of a CSS variable, its light colour and its dark colour.
type Token = (&'static str, &'static str, &'static str);

const TOKENS: [Token; 11] = [
    ("background", "#fbfbf9", "#131316"),
    ("surface", "#ffffff", "#1b1b1f"),
    ("ink", "#1b1b19", "#ecebe6"),
    ("muted", "#66655f", "#a09e97"),
    ("hairline", "#e5e3dc", "#2e2e33"),
    ("accent", "#2456c7", "#8db2ff"),
    ("good", "#1f7a4d", "#74d3a0"),
    ("warn", "#97590a", "#f0b765"),
    ("bad", "#b3261e", "#ff9187"),
    ("warm", "#f0805f", "#a63f22"),
    ("cool", "#6aa5de", "#2a62a6"),
];

/// The colours of Okabe and Ito, darkened on light paper or lightened on dark where needed. Lines
/// and background have a contrast of at least 3 to 1.
const SERIES: [Token; 8] = [
    ("series-1", "#0072b2", "#4ba3e3"),
    ("series-2", "#d55e00", "#f0803c"),
    ("series-3", "#009e73", "#1fbf93"),
    ("series-4", "#bf5f92", "#d992ba"),
    ("series-5", "#3c97cb", "#8fd0f5"),
    ("series-6", "#b98000", "#e69f00"),
    ("series-7", "#1b1b19", "#ecebe6"),
    ("series-8", "#8a8000", "#f0e442"),
];

const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// The dash pattern of the curve with this number; empty for a solid line.
pub(crate) fn dashes(style: usize) -> &'static str {
    DASHES[(style / SERIES.len()) % DASHES.len()]
}

impl Colour {
    fn token(self) -> &'static Token {
        match self {
            Colour::Background => &TOKENS[0],
            Colour::Surface => &TOKENS[1],
            Colour::Ink => &TOKENS[2],
            Colour::Muted => &TOKENS[3],
            Colour::Hairline => &TOKENS[4],
            Colour::Accent => &TOKENS[5],
            Colour::Good => &TOKENS[6],
            Colour::Warn => &TOKENS[7],
            Colour::Bad => &TOKENS[8],
            Colour::Warm => &TOKENS[9],
            Colour::Cool => &TOKENS[10],
            Colour::Series(style) => &SERIES[style % SERIES.len()],
        }
    }

    /// The colour as a CSS variable for markup on a page; [`style`](crate::style) defines it.
    pub fn variable(self) -> String {
        format!("var(--{})", self.token().0)
    }

    /// The light colour itself as a hexadecimal code, for drawings that are files of their own.
    pub(crate) fn light(self) -> String {
        self.token().1.into()
    }
}

/// Definitions of all CSS variables, with their light or dark colours.
pub(crate) fn variables(dark: bool) -> String {
    TOKENS.iter().chain(&SERIES).fold(String::new(), |css, (name, light, night)| {
        css + "--" + name + ":" + if dark { night } else { light } + ";"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::DEPTH;

    type Rgb = [f64; 3];

    fn rgb(colour: Colour, dark: bool) -> Rgb {
        let token = colour.token();
        let hex = if dark { token.2 } else { token.1 };
        [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
    }

    /// Relative luminance as defined by WCAG 2.
    fn luminance(colour: Rgb) -> f64 {
        let linear = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_stands_out_from_its_ground_in_light_and_dark() {
        for dark in [false, true] {
            for ground in [Colour::Background, Colour::Surface] {
                for text in
                    [Colour::Ink, Colour::Muted, Colour::Accent, Colour::Good, Colour::Warn, Colour::Bad]
                {
                    let ratio = contrast(rgb(text, dark), rgb(ground, dark));
                    assert!(ratio >= 4.5, "{text:?} on {ground:?}, dark {dark}: {ratio:.2}");
                }
                for line in (0..SERIES.len()).map(Colour::Series) {
                    let ratio = contrast(rgb(line, dark), rgb(ground, dark));
                    assert!(ratio >= 3.0, "{line:?} on {ground:?}, dark {dark}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_readable_on_every_shade_of_a_heat_map() {
        for dark in [false, true] {
            for end in [Colour::Warm, Colour::Cool] {
                for step in 0..=20 {
                    let share = DEPTH * f64::from(step) / 20.0;
                    let (top, ground) = (rgb(end, dark), rgb(Colour::Surface, dark));
                    let cell = [0, 1, 2].map(|c| share * top[c] + (1.0 - share) * ground[c]);
                    let ratio = contrast(cell, rgb(Colour::Ink, dark));
                    assert!(ratio >= 4.5, "{end:?} at {share:.2}, dark {dark}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn the_first_lines_all_look_different() {
        let looks: std::collections::BTreeSet<(String, &str)> =
            (0..32).map(|style| (Colour::Series(style).light(), dashes(style))).collect();
        assert_eq!(looks.len(), 32);
    }
}
