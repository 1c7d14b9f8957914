//! Line plots as SVG, with nothing in them that comes from elsewhere.

use std::fmt::Write;

/// Size of a plot, and of the space round its axes.
#[derive(Debug, Clone, Copy)]
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// A plot by itself, with its legend on the right.
const FULL: Frame =
    Frame { width: 760.0, height: 440.0, left: 70.0, right: 210.0, top: 40.0, bottom: 55.0 };
/// One of several side by side, whose legend is elsewhere.
const SMALL: Frame =
    Frame { width: 380.0, height: 280.0, left: 62.0, right: 14.0, top: 34.0, bottom: 46.0 };

/// One on a page that has title and legend next to it.
const THEMED: Frame =
    Frame { width: 560.0, height: 300.0, left: 62.0, right: 16.0, top: 12.0, bottom: 48.0 };

/// How a plot is drawn, where that is not as [`Plot::to_svg`] does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style<'a> {
    /// One of several side by side: smaller, and without a legend (see [`legend_key`]).
    pub small: bool,
    /// Upwards from 0 in equal steps, not by ratios.
    pub linear_y: bool,
    /// From 0 to the right in equal steps, not by ratios.
    pub linear_x: bool,
    /// Powers of ten to the right, not of two.
    pub decades: bool,
    /// For a page that gives colours by classes (`s0`, `s1`, ... for lines; see
    /// [`crate::page`]), with the title and the legend outside: lines without points, in the
    /// colours of the text.
    pub themed: bool,
    /// By line: from where to where values spread, at some points. On a page a coloured band.
    pub spread: &'a [Vec<Spread>],
    /// On a page: a mark at each point of these lines, by their numbers: what was measured, next to
    /// curves.
    pub marked: &'a [usize],
    /// On a page: counts of whole numbers, each a bar.
    pub bars: bool,
    /// On a page: the space below lines is coloured, too.
    pub filled: bool,
}

/// Colours that remain different for colour-blind readers (Okabe and Ito 2008), and dashes for the
/// second time round.
const COLOURS: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Value on the horizontal axis.
    pub x: f64,
    /// Value on the vertical axis.
    pub y: f64,
}

impl Point {
    /// The point at `x`, `y`.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// From where to where values spread at a point.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// To the right.
    pub x: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Points from left to right; both values above 0.
    pub points: Vec<Point>,
}

/// A plot with logarithmic axes.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Text above the plot.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Both axes.
struct Axes {
    x: Axis,
    y: Axis,
}

impl Axes {
    /// The place of a point in the drawing.
    fn place(&self, point: Point) -> Point {
        Point::new(self.x.at(point.x), self.y.at(point.y))
    }
}

/// An axis: logarithmic, or linear from 0.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    linear: bool,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high == 0.0 {
            (low, high) = (1.0, 10.0);
        }
        if high / low < 1.5 {
            (low, high) = (low / 1.5, high * 1.5);
        }
        Self { low, high, from, to, linear: false }
    }

    /// This axis in equal steps from 0, with some room at the end.
    fn linear(self, room: f64) -> Self {
        Self { low: 0.0, high: self.high * room, linear: true, ..self }
    }

    /// Whether its numbers are too long for the narrow side of a page.
    fn is_long(&self, style: Style<'_>) -> bool {
        style.themed && self.high >= 1e4
    }

    /// With half a step on both sides, so that bars have room.
    fn round_whole_numbers(self) -> Self {
        Self { low: -0.5, high: self.high + 0.5, ..self }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.linear {
            (value - self.low) / (self.high - self.low)
        } else {
            (value / self.low).ln() / (self.high / self.low).ln()
        };
        self.from + share * (self.to - self.from)
    }

    /// Round numbers on it: 1, 2 and 5 of each power of ten, or powers of two.
    fn ticks(&self, steps: &[f64], base: f64) -> Vec<f64> {
        if self.linear {
            return self.equal_steps();
        }
        let first = self.low.log(base).floor() as i32;
        let last = self.high.log(base).ceil() as i32;
        let all = (first..=last).flat_map(|power| steps.iter().map(move |s| s * base.powi(power)));
        all.filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick)).collect()
    }

    /// From 0 upwards, by a round number that gives four to nine steps.
    fn equal_steps(&self) -> Vec<f64> {
        let power = 10_f64.powf((self.high / 5.0).log10().floor());
        let rounds = [1.0, 2.0, 5.0, 10.0].map(|round| round * power);
        let step = rounds.into_iter().find(|step| self.high / step < 8.0).unwrap_or(power);
        let count = (self.high / step).floor() as u32;
        (0..=count).map(|n| f64::from(n) * step).collect()
    }
}

