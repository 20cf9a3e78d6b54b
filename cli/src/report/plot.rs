//! The front as a picture: the objective against what each constraint limits, one panel for each,
//! the ideal in the upper right corner.

use super::{
    axis::Frame,
    labels::Labels,
    markers::Marker,
    measure::{axis_title, scale, shown},
    picture::{Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, PURPLE, Picture},
    render::text_width,
    series::{Mark, Series, cost_axis, draw_series, objective_axis, place},
    table::volume,
};
use cgcmarl::{
    environment::{Better, Metric},
    evaluation::{Estimate, Front, Score, front::RANDOM},
};

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 300.0;
const LEFT: f64 = 66.0;
const TOP: f64 = 98.0;
const GAP: f64 = 84.0;
const FLOOR: &str = "unavoidable";

/// One panel: the objective above a metric that is limited.
struct Panel<'a> {
    title: String,
    vertical: &'a Metric,
    horizontal: &'a Metric,
    series: Vec<&'a Series>,
    /// What of the horizontal metric no action avoids.
    floor: Option<f64>,
    is_labelled: bool,
}

/// Draws a sweep on its own, one panel per constraint; where some `printed` series of the same
/// measures are given, with a panel in which they stand beside it.
pub(crate) fn front(front: &Front, printed: &[Series]) -> Picture {
    let measures = &front.measures;
    let mut axes = measures.axis_metrics();
    let Some(vertical) = axes.next() else { return Picture::new(1.0, 1.0) };
    let limited: Vec<&Metric> = axes.collect();
    // A task without constraints has its objective against itself: a line is still a picture.
    let limited = if limited.is_empty() { vec![vertical] } else { limited };
    let all: Vec<Vec<Series>> = limited.iter().map(|m| sweep_series(front, vertical, m)).collect();
    let random: Vec<Series> = limited.iter().map(|m| random_series(front, vertical, m)).collect();
    let mut panels: Vec<Panel<'_>> = vec![];
    for (index, (horizontal, ours)) in limited.iter().zip(&all).enumerate() {
        let own: Vec<&Series> = ours.iter().collect();
        let panel = |title: &str, series, is_labelled| Panel {
            title: title.into(),
            vertical,
            horizontal,
            series,
            floor: floor(front, index),
            is_labelled,
        };
        if index == 0 && !printed.is_empty() {
            let beside = printed.iter().chain([&random[0]]).chain(ours).collect();
            panels.push(panel("beside the paper's printed results", beside, false));
            panels.push(panel("this sweep alone", own, true));
        } else {
            panels.push(panel("", own, true));
        }
    }
    let mut legend: Vec<&Series> = all[0].iter().collect();
    legend.extend(printed);
    legend.extend(random.iter().take(usize::from(!printed.is_empty())));
    drawn(front, &panels, &legend)
}

