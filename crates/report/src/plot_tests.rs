//! Plots as SVG: axes, marks, what cannot be drawn.

use super::*;

#[test]
fn a_plot_has_a_line_and_a_name_for_each_series() {
    let line = |name: &str, y: f64| Line {
        name: name.to_owned(),
        points: [(1.0, 1.0), (2.0, 0.5), (32.0, 0.05), (64.0, 0.0)]
            .map(|(x, share)| Point::new(x, y * share))
            .to_vec(),
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
    let plot = |points: &[Point]| Plot {
        title: String::new(),
        x: String::new(),
        y: String::new(),
        lines: vec![Line { name: "a".into(), points: points.to_vec() }],
    };
    for points in [&[][..], &[Point::new(1.0, 1.0)], &[Point::new(0.0, -1.0)]] {
        let svg = plot(points).to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn several_plots_side_by_side_have_one_legend_and_show_spread() {
    let line =
        Line { name: "named".into(), points: vec![Point::new(1.0, 4.0), Point::new(8.0, 5.0)] };
    let empty = Line { name: "other".into(), points: Vec::new() };
    let plot =
        Plot { title: "t".into(), x: "threads".into(), y: "s".into(), lines: vec![empty, line] };
    let at = |x, low| Spread { x, low, high: 6.0 };
    let spread = [Vec::new(), vec![at(1.0, 3.0), at(8.0, f64::NAN)]];
    let style = Style { small: true, linear_y: true, spread: &spread, ..Style::default() };
    let svg = plot.draw(style);
    assert!(!svg.contains("named") && !svg.contains("NaN"), "{svg}");
    assert!(svg.contains(">0<") && svg.contains(">8<"), "from 0, powers of two: {svg}");
    assert_eq!(svg.matches(" V").count(), 1, "one whisker: {svg}");
    assert!(svg.contains(&style_of(1)) && legend_key(1).contains(&style_of(1)));
    assert_ne!(legend_key(0), legend_key(7));
    let decades = plot.draw(Style { decades: true, ..Style::default() });
    assert!(decades.contains("named") && !decades.contains(">8<"), "{decades}");
}

#[test]
fn a_plot_of_a_page_has_no_colours_of_its_own() {
    let points = [(0.0, 0.0), (1e6, 20_000.0), (2e6, 5.0)].map(|(x, y)| Point::new(x, y)).to_vec();
    let line = Line { name: "a".into(), points };
    let (title, x, y) = ("<t>".to_owned(), "x".to_owned(), "y".to_owned());
    let plot = Plot { title, x, y, lines: vec![line.clone(), line] };
    let style = Style { themed: true, linear_x: true, linear_y: true, ..Style::default() };
    let svg = plot.draw(style);
    assert!(!svg.contains('#') && !svg.contains("http") && !svg.contains("<circle"), "{svg}");
    assert!(svg.contains("class=\"s1\"") && svg.contains("aria-label=\"&lt;t&gt;\""), "{svg}");
    assert!(svg.contains(">20k<") && svg.contains(">500k<"), "{svg}");
    assert!(svg.contains("points=\"62.0,252.0 "), "0 has its place: {svg}");
}

#[test]
fn counts_are_bars_round_their_numbers() {
    let points = [(0.0, 3.0), (1.0, 0.0), (9.0, 6.0)].map(|(x, y)| Point::new(x, y)).to_vec();
    let line = Line { name: "a".into(), points };
    let plot = Plot { title: String::new(), x: "n".into(), y: "m".into(), lines: vec![line] };
    let style = Style { themed: true, linear_x: true, linear_y: true, ..Style::default() };
    let svg = plot.draw(Style { bars: true, ..style });
    assert_eq!(svg.matches(",252.0V").count(), 2, "nothing has no bar: {svg}");
    assert!(svg.contains("\"M66.8,252.0V") && !svg.contains("<poly"), "{svg}");
    let svg = plot.draw(Style { filled: true, ..style });
    assert!(svg.contains("<polygon points=\"62.0,252.0 62.0,") && svg.contains("<polyline"));
}

#[test]
fn steps_of_a_linear_axis_are_round_and_few() {
    for high in [0.013, 0.99, 1.0, 7.3, 52.0, 12345.0] {
        let axis = Axis { low: 0.0, high, from: 0.0, to: 1.0, linear: true };
        let ticks = axis.ticks(&[], 10.0);
        assert!((4..=9).contains(&ticks.len()), "{high}: {ticks:?}");
        assert!(ticks.iter().all(|tick| *tick <= high));
    }
}

#[test]
fn bars_never_leave_their_frame() {
    let bars = Bars {
        title: "busy & waiting".into(),
        parts: vec!["busy".into(), "waiting".into()],
        bars: vec![("a".into(), vec![0.25, 0.75]), ("b".into(), vec![3.0, f64::NAN, -1.0])],
    };
    let svg = bars.to_svg();
    assert!(svg.contains("busy &amp; waiting") && !svg.contains("NaN"), "{svg}");
    assert!(svg.contains("x=\"300.0\" y=\"56.0\" width=\"110.0\""), "{svg}");
    assert!(svg.contains("x=\"300.0\" y=\"73.0\" width=\"440.0\""), "{svg}");
    assert!(!svg.contains("width=\"-"), "{svg}");
}
