//! Line plots as SVG, with nothing in them that comes from elsewhere.

use std::fmt::Write;

/// Size of a plot, and of the space round its axes.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 55.0;

/// Colours that remain different for colour-blind readers (Okabe and Ito 2008), and dashes for the
/// second time round.
const COLOURS: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Points from left to right; both values above 0.
    pub points: Vec<(f64, f64)>,
}

/// A plot with logarithmic axes.
#[derive(Debug, Clone)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What is to the right.
    pub x: String,
    /// What is upwards.
    pub y: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
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
        Self { low, high, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Round numbers on it: 1, 2 and 5 of each power of ten, or powers of two.
    fn ticks(&self, steps: &[f64], base: f64) -> Vec<f64> {
        let first = self.low.log(base).floor() as i32;
        let last = self.high.log(base).ceil() as i32;
        let all = (first..=last).flat_map(|power| steps.iter().map(move |s| s * base.powi(power)));
        all.filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick)).collect()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Plot {
    /// The plot as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::over(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        text(&mut out, middle, TOP - 16.0, "middle", &self.title);
        text(&mut out, middle, HEIGHT - 14.0, "middle", &self.x);
        let (up, side) = ((TOP + HEIGHT - BOTTOM) / 2.0, 18.0);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<text transform=\"translate({side},{up}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        );
        axes(&mut out, &x, &y);
        for (number, line) in self.lines.iter().enumerate() {
            draw(&mut out, line, number, &x, &y);
        }
        out.push_str("</svg>\n");
        out
    }
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, what: &str) {
    let what = escaped(what);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{what}</text>");
}

fn axes(out: &mut String, x: &Axis, y: &Axis) {
    let line = |out: &mut String, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str| {
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{colour}\"/>"
        );
    };
    for tick in x.ticks(&[1.0], 2.0) {
        let at = x.at(tick);
        line(out, at, y.from, at, y.to, "#e5e5e5");
        text(out, at, y.from + 18.0, "middle", &format!("{tick}"));
    }
    for tick in y.ticks(&[1.0, 2.0, 5.0], 10.0) {
        let at = y.at(tick);
        line(out, x.from, at, x.to, at, "#e5e5e5");
        let label = (tick * 1e6).round() / 1e6;
        text(out, x.from - 6.0, at + 4.0, "end", &format!("{label}"));
    }
    line(out, x.from, y.from, x.to, y.from, "#333333");
    line(out, x.from, y.from, x.from, y.to, "#333333");
}

fn draw(out: &mut String, line: &Line, number: usize, x: &Axis, y: &Axis) {
    let colour = COLOURS[number % COLOURS.len()];
    let dash = if number < COLOURS.len() { "" } else { " stroke-dasharray=\"6 3\"" };
    let good = |point: &&(f64, f64)| point.0 > 0.0 && point.1 > 0.0;
    let places: Vec<(f64, f64)> =
        line.points.iter().filter(good).map(|point| (x.at(point.0), y.at(point.1))).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}");
    let _ = writeln!(out, "<polyline points=\"{}\" {style}/>", path.join(" "));
    for (x, y) in places {
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let (at, height) = (WIDTH - RIGHT + 16.0, TOP + 10.0 + 20.0 * number as f64);
    let end = at + 24.0;
    let _ = writeln!(out, "<path d=\"M{at},{height} H{end}\" {style}/>");
    text(out, end + 6.0, height + 4.0, "start", &line.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_line_and_a_name_for_each_series() {
        let line = |name: &str, y: f64| Line {
            name: name.to_owned(),
            points: vec![(1.0, y), (2.0, y / 2.0), (32.0, y / 20.0), (64.0, 0.0)],
        };
        let lines = (0..9).map(|n| line(&format!("a<{n}"), 10.0 + f64::from(n))).collect();
        let plot = Plot { title: "t & u".into(), x: "workers".into(), y: "s".into(), lines };
        let svg = plot.to_svg();
        assert_eq!(svg.matches("<polyline").count(), 9);
        assert_eq!(svg.matches("<circle").count(), 27, "a value of 0 has no place");
        assert!(svg.contains("a&lt;8") && svg.contains("t &amp; u"));
        assert!(svg.contains(">32<") && svg.contains(">0.5<"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!svg.replace("http://www.w3.org/2000/svg", "").contains("http"));
    }

    #[test]
    fn nothing_and_one_point_can_be_drawn() {
        let plot = |points: Vec<(f64, f64)>| Plot {
            title: String::new(),
            x: String::new(),
            y: String::new(),
            lines: vec![Line { name: "a".into(), points }],
        };
        for points in [vec![], vec![(1.0, 1.0)], vec![(0.0, -1.0)]] {
            let svg = plot(points).to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