fn drawn(front: &Front, panels: &[Panel<'_>], legend: &[&Series]) -> Picture {
    let n_panels = panels.len() as f64;
    let width = LEFT + n_panels * PANEL_WIDTH + (n_panels - 1.0) * GAP + 24.0;
    let height = TOP + PANEL_HEIGHT + 84.0 + 18.0 * legend_rows(legend, width);
    let mut picture = Picture::new(width, height);
    heading(&mut picture, front);
    for (index, panel) in panels.iter().enumerate() {
        panel.draw(&mut picture, LEFT + index as f64 * (PANEL_WIDTH + GAP));
    }
    draw_legend(&mut picture, legend, TOP + PANEL_HEIGHT + 68.0);
    picture
}

/// What of a constraint's metric no action avoids, where the task tells it.
fn floor(front: &Front, constraint: usize) -> Option<f64> {
    let constraint = front.measures.constraints.get(constraint)?;
    let metric = front.measures.metric(constraint.unavoidable.as_deref()?)?;
    let first = front.points.first()?;
    Some(scale(metric) * first.score.mean(&metric.name)).filter(|floor| *floor > 0.0)
}

/// A point of a score.
fn mark(
    score: &Score,
    (vertical, horizontal): (&Metric, &Metric),
    marker: Marker,
    colour: Colour,
    label: &str,
) -> Mark {
    let estimate = |metric: &Metric| {
        let estimate = score.metrics.get(&metric.name).copied();
        shown(metric, &estimate.unwrap_or(Estimate::exact(f64::NAN)))
    };
    Mark {
        horizontal: estimate(horizontal),
        vertical: estimate(vertical),
        marker,
        colour,
        label: Some(label.into()),
    }
}

/// Our points, and the references that show what is possible.
fn sweep_series(front: &Front, vertical: &Metric, horizontal: &Metric) -> Vec<Series> {
    let axes = (vertical, horizontal);
    let marks = front.points.iter().map(|point| {
        let marker = if point.pareto { Marker::Star } else { Marker::Square };
        mark(&point.score, axes, marker, BLUE, &point.score.label)
    });
    let name = format!("this run ({})", front.algorithm);
    // Along a grid of multipliers neighbours in the list are no neighbours on the front.
    let joined = front.measures.constraints.len() < 2;
    let mut series = vec![Series { name, marks: marks.collect(), joined, dashed: false }];
    series.extend(front.references.iter().filter(|score| score.label != RANDOM).map(|score| {
        let marks = vec![mark(score, axes, Marker::Diamond, GREEN, &score.label)];
        Series { name: score.label.clone(), marks, joined: false, dashed: false }
    }));
    series
}

fn random_series(front: &Front, vertical: &Metric, horizontal: &Metric) -> Series {
    let name = "random policy";
    let of = |score| mark(score, (vertical, horizontal), Marker::Triangle, PURPLE, name);
    let marks = front.reference(RANDOM).map(of).into_iter().collect();
    Series { name: name.into(), marks, joined: false, dashed: false }
}

fn heading(picture: &mut Picture, front: &Front) {
    let n_points = front.points.len();
    let title = format!(
        "{}, {} agents: one model, {n_points} trade-off{}",
        titled(&front.task),
        front.n_agents,
        if n_points == 1 { "" } else { "s" }
    );
    picture.text((LEFT - 42.0, 22.0), title, Font::new(15.0, BLACK).bold(), Anchor::Start);
    let (episodes, seeds) =
        front.points.first().map_or((0, 0), |point| (point.score.n_episodes, point.score.n_seeds));
    let share = front.hypervolume_share;
    let share =
        share.map_or_else(String::new, |s| format!(" ({:.1} % of the possible)", 100.0 * s));
    let subtitle = format!(
        "{episodes} episodes × {seeds} seed{}; bars: 95 % intervals; star: Pareto-optimal, square: dominated; hypervolume {}{share}",
        if seeds == 1 { "" } else { "s" },
        volume(front.hypervolume),
    );
    let font = Font::new(11.0, GREY);
    for (row, line) in wrapped(&subtitle, font, picture.width - LEFT).into_iter().enumerate() {
        picture.text((LEFT - 42.0, 42.0 + 15.0 * row as f64), line, font, Anchor::Start);
    }
}

/// A text broken after its semicolons where it is too wide.
fn wrapped(text: &str, font: Font, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for part in text.split_inclusive("; ") {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line}{part}"), font) <= width => {
                line.push_str(part);
            }
            _ => lines.push(part.into()),
        }
    }
    lines
}

/// `two_words` as `Two Words`.
pub(crate) fn titled(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_')
        .filter(|part| part.is_ascii() && !part.is_empty())
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

impl Panel<'_> {
    fn draw(&self, picture: &mut Picture, left: f64) {
        let bounds = (left, TOP, left + PANEL_WIDTH, TOP + PANEL_HEIGHT);
        let Self { vertical, horizontal, series, .. } = self;
        let floor = self.floor;
        let range = vertical.range.map(|end| scale(vertical) * end);
        let x_axis = cost_axis(series, floor, horizontal.better, (bounds.0, bounds.2));
        let y_axis = objective_axis(series, vertical.better, range, (bounds.3, bounds.1));
        let side = if horizontal.better == Better::Lower { "less" } else { "more" };
        Frame {
            bounds,
            horizontal: &x_axis,
            vertical: &y_axis,
            horizontal_title: &format!("{} ({side} to the right)", axis_title(horizontal)),
            vertical_title: &axis_title(vertical),
        }
        .draw(picture);
        let font = Font::new(12.0, BLACK).bold();
        picture.text((left, TOP - 13.0), &*self.title, font, Anchor::Start);
        let mut labels =
            Labels::new((bounds.0 + 2.0, bounds.1 - 4.0, bounds.2 - 2.0, bounds.3 - 3.0));
        if let Some(floor) = floor {
            let x = x_axis.place(floor);
            picture.dashes(&[(x, bounds.1), (x, bounds.3)], BLACK, 1.0, 5.0);
            let font = Font::new(10.0, BLACK);
            let half = text_width(FLOOR, font) / 2.0;
            picture.text((x.min(bounds.2 - half), bounds.1 - 8.0), FLOOR, font, Anchor::Middle);
            labels.avoid_line((x, bounds.1), (x, bounds.3));
        }
        for one in series {
            for (from, to) in draw_series(picture, one, &x_axis, &y_axis) {
                labels.avoid_line(from, to);
            }
            for mark in &one.marks {
                labels.avoid(place(mark, &x_axis, &y_axis), 6.0);
            }
        }
        for mark in series.iter().flat_map(|one| &one.marks).filter(|_| self.is_labelled) {
            if let Some(text) = &mark.label {
                let at = place(mark, &x_axis, &y_axis);
                labels.write(picture, at, text, Font::new(10.0, mark.colour));
            }
        }
    }
}

