//! The front as a picture: coverage against collisions, the ideal in the upper right corner.

use super::{
    axis::Frame,
    labels::Labels,
    markers::Marker,
    picture::{Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PURPLE, Picture, Place},
    render::text_width,
    series::{Mark, Series, collision_axis, coverage_axis, draw_series},
};
use cgcmarl::evaluation::{Estimate, Front, Score};
use cgcmarl_paper::tables;

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 300.0;
const LEFT: f64 = 66.0;
const TOP: f64 = 98.0;
const GAP: f64 = 84.0;
const FLOOR: &str = "unavoidable";
const RANDOM: &str = "random policy";

/// Draws a sweep: on its own, or with a second panel beside the paper's points where those exist.
pub(crate) fn front(front: &Front) -> Picture {
    let ours = sweep_series(front);
    let random = front.random.iter().map(|score| single(RANDOM, score, Marker::Triangle, PURPLE));
    let mut printed =
        if front.task == "simple_spread" { paper_series(front.n_agents) } else { vec![] };
    let mut panels: Vec<(&str, Vec<&Series>)> = vec![("", ours.iter().collect())];
    if !printed.is_empty() {
        printed.extend(random);
        let all = printed.iter().chain(&ours).collect();
        panels[0].0 = "this sweep alone";
        panels.insert(0, ("beside the paper's printed results", all));
    }
    let n_panels = panels.len() as f64;
    let width = LEFT + n_panels * PANEL_WIDTH + (n_panels - 1.0) * GAP + 24.0;
    let legend: Vec<&Series> = ours.iter().chain(&printed).collect();
    let mut picture =
        Picture::new(width, TOP + PANEL_HEIGHT + 84.0 + 18.0 * legend_rows(&legend, width));
    heading(&mut picture, front);
    let floor = front.points.first().map(|point| point.score.measures.collision_floor.mean);
    for (index, (title, series)) in panels.iter().enumerate() {
        let left = LEFT + index as f64 * (PANEL_WIDTH + GAP);
        let is_last = index + 1 == panels.len();
        panel(&mut picture, left, title, series, floor, is_last);
    }
    draw_legend(&mut picture, &legend, TOP + PANEL_HEIGHT + 68.0);
    picture
}

fn mark(score: &Score, marker: Marker, colour: Colour, label: &str) -> Mark {
    Mark {
        coverage: score.measures.coverage.near,
        collisions: score.measures.collisions_per_step,
        marker,
        colour,
        label: Some(label.into()),
    }
}

fn single(name: &str, score: &Score, marker: Marker, colour: Colour) -> Series {
    let marks = vec![mark(score, marker, colour, name)];
    Series { name: name.into(), marks, joined: false, dashed: false }
}

/// Our points, and the oracle as their physical limit.
fn sweep_series(front: &Front) -> Vec<Series> {
    let marks = front.points.iter().map(|point| {
        let marker = if point.pareto { Marker::Star } else { Marker::Square };
        mark(&point.score, marker, BLUE, &point.score.label)
    });
    let name = format!("this run ({})", front.algorithm);
    let mut series = vec![Series { name, marks: marks.collect(), joined: true, dashed: false }];
    series.extend(front.oracle.iter().map(|s| single("oracle", s, Marker::Diamond, GREEN)));
    series
}

/// The paper's points with one sample deviation as bars.
fn paper_series(n_agents: usize) -> Vec<Series> {
    let spread = |(mean, deviation): (f64, f64), unit: f64| Estimate {
        mean: mean / unit,
        low: (mean - deviation).max(0.0) / unit,
        high: (mean + deviation) / unit,
    };
    let printed_mark = |point: tables::PaperPoint, marker, colour| Mark {
        coverage: spread(point.coverage, 100.0),
        collisions: spread(point.collisions, 1.0),
        marker,
        colour,
        label: None,
    };
    let printed = tables::cg_cmarl(n_agents).map(|point| {
        let marker = if point.starred { Marker::Disc } else { Marker::Ring };
        printed_mark(point, marker, ORANGE)
    });
    let baselines =
        tables::baselines(n_agents).map(|point| printed_mark(point, Marker::Cross, GREY));
    let series =
        |name: &str, marks, joined| Series { name: name.into(), marks, joined, dashed: true };
    let mut all = vec![
        series("baselines printed in the paper", baselines.collect(), false),
        series(
            "CG-CMARL printed in the paper (open: dominated; bars: sd)",
            printed.collect(),
            true,
        ),
    ];
    all.retain(|series: &Series| !series.marks.is_empty());
    all
}

