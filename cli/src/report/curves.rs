//! Learning curves: coverage, collisions, multipliers and losses against environment steps.

use super::{
    axis::{Axis, Frame},
    curve::{Curve, Curves},
    picture::{Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PURPLE, Picture, Place},
};
use serde_json::{Value, json};

const PANEL_WIDTH: f64 = 340.0;
const PANEL_HEIGHT: f64 = 180.0;
const COLOURS: [Colour; 5] = [BLUE, ORANGE, GREEN, PURPLE, GREY];

/// Which metrics share a panel: those whose name begins like this.
const PANELS: [(&str, &str); 4] = [
    ("coverage", "coverage"),
    ("collision", "collisions per step"),
    ("multiplier", "multiplier λ"),
    ("loss", "loss"),
];

/// The panels of a page: those of the picture, and the constraints' costs.
const PAGE_PANELS: [(&str, &str); 5] =
    [PANELS[0], PANELS[1], PANELS[2], ("cost_", "cost per agent and step"), PANELS[3]];

/// Draws the metrics of a run, one panel per kind of number; kinds that were not logged leave no panel.
pub(crate) fn learning_curves(title: &str, metrics: &Curves) -> Picture {
    let panels: Vec<(&str, Vec<&Curve>)> = PANELS
        .iter()
        .map(|(prefix, name)| (*name, curves(metrics, prefix)))
        .filter(|(_, curves)| !curves.is_empty())
        .collect();
    let n_columns = panels.len().clamp(1, 2);
    let n_rows = panels.len().div_ceil(2).max(1);
    let place = |index: usize| {
        let (column, row) = ((index % 2) as f64, (index / 2) as f64);
        (66.0 + column * (PANEL_WIDTH + 84.0), 76.0 + row * (PANEL_HEIGHT + 88.0))
    };
    let (right, bottom) = place(2 * n_rows - 1);
    let width = if n_columns == 2 { right + PANEL_WIDTH } else { 66.0 + PANEL_WIDTH };
    let mut picture = Picture::new(width + 24.0, bottom + PANEL_HEIGHT + 50.0);
    picture.text((24.0, 22.0), title, Font::new(15.0, BLACK).bold(), Anchor::Start);
    for (index, (name, curves)) in panels.iter().enumerate() {
        panel(&mut picture, place(index), name, curves);
    }
    picture
}

/// The same metrics as data for a page: panels with a title and their curves.
pub(crate) fn curve_data(metrics: &Curves) -> Value {
    let curve = |curve: &&Curve| {
        let points: Vec<_> = curve.points().map(|(x, y)| [x, y]).collect();
        json!({ "name": curve.name(), "points": points })
    };
    let panels = PAGE_PANELS.iter().map(|(prefix, title)| (title, curves(metrics, prefix)));
    panels
        .filter(|(_, curves)| !curves.is_empty())
        .map(|(title, curves)| {
            json!({ "title": title, "curves": curves.iter().map(curve).collect::<Vec<_>>() })
        })
        .collect()
}

/// The metrics with this prefix, as many as there are colours.
fn curves<'a>(metrics: &'a Curves, prefix: &str) -> Vec<&'a Curve> {
    metrics.beginning(prefix).take(COLOURS.len()).collect()
}

fn panel(picture: &mut Picture, (left, top): Place, title: &str, curves: &[&Curve]) {
    let bounds = (left, top, left + PANEL_WIDTH, top + PANEL_HEIGHT);
    let points = || curves.iter().flat_map(|curve| curve.points());
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    let highest = points().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let lowest = points().map(|point| point.1).fold(0.0, f64::min);
    let top_value =
        if highest > lowest { highest + 0.05 * (highest - lowest) } else { lowest + 1.0 };
    let horizontal = Axis::linear((0.0, last), bounds.0, bounds.2);
    let vertical = Axis::linear((lowest, top_value), bounds.3, bounds.1);
    Frame {
        bounds,
        horizontal: &horizontal,
        vertical: &vertical,
        horizontal_title: "environment steps",
        vertical_title: title,
    }
    .draw(picture);
    let mut legend = left;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let places: Vec<Place> = curve
            .points()
            .map(|(step, value)| (horizontal.place(step), vertical.place(value)))
            .collect();
        picture.line(&places, colour, 1.5);
        let font = Font::new(11.0, colour).bold();
        picture.text((legend, top - 12.0), curve.name(), font, Anchor::Start);
        legend += super::render::text_width(curve.name(), font) + 14.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_find_their_panels() {
        let metrics = [
            json!({"step": 1, "coverage": {"0.1": 0.5}, "loss": {"primary": 1.0, "cost": 2.0}}),
            json!({"step": 2, "coverage": {"0.1": 0.6}, "loss": {"primary": null, "cost": 1.0}}),
        ];
        let metrics: Curves = metrics.iter().collect();
        let losses = curves(&metrics, "loss");
        assert_eq!(losses.iter().map(|c| c.points().count()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(curves(&metrics, "coverage")[0].name(), "coverage/0.1");
        assert!(learning_curves("run", &metrics).to_svg().unwrap().contains("environment steps"));
        assert!(learning_curves("empty", &Curves::default()).to_png().is_ok());
    }

    #[test]
    fn a_page_gets_the_costs_too() {
        let metrics = [json!({"step": 1, "cost_collision": 0.5}), json!({"step": 2, "noise": 1})];
        let data = curve_data(&metrics.iter().collect());
        assert_eq!(data[0]["title"], "cost per agent and step");
        assert_eq!(data[0]["curves"][0]["points"], json!([[1.0, 0.5]]));
    }

    #[test]
    fn pictures_of_curves_are_drawn() {
        let metrics: Vec<_> = (1..=300)
            .map(|line| {
                let share = f64::from(line) / 300.0;
                let noise = f64::from(line * 7919 % 101) / 101.0 - 0.5;
                json!({
                    "step": line * 1000,
                    "coverage": {"0.1": 1.0 - (-5.0 * share).exp() + 0.06 * noise},
                    "collisions_per_step": 0.003 + 0.04 * (-6.0 * share).exp() + 0.002 * noise,
                    "collision_floor": 0.0023,
                    "multiplier": 0.8 * share,
                    "loss": {"primary": (-3.0 * share).exp() + 0.1 * noise, "cost": 0.2 * (-share).exp()},
                })
            })
            .collect();
        let picture =
            learning_curves("Simple Spread, 3 agents, cg_cmarl, seed 1", &metrics.iter().collect());
        let (svg, png) = (picture.to_svg().unwrap(), picture.to_png().unwrap());
        if let Ok(folder) = std::env::var("PICTURES") {
            std::fs::write(format!("{folder}/curves.svg"), svg).unwrap();
            std::fs::write(format!("{folder}/curves.png"), png).unwrap();
        }
    }
}