fn legend_places(legend: &[&Series], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (LEFT, 0.0);
    let mut places = vec![];
    for series in legend {
        let needed = 18.0 + text_width(&series.name, Font::new(11.0, BLACK)) + 22.0;
        if x > LEFT && x + needed > width {
            (x, row) = (LEFT, row + 1.0);
        }
        places.push((x, row));
        x += needed;
    }
    places
}

fn legend_rows(legend: &[&Series], width: f64) -> f64 {
    legend_places(legend, width).last().map_or(0.0, |(_, row)| row + 1.0)
}

fn draw_legend(picture: &mut Picture, legend: &[&Series], top: f64) {
    for (series, (x, row)) in legend.iter().zip(legend_places(legend, picture.width)) {
        let Some(first) = series.marks.first() else { continue };
        let y = top + 18.0 * row;
        let marker = if first.marker == Marker::Square { Marker::Star } else { first.marker };
        marker.draw(picture, (x + 5.0, y), 4.5, first.colour);
        picture.text((x + 16.0, y), &*series.name, Font::new(11.0, BLACK), Anchor::Start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{paper, sample};

    /// `PICTURES=DIR cargo test pictures` leaves them there to be looked at.
    fn keep(name: &str, picture: &Picture) {
        let (svg, png) = (picture.to_svg().unwrap(), picture.to_png().unwrap());
        if let Ok(folder) = std::env::var("PICTURES") {
            std::fs::write(format!("{folder}/{name}.svg"), svg).unwrap();
            std::fs::write(format!("{folder}/{name}.png"), png).unwrap();
        }
    }

    #[test]
    fn pictures_of_fronts_are_drawn() {
        let mut sweep = sample::front();
        keep("front", &front(&sweep, &paper::series(3)));
        keep("front_alone", &front(&sweep, &[]));
        sweep.points.truncate(1);
        sweep.references.clear();
        keep("front_of_one", &front(&sweep, &[]));
        sweep.points.clear();
        keep("front_of_none", &front(&sweep, &[]));
        sweep.measures.axes.truncate(1);
        keep("front_of_one_axis", &front(&sweep, &[]));
    }

    #[test]
    fn a_front_names_everything_it_shows() {
        let document = front(&sample::front(), &paper::series(3)).to_svg().unwrap();
        for text in [
            "λ=0.05",
            "λ=10",
            "oracle",
            "random policy",
            "unavoidable",
            "printed in the paper",
            "hypervolume",
        ] {
            assert!(document.contains(text), "{text} is missing");
        }
        let alone = front(&sample::front(), &[]).to_svg().unwrap();
        assert!(!alone.contains("paper"), "{alone}");
    }

    #[test]
    fn every_constraint_has_a_panel() {
        let mut sweep = sample::front();
        let (first, name) = (sweep.measures.constraints[0].clone(), sweep.measures.axes[0].clone());
        sweep.measures.constraints.push(first);
        sweep.measures.axes.push(name);
        let document = front(&sweep, &[]).to_svg().unwrap();
        assert_eq!(document.matches("to the right)").count(), 2);
        keep("front_of_two_constraints", &front(&sweep, &[]));
    }

    #[test]
    fn a_mean_beyond_reason_is_still_drawn() {
        for wild in [1e308, f64::NAN, f64::INFINITY, -1e308] {
            let mut sweep = sample::front();
            let score = &mut sweep.points[2].score;
            score.metrics =
                score.metrics.names().map(|n| (n.to_owned(), Estimate::exact(wild))).collect();
            front(&sweep, &[]).to_png().unwrap();
        }
    }
}
