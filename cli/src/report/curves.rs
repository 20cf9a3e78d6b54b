//! Learning curves: what the front's axes, the multipliers and the losses were at each step.

use super::{
    axis::{Axis, Frame},
    curve::{Curve, Curves},
    measure::{axis_title, scale},
    picture::{Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PURPLE, Picture, Place},
};
use cgcmarl::{environment::Metric, evaluation::Measures};
use serde_json::{Value, json};

const PANEL_WIDTH: f64 = 340.0;
const PANEL_HEIGHT: f64 = 180.0;
const COLOURS: [Colour; 5] = [BLUE, ORANGE, GREEN, PURPLE, GREY];

/// Curves in one frame, in the unit in which they are shown.
struct Panel<'a> {
    title: String,
    curves: Vec<(&'a Curve, f64)>,
}

/// Draws the metrics of a run, one panel per kind of number; kinds that were not logged leave no panel.
pub(crate) fn learning_curves(title: &str, measures: &Measures, metrics: &Curves) -> Picture {
    let panels = panels(measures, metrics, false);
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
    for (index, panel) in panels.iter().enumerate() {
        panel.draw(&mut picture, place(index));
    }
    picture
}

/// The same metrics as data for a page, with the constraints' costs: panels with a title and curves.
pub(crate) fn curve_data(measures: &Measures, metrics: &Curves) -> Value {
    let curve = |(curve, scale): &(&Curve, f64)| {
        let points: Vec<_> = curve.points().map(|(x, y)| [x, scale * y]).collect();
        json!({ "name": curve.name(), "points": points })
    };
    let panel = |panel: Panel<'_>| {
        let curves: Vec<_> = panel.curves.iter().map(curve).collect();
        json!({ "title": panel.title, "curves": curves })
    };
    panels(measures, metrics, true).into_iter().map(panel).collect()
}

fn panels<'a>(measures: &Measures, metrics: &'a Curves, with_costs: bool) -> Vec<Panel<'a>> {
    let mut panels = vec![];
    let mut add = |title: String, curves: Vec<(&'a Curve, f64)>| {
        if !curves.is_empty() {
            panels.push(Panel { title, curves });
        }
    };
    let named = |name: &str| measures.metric(name).and_then(|metric| logged(metrics, metric));
    for metric in measures.axis_metrics() {
        let of = |name: &String| *name == metric.name;
        let constraint = measures.constraints.iter().find(|constraint| of(&constraint.metric));
        let unavoidable = constraint.and_then(|constraint| constraint.unavoidable.as_deref());
        let both = logged(metrics, metric).into_iter().chain(unavoidable.and_then(named));
        add(axis_title(metric), both.collect());
    }
    let beginning = |prefix: &'static str| {
        metrics.beginning(prefix).take(COLOURS.len()).map(|curve| (curve, 1.0))
    };
    add("multiplier λ".into(), beginning("multiplier").collect());
    if with_costs {
        let costs =
            measures.constraints.iter().map(|constraint| format!("cost_{}", constraint.name));
        let others = costs.filter(|name| !measures.axes.contains(name));
        let found = others.filter_map(|name| Some((metrics.named(&name)?, 1.0)));
        add("cost per agent and step".into(), found.take(COLOURS.len()).collect());
    }
    add("loss".into(), beginning("loss").collect());
    panels
}

/// The curve of a metric, under the name of its day.
fn logged<'a>(metrics: &'a Curves, metric: &Metric) -> Option<(&'a Curve, f64)> {
    let former = || metric.formerly.as_deref().and_then(|name| metrics.named(name));
    Some((metrics.named(&metric.name).or_else(former)?, scale(metric)))
}

impl Panel<'_> {
    fn draw(&self, picture: &mut Picture, (left, top): Place) {
        let bounds = (left, top, left + PANEL_WIDTH, top + PANEL_HEIGHT);
        let values = |(curve, scale): &(&Curve, f64)| {
            let scale = *scale;
            curve.points().map(move |(step, value)| (step, scale * value)).collect::<Vec<_>>()
        };
        let points = || self.curves.iter().flat_map(values);
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
            vertical_title: &self.title,
        }
        .draw(picture);
        let mut legend = left;
        for (pair, colour) in self.curves.iter().zip(COLOURS) {
            let places: Vec<Place> = values(pair)
                .into_iter()
                .map(|(step, value)| (horizontal.place(step), vertical.place(value)))
                .collect();
            picture.line(&places, colour, 1.5);
            let font = Font::new(11.0, colour).bold();
            picture.text((legend, top - 12.0), pair.0.name(), font, Anchor::Start);
            legend += super::render::text_width(pair.0.name(), font) + 14.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn metrics_find_their_panels() {
        let metrics = [
            json!({"step": 1, "coverage_0.1": 0.5, "collision_floor": 0.1, "loss": {"primary": 1.0}}),
            json!({"step": 2, "coverage_0.1": 0.6, "collisions_per_step": 0.2, "loss": {"primary": null}}),
        ];
        let metrics: Curves = metrics.iter().collect();
        let measures = sample::front().measures;
        let data = curve_data(&measures, &metrics);
        let titles: Vec<_> = data.as_array().unwrap().iter().map(|p| p["title"].clone()).collect();
        assert_eq!(titles, ["coverage (%)", "collisions per step", "loss"]);
        assert_eq!(data[0]["curves"][0]["points"], json!([[1.0, 50.0], [2.0, 60.0]]));
        let names: Vec<_> =
            data[1]["curves"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
        assert_eq!(names, ["collisions_per_step", "collision_floor"]);
        let picture = learning_curves("run", &measures, &metrics).to_svg().unwrap();
        assert!(picture.contains("environment steps"));
        assert!(learning_curves("empty", &measures, &Curves::default()).to_png().is_ok());
    }

    #[test]
    fn a_page_gets_the_costs_too() {
        let metrics = [json!({"step": 1, "cost_collision": 0.5}), json!({"step": 2, "noise": 1})];
        let data = curve_data(&sample::front().measures, &metrics.iter().collect());
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
                    "coverage": 1.0 - (-5.0 * share).exp() + 0.06 * noise,
                    "collisions_per_step": 0.003 + 0.04 * (-6.0 * share).exp() + 0.002 * noise,
                    "collision_floor": 0.0023,
                    "multiplier_collision": 0.8 * share,
                    "loss_primary": (-3.0 * share).exp() + 0.1 * noise,
                    "loss_cost": 0.2 * (-share).exp(),
                })
            })
            .collect();
        let (measures, metrics) = (sample::front().measures, metrics.iter().collect());
        let picture = learning_curves("A task, cg_cmarl, seed 1", &measures, &metrics);
        let (svg, png) = (picture.to_svg().unwrap(), picture.to_png().unwrap());
        if let Ok(folder) = std::env::var("PICTURES") {
            std::fs::write(format!("{folder}/curves.svg"), svg).unwrap();
            std::fs::write(format!("{folder}/curves.png"), png).unwrap();
        }
    }
}