/// Text as HTML and SVG hold it.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Plot {
    /// The plot as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.draw(Style::default())
    }

    /// The plot as an SVG document, in a style.
    #[must_use]
    pub fn draw(&self, style: Style<'_>) -> String {
        let frame = match style {
            Style { themed: true, .. } => THEMED,
            Style { small: true, .. } => SMALL,
            _ => FULL,
        };
        let (right, down) = (frame.width - frame.right, frame.height - frame.bottom);
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let spread = || style.spread.iter().flatten();
        let x = Axis::over(points().map(|point| point.x), frame.left, right);
        let ends = spread().flat_map(|it| [it.low, it.high]);
        let y = Axis::over(points().map(|point| point.y).chain(ends), down, frame.top);
        let x = if style.linear_x { x.linear(1.0) } else { x };
        let x = if style.bars { x.round_whole_numbers() } else { x };
        let y = if style.linear_y { y.linear(1.05) } else { y };
        let middle = (frame.left + right) / 2.0;
        let mut out = if style.themed {
            opened_in_page(frame.width, frame.height, &self.title)
        } else {
            let mut out = opened(frame.width, frame.height);
            text(&mut out, middle, frame.top - 16.0, "middle", &self.title);
            out
        };
        text(&mut out, middle, frame.height - 14.0, "middle", &self.x);
        let (up, side) = ((frame.top + down) / 2.0, if style.small { 14.0 } else { 18.0 });
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<text transform=\"translate({side},{up}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        );
        let axes = Axes { x, y };
        draw_axes(&mut out, &axes, style);
        for (number, line) in self.lines.iter().enumerate() {
            let whiskers = style.spread.get(number).map_or(&[][..], Vec::as_slice);
            draw(&mut out, line, number, &axes, style);
            if style.themed {
                band(&mut out, whiskers, number, &axes);
            } else {
                whiskers.iter().for_each(|spread| whisker(&mut out, *spread, number, &axes));
            }
            if !style.small && !style.themed {
                legend(&mut out, line, number, right);
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

/// As part of a page: its colours are those of the page.
fn opened_in_page(width: f64, height: f64, title: &str) -> String {
    let title = escaped(title);
    format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n")
}

fn opened(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    )
}

/// How the line of that number is drawn, as a small SVG document: for a legend elsewhere.
#[must_use]
pub fn legend_key(number: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 26 8\" width=\"26\" \
         height=\"8\"><path d=\"M1,4 H25\" {}/></svg>",
        style_of(number)
    )
}

fn colour_of(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

fn style_of(number: usize) -> String {
    let dash = if number < COLOURS.len() { "" } else { " stroke-dasharray=\"6 3\"" };
    format!("fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dash}", colour_of(number))
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, what: &str) {
    let what = escaped(what);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{what}</text>");
}

fn draw_axes(out: &mut String, Axes { x, y }: &Axes, style: Style<'_>) {
    let line = |out: &mut String, [from, to]: [Point; 2], is_axis: bool| {
        let look = match (style.themed, is_axis) {
            (true, true) => "class=\"a\"",
            (true, false) => "class=\"g\"",
            (false, true) => "stroke=\"#333333\"",
            (false, false) => "stroke=\"#e5e5e5\"",
        };
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {look}/>",
            from.x, from.y, to.x, to.y
        );
    };
    for tick in x.ticks(&[1.0], if style.decades { 10.0 } else { 2.0 }) {
        let at = x.at(tick);
        line(out, [Point::new(at, y.from), Point::new(at, y.to)], false);
        text(out, at, y.from + 18.0, "middle", &tick_label(tick, x.is_long(style)));
    }
    for tick in y.ticks(&[1.0, 2.0, 5.0], 10.0) {
        let at = y.at(tick);
        line(out, [Point::new(x.from, at), Point::new(x.to, at)], false);
        text(out, x.from - 6.0, at + 4.0, "end", &tick_label(tick, y.is_long(style)));
    }
    let corner = Point::new(x.from, y.from);
    line(out, [corner, Point::new(x.to, y.from)], true);
    line(out, [corner, Point::new(x.from, y.to)], true);
}

/// A round number; thousands and more by letters where numbers are long.
fn tick_label(tick: f64, is_long: bool) -> String {
    let round = |value: f64| (value * 1e6).round() / 1e6;
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = units.iter().find(|(size, _)| is_long && tick >= *size);
    unit.map_or_else(
        || format!("{}", round(tick)),
        |(size, letter)| format!("{}{letter}", round(tick / size)),
    )
}

fn draw(out: &mut String, line: &Line, number: usize, axes: &Axes, style: Style<'_>) {
    // A share of 0 has a place on a linear axis.
    let has_place = |axis: &Axis, value: f64| value > 0.0 || axis.linear && value == 0.0;
    let good = |point: &&Point| has_place(&axes.x, point.x) && has_place(&axes.y, point.y);
    let places: Vec<Point> =
        line.points.iter().filter(good).map(|point| axes.place(*point)).collect();
    let path: Vec<String> = places.iter().map(|at| format!("{:.1},{:.1}", at.x, at.y)).collect();
    let path = path.join(" ");
    if style.themed && style.bars {
        bars(out, &places, axes.x.at(1.0) - axes.x.at(0.0), axes.y.from);
        return;
    }
    if style.themed {
        let class = number % 10;
        let ends = places.first().zip(places.last()).filter(|_| style.filled);
        if let Some((first, last)) = ends {
            let (first, last, floor) = (first.x, last.x, axes.y.from);
            let _ = writeln!(
                out,
                "<polygon points=\"{first:.1},{floor:.1} {path} {last:.1},{floor:.1}\" \
                 class=\"s{class}\"/>"
            );
        }
        let _ = writeln!(out, "<polyline points=\"{path}\" class=\"s{class}\"/>");
        for Point { x, y } in places.iter().filter(|_| style.marked.contains(&number)) {
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" class=\"s{class}\" \
                 style=\"fill:var(--c)\"/>"
            );
        }
        return;
    }
    let _ = writeln!(out, "<polyline points=\"{path}\" {}/>", style_of(number));
    let colour = colour_of(number);
    for Point { x, y } in places {
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
}

/// Bars round these places, down to `floor`; `step` is from one to the next.
fn bars(out: &mut String, places: &[Point], step: f64, floor: f64) {
    let width = (step * 0.8).max(0.5);
    let bar = |Point { x, y }: &Point| {
        let from = x - width / 2.0;
        format!("M{from:.1},{floor:.1}V{y:.1}h{width:.1}V{floor:.1}z")
    };
    let path: String = places.iter().filter(|place| place.y < floor).map(bar).collect();
    let _ = writeln!(out, "<path d=\"{path}\" class=\"b s0\"/>");
}

/// From the low to the high ends of the spreads of a line, on a page.
fn band(out: &mut String, spreads: &[Spread], number: usize, axes: &Axes) {
    let has_place = |it: &&Spread| {
        [it.x, it.low, it.high].iter().all(|value| *value > 0.0 && value.is_finite())
    };
    let good: Vec<&Spread> = spreads.iter().filter(has_place).collect();
    if good.is_empty() {
        return;
    }
    let up = good.iter().map(|it| Point::new(it.x, it.high));
    let back = good.iter().rev().map(|it| Point::new(it.x, it.low));
    let places = up.chain(back).map(|point| axes.place(point));
    let path: Vec<String> = places.map(|at| format!("{:.1},{:.1}", at.x, at.y)).collect();
    let (path, class) = (path.join(" "), number % 10);
    let _ = writeln!(out, "<polygon points=\"{path}\" class=\"s{class}\"/>");
}

/// A line from the low to the high end of a spread.
fn whisker(out: &mut String, spread: Spread, number: usize, axes: &Axes) {
    let Spread { x, low, high } = spread;
    if [x, low, high].iter().all(|value| *value > 0.0 && value.is_finite()) {
        let _ = writeln!(
            out,
            "<path d=\"M{:.1},{:.1} V{:.1}\" stroke=\"{}\"/>",
            axes.x.at(x),
            axes.y.at(low),
            axes.y.at(high),
            colour_of(number)
        );
    }
}

fn legend(out: &mut String, line: &Line, number: usize, right: f64) {
    let (at, height) = (right + 16.0, FULL.top + 10.0 + 20.0 * number as f64);
    let end = at + 24.0;
    let _ = writeln!(out, "<path d=\"M{at},{height} H{end}\" {}/>", style_of(number));
    text(out, end + 6.0, height + 4.0, "start", &line.name);
}

/// Bars of parts of a whole, one below the other.
#[derive(Debug, Clone)]
pub struct Bars {
    /// Text above the bars.
    pub title: String,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// Name of each bar, and its parts as shares of 1; what is missing to 1 stays empty.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// Height of a bar and of the space up to the next one, and where bars begin and end.
const BAR: f64 = 13.0;
const NEXT_BAR: f64 = 17.0;
const BARS_FROM: f64 = 300.0;
const BARS_TO: f64 = 740.0;
/// Space above the bars: title and names of the parts.
const BARS_TOP: f64 = 56.0;

impl Bars {
    /// The bars as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let height = BARS_TOP + NEXT_BAR * self.bars.len() as f64 + 8.0;
        let mut out = opened(FULL.width, height);
        text(&mut out, FULL.width / 2.0, 18.0, "middle", &self.title);
        for (number, part) in self.parts.iter().enumerate() {
            let at = BARS_FROM + 150.0 * number as f64;
            bar(&mut out, Point::new(at, 32.0), 18.0, number);
            text(&mut out, at + 24.0, 43.0, "start", part);
        }
        for (row, (name, parts)) in self.bars.iter().enumerate() {
            let y = BARS_TOP + NEXT_BAR * row as f64;
            text(&mut out, BARS_FROM - 8.0, y + 11.0, "end", name);
            let mut from = BARS_FROM;
            for (number, part) in parts.iter().enumerate() {
                let rest = BARS_TO - from;
                let requested = part.max(0.0) * (BARS_TO - BARS_FROM);
                // A share that is no number has no bar.
                let width = if requested.is_finite() { requested.min(rest) } else { 0.0 };
                bar(&mut out, Point::new(from, y), width, number);
                from += width;
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn bar(out: &mut String, Point { x, y }: Point, width: f64, number: usize) {
    let colour = colour_of(number);
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
    );
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
