//! Heat maps: square tables of values around zero, such as correlations.

use crate::colour::Colour;
use crate::escape::escaped;
use crate::order::by_likeness;
use crate::svg::{Ground, Svg, both, px, width_of};
use std::fmt::Write;

/// A square of values from -1 to 1, with the same names for rows and columns.
///
/// ```
/// use jurybox_draw::HeatMap;
/// let map = HeatMap::new(&["spam", "tone"], |i, j| if i == j { 1.0 } else { -0.25 });
/// assert!(map.drawn(600.0).contains("spam, tone: -0.250"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    names: Vec<String>,
    /// The values, row after row.
    values: Vec<f64>,
}

/// Share of the warm or cool colour in the strongest cells. Numbers stay readable on them.
pub(crate) const DEPTH: f64 = 0.9;
/// Largest side of a cell, in pixels.
const LARGEST: f64 = 46.0;
/// Smallest side of a cell that has its number written in it.
const NUMBERED: f64 = 34.0;
/// Smallest side of any cell.
const SMALLEST: f64 = 7.0;

impl HeatMap {
    /// A map in the order of the names. `value(row, column)` gives the values; NaN means unknown.
    ///
    /// ```
    /// let empty = jurybox_draw::HeatMap::new::<&str>(&[], |_, _| 0.0);
    /// assert!(empty.drawn(300.0).starts_with("<svg"));
    /// ```
    pub fn new<S: AsRef<str>>(names: &[S], value: impl Fn(usize, usize) -> f64) -> HeatMap {
        let n = names.len();
        let values = (0..n * n).map(|at| value(at / n, at % n)).collect();
        HeatMap { names: names.iter().map(|name| name.as_ref().to_string()).collect(), values }
    }

    /// Reorders the names by clustering: names with large values between them become neighbours.
    ///
    /// ```
    /// use jurybox_draw::HeatMap;
    /// let twins = |i: usize, j: usize| if i % 2 == j % 2 { 0.9 } else { 0.0 };
    /// let map = HeatMap::new(&["a", "b", "a's twin", "b's twin"], twins).ordered();
    /// assert_eq!(map.names(), ["a", "a's twin", "b", "b's twin"]);
    /// ```
    #[must_use]
    pub fn ordered(self) -> HeatMap {
        let order = by_likeness(self.names.len(), |i, j| self.value(i, j));
        self.only(&order)
    }

    /// Keeps at most `most` names: those with the largest absolute value against another name.
    /// Their order stays.
    ///
    /// ```
    /// use jurybox_draw::HeatMap;
    /// let map = HeatMap::new(&["a", "b", "c"], |i, j| if i + j == 3 { -0.8 } else { 0.1 });
    /// assert_eq!(map.strongest(2).names(), ["b", "c"]);
    /// ```
    #[must_use]
    pub fn strongest(self, most: usize) -> HeatMap {
        let n = self.names.len();
        let reach = |i: usize| {
            let others = (0..n).filter(|j| *j != i).map(|j| self.value(i, j).abs());
            others.filter(|v| v.is_finite()).fold(0.0, f64::max)
        };
        let mut chosen: Vec<(usize, f64)> = (0..n).map(|i| (i, reach(i))).collect();
        chosen.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut kept: Vec<usize> = chosen.into_iter().take(most).map(|(i, _)| i).collect();
        kept.sort_unstable();
        self.only(&kept)
    }

    /// The names, in the order of the rows.
    ///
    /// ```
    /// assert_eq!(jurybox_draw::HeatMap::new(&["spam"], |_, _| 1.0).names(), ["spam"]);
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The map as an HTML table for a [`page`](crate::page).
    ///
    /// Screen readers read it cell by cell, unlike a drawing. Each row has a number and a name,
    /// each column only the number.
    ///
    /// ```
    /// use jurybox_draw::HeatMap;
    /// let map = HeatMap::new(&["spam", "tone"], |i, j| if i == j { 1.0 } else { -0.25 });
    /// let table = map.to_table();
    /// assert!(table.contains("<th scope=\"row\">1 spam</th><td class=\"warm-8\">1</td>"));
    /// assert!(table.contains("<td class=\"cool-2\">−.25</td>"));
    /// ```
    pub fn to_table(&self) -> String {
        let n = self.names.len();
        let mut html = String::from("<table class=\"heat\"><thead><tr><td></td>");
        for (j, name) in self.names.iter().enumerate() {
            let _ = write!(html, "<th scope=\"col\" title=\"{}\">{}</th>", escaped(name), j + 1);
        }
        html.push_str("</tr></thead><tbody>");
        for (i, name) in self.names.iter().enumerate() {
            let _ = write!(html, "<tr><th scope=\"row\">{} {}</th>", i + 1, escaped(name));
            for value in (0..n).map(|j| self.value(i, j)) {
                let _ = write!(html, "<td class=\"{}\">{}</td>", shade_of(value), brief(value));
            }
            html.push_str("</tr>");
        }
        html + "</tbody></table>\n"
    }

    fn only(&self, rows: &[usize]) -> HeatMap {
        let names: Vec<&str> = rows.iter().map(|i| self.names[*i].as_str()).collect();
        HeatMap::new(&names, |i, j| self.value(rows[i], rows[j]))
    }

    fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.names.len() + j]
    }

    /// The map for a [`page`](crate::page): a wide and a narrow drawing. The page shows
    /// one.
    ///
    /// ```
    /// let map = jurybox_draw::HeatMap::new(&["spam"], |_, _| 1.0);
    /// assert!(map.to_html().contains("class=\"wide\""));
    /// ```
    pub fn to_html(&self) -> String {
        both(&self.drawn(820.0), &self.drawn(300.0))
    }

    /// The map for a page as one drawing. It is wider than `width` only if the smallest cells or
    /// the legend need more.
    pub fn drawn(&self, width: f64) -> String {
        let n = self.names.len();
        let longest = self.names.iter().map(|name| width_of(name)).fold(0.0, f64::max);
        let margin = (longest + 12.0).min(0.36 * width);
        let cell = ((width - margin - 2.0) / n.max(1) as f64).clamp(SMALLEST, LARGEST).floor();
        let size = n as f64 * cell;
        // Column names hang below the map, turned by 40 degrees.
        let (cos, sin) = (0.766, 0.643);
        let hang = (margin - 12.0).min(longest);
        let scale_at = size + sin * hang + 26.0;
        let whole = (margin + size + 2.0).max(margin.max(60.0) + 140.0);
        let mut svg = Svg::new(whole, scale_at + 30.0, "Heat map", Ground::Page);
        // If cells are lower than a line of text (13 pixels), every second name is written.
        let every = (13.0 / cell).ceil().max(1.0) as usize;
        for (i, name) in self.names.iter().enumerate() {
            let middle = (i as f64 + 0.5) * cell;
            if i % every == 0 {
                svg.name(margin - 6.0, middle + 4.0, "end", margin - 8.0, name);
                let (x, y) = (margin + middle + 3.0, size + 12.0);
                svg.raw(format_args!("<g transform=\"translate({} {}) rotate(-40)\">", px(x), px(y)));
                let room = hang.min((x - 2.0) / cos);
                svg.name(0.0, 0.0, "end", room, name);
                svg.raw(format_args!("</g>"));
            }
            for j in 0..n {
                self.write_cell(&mut svg, (i, j), (margin + j as f64 * cell, i as f64 * cell), cell);
            }
        }
        write_scale(&mut svg, margin, scale_at);
        svg.finish()
    }

    fn write_cell(&self, svg: &mut Svg, (i, j): (usize, usize), (x, y): (f64, f64), cell: f64) {
        let value = self.value(i, j);
        let gap = if cell >= 14.0 { 2.0 } else { 0.0 };
        let shown = if value.is_nan() { "unknown".into() } else { format!("{value:.3}") };
        svg.titled(&format!("{}, {}: {shown}", self.names[i], self.names[j]), |svg| {
            shade(svg, value, (x, y), (cell - gap, cell - gap));
            if cell >= NUMBERED {
                let text = if value.is_nan() { "–".into() } else { signed(value) };
                let middle = 0.5 * (cell - gap);
                svg.word(x + middle, y + middle + 4.0, "middle", "font-size=\"11\"", &text);
            }
        });
    }
}

/// Number of shades in a table for positive values, and for negative ones.
const SHADES: u8 = 8;

/// The CSS class of a value: its shade, `none` near zero, or `unknown` for NaN.
fn shade_of(value: f64) -> String {
    let step = (value.abs().min(1.0) * f64::from(SHADES)).round();
    match value {
        v if v.is_nan() => "unknown".into(),
        _ if step == 0.0 => "none".into(),
        v => format!("{}-{step}", if v > 0.0 { "warm" } else { "cool" }),
    }
}

/// The CSS rules of the shades in tables.
pub(crate) fn shades() -> String {
    let mut rules = String::new();
    for (name, colour) in [("warm", Colour::Warm), ("cool", Colour::Cool)] {
        for step in 1..=SHADES {
            let share = 100.0 * DEPTH * f64::from(step) / f64::from(SHADES);
            let (colour, ground) = (colour.variable(), Colour::Surface.variable());
            let _ = writeln!(
                rules,
                ".{name}-{step}{{background:color-mix(in srgb,{colour} {share:.0}%,{ground})}}"
            );
        }
    }
    rules
}

/// At most two decimals, without a leading zero, to fit a small cell; a dash if not finite.
fn brief(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let digits = match format!("{:.2}", value.abs()).as_str() {
        "0.00" => return "0".into(),
        whole if whole.ends_with(".00") => whole.trim_end_matches(".00").to_string(),
        part => part.trim_start_matches('0').to_string(),
    };
    if value < 0.0 { format!("−{digits}") } else { digits }
}

fn signed(value: f64) -> String {
    match format!("{value:.2}") {
        zero if zero == "-0.00" => "0.00".into(),
        text => text,
    }
}

fn shade(svg: &mut Svg, value: f64, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let (colour, share) = match value {
        v if v.is_nan() => (Colour::Hairline, 0.5),
        v => (if v > 0.0 { Colour::Warm } else { Colour::Cool }, DEPTH * v.abs().min(1.0)),
    };
    let (ground, colour) = (svg.colour(Colour::Surface), svg.colour(colour));
    let place = format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", px(x), px(y), px(width), px(height));
    svg.raw(format_args!("<rect {place} fill=\"{ground}\"/>"));
    svg.raw(format_args!("<rect {place} fill=\"{colour}\" fill-opacity=\"{share:.3}\"/>"));
}

/// Draws the legend of the shades: from -1 to 1.
fn write_scale(svg: &mut Svg, left: f64, top: f64) {
    const STEPS: i32 = 8;
    const WIDE: f64 = 15.0;
    for step in -STEPS / 2..=STEPS / 2 {
        let x = left + f64::from(step + STEPS / 2) * WIDE;
        shade(svg, f64::from(step) / f64::from(STEPS / 2), (x, top), (WIDE, 8.0));
    }
    for (text, at) in [("-1", 0.5), ("0", 4.5), ("1", 8.5)] {
        svg.aside(left + at * WIDE, top + 22.0, "middle", text);
    }
}
