//! Many small fronts in one figure: a panel per team size, or per layout and team size.

use super::reproduction::display_name;
use crate::report::{
    axis::Frame,
    markers::Marker,
    picture::{
        AMBER, Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PURPLE, Picture, SKY,
    },
    render::text_width,
    series::{Mark, Series, cost_axis, draw_series, objective_axis},
};
use cgcmarl::{environment::Better, evaluation::Estimate};
use cgcmarl_paper::{
    reproduction::{OUR_ALGORITHM, Results, Spread, Team},
    tables,
};

const LEFT: f64 = 66.0;
const TOP: f64 = 74.0;
const GAP: (f64, f64) = (76.0, 82.0);
const LEGEND_FONT: Font = Font::new(12.0, BLACK);
const PRINTED: &str = "CG-CMARL as the paper prints it";
const RANDOM: &str = "random policy";

/// Each method by its shape and colour; kin share one of the two.
const LOOKS: [(&str, Marker, Colour); 10] = [
    (OUR_ALGORITHM, Marker::Star, BLUE),
    ("iql", Marker::Disc, AMBER),
    ("vdn", Marker::Hexagon, SKY),
    ("qmix", Marker::Triangle, GREEN),
    ("dcg", Marker::Diamond, PURPLE),
    ("mappo", Marker::Wedge, ORANGE),
    ("mappo_lag", Marker::Plus, BLACK),
    ("casec", Marker::Diamond, SKY),
    ("macpo", Marker::Plus, PURPLE),
    ("mappo_lambda", Marker::Wedge, GREEN),
];

/// What the figure of the best points leaves out: whoever covers less, in per cent.
const CLOSE: f64 = 80.0;

/// The fronts on random layouts, two panels in a row; nothing where nothing was measured.
pub(crate) fn pareto(results: &Results) -> Option<Picture> {
    on_random(results, "Coverage against collisions on random layouts", 0.0)
}

/// The same seen from close by: points that cover much, where the others would hide how they differ.
pub(crate) fn close(results: &Results) -> Option<Picture> {
    let title = format!("Coverage against collisions on random layouts, from {CLOSE} % on");
    on_random(results, &title, CLOSE)
}

fn on_random(results: &Results, title: &str, least: f64) -> Option<Picture> {
    let is_shown = |team: &&Team| !series(team, least).is_empty();
    let teams: Vec<&Team> = results.on_random_layouts().filter(is_shown).collect();
    let n_columns = teams.len().min(2);
    figure((title, least), &teams, n_columns, (400.0, 270.0), |team| {
        let n = team.n_agents;
        format!("N = {n} agents ({} pairs)", n * (n - 1) / 2)
    })
}

/// The fronts on fixed layouts: a row per team size, a column per layout.
pub(crate) fn scenarios(results: &Results) -> Option<Picture> {
    let mut teams: Vec<&Team> =
        results.teams.iter().filter(|team| team.layout != "random").collect();
    let order = ["spread_uniform", "line", "clustered_pair"];
    teams.sort_by_key(|team| (team.n_agents, order.iter().position(|name| *name == team.layout)));
    let title = "Coverage against collisions on fixed layouts, trained on random ones";
    figure((title, 0.0), &teams, 3.min(teams.len()), (290.0, 210.0), |team| {
        format!("N = {}, {}", team.n_agents, team.layout)
    })
}

/// How many seeds the points have: one number, or the fewest and the most.
fn seeds_of(teams: &[&Team]) -> String {
    let seeds = || teams.iter().flat_map(|team| &team.points).map(|point| point.seeds);
    match (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0)) {
        (1, 1) => "1 seed".into(),
        (fewest, most) if fewest == most => format!("{most} seeds"),
        (fewest, most) => format!("{fewest} to {most} seeds"),
    }
}

fn figure(
    (title, least): (&str, f64),
    teams: &[&Team],
    n_columns: usize,
    (width, height): (f64, f64),
    name: impl Fn(&Team) -> String,
) -> Option<Picture> {
    let all: Vec<Vec<Series>> = teams.iter().map(|team| series(team, least)).collect();
    let (first, n_rows) = (teams.first()?, teams.len().div_ceil(n_columns));
    let legend = legend(&all);
    let total = LEFT + n_columns as f64 * (width + GAP.0) - GAP.0 + 24.0;
    let bottom = TOP + n_rows as f64 * (height + GAP.1) - GAP.1 + 66.0;
    let places = legend_places(&legend, total);
    let n_lines = places.last().map_or(0.0, |(_, row)| row + 1.0);
    let mut picture = Picture::new(total, bottom + 19.0 * n_lines + 4.0);
    picture.text((LEFT - 42.0, 20.0), title, Font::new(15.0, BLACK).bold(), Anchor::Start);
    let note = format!(
        "{} episodes × {} per point; bars: 95 % intervals; square: dominated by a star",
        first.episodes,
        seeds_of(teams)
    );
    picture.text((LEFT - 42.0, 40.0), note, Font::new(11.0, GREY), Anchor::Start);
    for (index, (team, series)) in teams.iter().zip(&all).enumerate() {
        let (column, row) = ((index % n_columns) as f64, (index / n_columns) as f64);
        let (left, top) = (LEFT + column * (width + GAP.0), TOP + row * (height + GAP.1));
        let bounds = (left, top, left + width, top + height);
        panel(&mut picture, bounds, &name(team), series);
    }
    for ((name, marker, colour), (x, row)) in legend.into_iter().zip(places) {
        let y = bottom + 19.0 * row;
        marker.draw(&mut picture, (x + 6.0, y), 5.0, colour);
        picture.text((x + 18.0, y), name, LEGEND_FONT, Anchor::Start);
    }
    Some(picture)
}