fn heading(picture: &mut Picture, front: &Front) {
    let title = format!(
        "{}, {} agents: one model, {} trade-offs",
        titled(&front.task),
        front.n_agents,
        front.points.len()
    );
    picture.text((LEFT - 42.0, 22.0), title, Font::new(15.0, BLACK).bold(), Anchor::Start);
    let (episodes, seeds) =
        front.points.first().map_or((0, 0), |point| (point.score.n_episodes, point.score.n_seeds));
    let subtitle = format!(
        "{episodes} episodes × {seeds} seed{}; bars: 95 % intervals; star: Pareto-optimal, square: dominated; hypervolume {:.4} ({:.1} % of the possible)",
        if seeds == 1 { "" } else { "s" },
        front.hypervolume,
        100.0 * front.hypervolume_share
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

/// `simple_spread` as `Simple Spread`.
fn titled(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_')
        .filter(|part| part.is_ascii() && !part.is_empty())
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

fn panel(
    picture: &mut Picture,
    left: f64,
    title: &str,
    series: &[&Series],
    floor: Option<f64>,
    is_labelled: bool,
) {
    let bounds = (left, TOP, left + PANEL_WIDTH, TOP + PANEL_HEIGHT);
    let horizontal = collision_axis(series, floor, bounds.2, bounds.0);
    let vertical = coverage_axis(series, bounds.3, bounds.1);
    Frame {
        bounds,
        horizontal: &horizontal,
        vertical: &vertical,
        horizontal_title: "collisions per step (fewer to the right)",
        vertical_title: "coverage within 0.1 (%)",
    }
    .draw(picture);
    picture.text((left, TOP - 13.0), title, Font::new(12.0, BLACK).bold(), Anchor::Start);
    let mut labels = Labels::new((bounds.0 + 2.0, bounds.1 - 4.0, bounds.2 - 2.0, bounds.3 - 3.0));
    if let Some(floor) = floor.filter(|floor| *floor > 0.0) {
        let x = horizontal.place(floor);
        picture.dashes(&[(x, bounds.1), (x, bounds.3)], BLACK, 1.0, 5.0);
        let font = Font::new(10.0, BLACK);
        let half = text_width(FLOOR, font) / 2.0;
        picture.text((x.min(bounds.2 - half), bounds.1 - 8.0), FLOOR, font, Anchor::Middle);
        labels.avoid_line((x, bounds.1), (x, bounds.3));
    }
    let place = |mark: &Mark| -> Place {
        (horizontal.place(mark.collisions.mean), vertical.place(100.0 * mark.coverage.mean))
    };
    for one in series {
        let lines = draw_series(picture, one, &horizontal, &vertical, &place);
        for (from, to) in lines {
            labels.avoid_line(from, to);
        }
        for mark in &one.marks {
            labels.avoid(place(mark), 6.0);
        }
    }
    for mark in series.iter().flat_map(|one| &one.marks).filter(|_| is_labelled) {
        if let Some(text) = &mark.label {
            labels.write(picture, place(mark), text, Font::new(10.0, mark.colour));
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
    use crate::report::sample;

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
        keep("front", &front(&sweep));
        sweep.task = "another_task".into();
        keep("front_alone", &front(&sweep));
        sweep.points.truncate(1);
        (sweep.oracle, sweep.random) = (None, None);
        keep("front_of_one", &front(&sweep));
        sweep.points.clear();
        keep("front_of_none", &front(&sweep));
    }

    #[test]
    fn a_front_names_everything_it_shows() {
        let document = front(&sample::front()).to_svg().unwrap();
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
    }
}
