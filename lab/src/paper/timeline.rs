//! Langmead et al. 2018, figure 1: threads at the lock of the input over time, from traces of
//! `align --mode end-to-end` over the paper's ways to read.

use seqloom_report::page::{Cell, Figure, PageTable, Section};
use seqloom_report::plot::{Line, Plot, Point, Style};

use super::{CURVES, Recorded};
use crate::output::WithLock;
use crate::parsing::{ENGINE, STATES};
use crate::table::{Row, Table};

/// Threads of which each is drawn.
const MOST_DRAWN: usize = 16;
/// How far above its number a thread is drawn while it aligns, waits, and has the lock.
const ALIGNS: f64 = 0.1;
const LEVELS: [f64; 2] = [0.4, 0.7];

/// Numbers of threads at a lock over time, and what each does in a part of it.
const LINEAR: Style<'static> = Style { linear_x: true, linear_y: true, ..CURVES };

/// The section: mean numbers of threads, and each thread in a short part of the run.
pub(super) fn section(
    Recorded { table: counts, facts }: &Recorded,
    threads: &Table,
) -> Option<Section> {
    let mut figures = Vec::new();
    for [way, lock] in counts.combinations(["way", "lock"]) {
        let name = WithLock { way, lock }.name();
        let id: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let of = |table: &Table| -> Vec<Row> {
            let rows = table.rows.iter().filter(|row| row.factors[..2] == [way, lock]);
            rows.cloned().collect()
        };
        figures.push(numbers(&of(counts), &name, format!("timeline-{id}")));
        figures.extend(each(&of(threads), &name, format!("threads-{id}")));
    }
    let engine = facts.iter().find(|fact| fact.name == ENGINE)?;
    Some(Section {
        title: "Figure 1: threads at the lock of the input, over time",
        note: format!(
            "A trace of one run of each way: {}, single reads. First the mean numbers of threads \
             that wait for the lock and that have it, in each hundredth of the run; then a short \
             part from its middle, thread by thread: low while it aligns, in the middle while it \
             waits, high while it has the lock. A thread that loses its core keeps its state. Our \
             source reads without a lock; the one shown is that of the check that blocks join.",
            engine.text
        ),
        figures,
    })
}

/// Mean numbers of threads that wait and that have the lock.
fn numbers(rows: &[Row], name: &str, id: String) -> Figure {
    let time = |row: &Row| row.factors[2].parse().unwrap_or(f64::NAN);
    let line = |(at, state): (usize, &&str)| Line {
        name: (*state).to_owned(),
        points: rows.iter().map(|row| Point::new(time(row), row.values[at])).collect(),
    };
    let cells =
        |row: &Row| [time(row), row.values[0], row.values[1]].map(Cell::from).into_iter().collect();
    let title = format!("{name}: threads that wait and that have the lock");
    let plot = Plot {
        title: title.clone(),
        x: "milliseconds".to_owned(),
        y: "threads, mean".to_owned(),
        lines: STATES.iter().enumerate().map(line).collect(),
    };
    let columns = vec!["ms", STATES[0], STATES[1]];
    let table = PageTable { id: id.into(), columns, rows: rows.iter().map(cells).collect() };
    let style = Style { filled: true, ..LINEAR };
    Figure { title, plot: Some((plot, style)), table, ..Figure::default() }
}

/// What each thread does in the shown part.
fn each(rows: &[Row], name: &str, id: String) -> Option<Figure> {
    let end = rows.iter().map(|row| row.values[1]).fold(0.0, f64::max);
    let mut threads: Vec<usize> =
        rows.iter().filter_map(|row| row.factors[2].parse().ok()).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.truncate(MOST_DRAWN);
    let line = |thread: &usize| {
        let of_thread = |row: &&Row| row.factors[2] == thread.to_string();
        let own: Vec<&Row> = rows.iter().filter(of_thread).collect();
        Line { name: format!("thread {thread}"), points: steps(&own, *thread as f64, end) }
    };
    let lines: Vec<Line> = threads.iter().map(line).collect();
    let title = format!("{name}: a part of the run, thread by thread");
    let cells = |row: &Row| {
        let [from, until] = [row.values[0], row.values[1]].map(Cell::from);
        vec![row.factors[2].as_str().into(), row.factors[3].as_str().into(), from, until]
    };
    let columns = vec!["thread", "state", "from us", "until us"];
    let table = PageTable { id: id.into(), columns, rows: rows.iter().map(cells).collect() };
    let y = "thread: aligns, waits, has the lock".to_owned();
    let plot = Plot { title: title.clone(), x: "microseconds".to_owned(), y, lines };
    let plot = Some((plot, LINEAR));
    (end > 0.0).then(|| Figure { title, plot, table, ..Figure::default() })
}

/// A thread's line: a step up when it begins to wait, another when it has the lock, and down.
fn steps(rows: &[&Row], thread: f64, end: f64) -> Vec<Point> {
    let mut points = vec![Point::new(0.0, thread + ALIGNS)];
    for row in rows {
        let (from, until) = (row.values[0], row.values[1]);
        let level = STATES.iter().zip(LEVELS).find(|(state, _)| row.factors[3] == **state);
        let Some((_, level)) = level.filter(|_| until > from) else { continue };
        // What waited up to now has the lock: up at once, not down between.
        match points.last() {
            Some(last) if last.x == from && points.len() > 1 => drop(points.pop()),
            _ => points.push(Point::new(from, thread + ALIGNS)),
        }
        for (at, level) in [(from, level), (until, level), (until, ALIGNS)] {
            points.push(Point::new(at, thread + level));
        }
    }
    points.push(Point::new(end, thread + ALIGNS));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_steps_up_while_it_waits_and_has_the_lock() {
        let row = |state: &str, values: [f64; 2]| Row {
            factors: ["O", "mcs", "2", state].map(str::to_owned).to_vec(),
            values: values.to_vec(),
        };
        let rows =
            [row("waiting", [1.0, 3.0]), row("holding", [3.0, 4.0]), row("waiting", [9.0; 2])];
        let points = steps(&rows.iter().collect::<Vec<_>>(), 2.0, 10.0);
        let levels: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
        let expected = [
            (0.0, 2.1),
            (1.0, 2.1),
            (1.0, 2.4),
            (3.0, 2.4),
            (3.0, 2.7),
            (4.0, 2.7),
            (4.0, 2.1),
            (10.0, 2.1),
        ];
        assert_eq!(levels, expected);
    }
}