fn panel(picture: &mut Picture, bounds: (f64, f64, f64, f64), title: &str, series: &[Series]) {
    let all: Vec<&Series> = series.iter().collect();
    let horizontal = cost_axis(&all, None, Better::Lower, (bounds.0, bounds.2));
    let vertical = objective_axis(&all, Better::Higher, [0.0, 100.0], (bounds.3, bounds.1));
    Frame {
        bounds,
        horizontal: &horizontal,
        vertical: &vertical,
        horizontal_title: "collisions per step (fewer to the right)",
        vertical_title: "coverage (%)",
    }
    .draw(picture);
    let at = (bounds.0, bounds.1 - 12.0);
    picture.text(at, title, Font::new(12.0, BLACK).bold(), Anchor::Start);
    for one in series {
        draw_series(picture, one, &horizontal, &vertical);
    }
}

/// The printed front below, the baselines above it, ours on top; what covers less than `least` left out.
fn series(team: &Team, least: f64) -> Vec<Series> {
    let mut all = all_series(team);
    for series in &mut all {
        series.marks.retain(|mark| mark.vertical.mean >= least);
    }
    all.retain(|series| !series.marks.is_empty());
    all
}

fn all_series(team: &Team) -> Vec<Series> {
    let mut all = vec![];
    if team.layout == "random" {
        all.extend(printed(team.n_agents));
    }
    if let Some(random) = team.random {
        let mark = Mark {
            vertical: Estimate::exact(100.0 * random.coverage),
            horizontal: Estimate::exact(random.collisions),
            marker: Marker::Cross,
            colour: GREY,
            label: None,
        };
        all.push(Series { name: RANDOM.into(), marks: vec![mark], joined: false, dashed: false });
    }
    for (algorithm, marker, colour) in LOOKS.into_iter().rev() {
        let is_ours = algorithm == OUR_ALGORITHM;
        let points = team.points.iter().filter(|point| point.algorithm == algorithm);
        let marks: Vec<Mark> = points
            .map(|point| Mark {
                vertical: estimate(&point.coverage, 100.0),
                horizontal: estimate(&point.collisions, 1.0),
                marker: if is_ours && !point.pareto { Marker::Square } else { marker },
                colour,
                label: None,
            })
            .collect();
        if !marks.is_empty() {
            let name = display_name(algorithm).into();
            all.push(Series { name, marks, joined: is_ours, dashed: false });
        }
    }
    all
}

fn estimate(spread: &Spread, scale: f64) -> Estimate {
    Estimate { mean: scale * spread.mean, low: scale * spread.low, high: scale * spread.high }
}

fn printed(n_agents: usize) -> Option<Series> {
    let marks: Vec<Mark> = tables::cg_cmarl(n_agents)
        .map(|point| Mark {
            vertical: Estimate::exact(point.coverage.0),
            horizontal: Estimate::exact(point.collisions.0),
            marker: Marker::Ring,
            colour: GREY,
            label: None,
        })
        .collect();
    let series = Series { name: PRINTED.into(), marks, joined: true, dashed: true };
    (!series.marks.is_empty()).then_some(series)
}

/// Every method that is drawn anywhere, ours first.
fn legend(all: &[Vec<Series>]) -> Vec<(String, Marker, Colour)> {
    let is_drawn = |name: &str| all.iter().flatten().any(|series| series.name == name);
    let looks = LOOKS.map(|(algorithm, marker, colour)| (display_name(algorithm), marker, colour));
    let others = [(PRINTED, Marker::Ring, GREY), (RANDOM, Marker::Cross, GREY)];
    let entries = looks.into_iter().chain(others).filter(|(name, ..)| is_drawn(name));
    entries.map(|(name, marker, colour)| (name.to_owned(), marker, colour)).collect()
}

fn legend_places(legend: &[(String, Marker, Colour)], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (LEFT, 0.0);
    let mut places = vec![];
    for (name, ..) in legend {
        let needed = 18.0 + text_width(name, LEGEND_FONT) + 24.0;
        if x > LEFT && x + needed > width {
            (x, row) = (LEFT, row + 1.0);
        }
        places.push((x, row));
        x += needed;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn all_panels_are_drawn_and_every_method_is_named() {
        let results = sample::reproduction();
        for (name, picture) in [("pareto", pareto(&results)), ("scenarios", scenarios(&results))] {
            let picture = picture.unwrap();
            let (svg, png) = (picture.to_svg().unwrap(), picture.to_png().unwrap());
            for (algorithm, ..) in &LOOKS[..7] {
                assert!(svg.contains(display_name(algorithm)), "{algorithm} is missing");
            }
            if let Ok(folder) = std::env::var("PICTURES") {
                std::fs::write(format!("{folder}/{name}.svg"), svg).unwrap();
                std::fs::write(format!("{folder}/{name}.png"), png).unwrap();
            }
        }
        assert!(pareto(&Results::default()).is_none());
        assert!(on_random(&results, "Nobody covers more than everything", 101.0).is_none());
        let near = series(&results.teams[0], 50.0);
        assert!(near.len() < series(&results.teams[0], 0.0).len());
        assert!(near.iter().flat_map(|one| &one.marks).all(|mark| mark.vertical.mean >= 50.0));
    }
}
