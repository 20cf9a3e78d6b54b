//! A row as its file tells it: what cannot be is refused, with its key and its value.

use super::{
    plan::{all_layouts, layout_name},
    row_file::{FLOOR, PlayedLayout, PlayedPoint, RowResult},
};
use crate::tables::TradeOff;

/// Most agents of a team whose file is read.
const MAX_AGENTS: usize = 1000;
/// Most steps of an episode whose file is read.
const MAX_HORIZON: usize = 1_000_000;
/// How far a mean may be from that of its counts: it is kept with six digits after the point.
const ROUNDING: f64 = 1e-6;
/// Signs that would break the lines of a table.
const IN_NO_TEXT: fn(char) -> bool = |sign| sign.is_control() || sign == '|';

type Checked = Result<(), String>;

/// Whether a number is there and lies between two others.
pub(super) fn between(name: &str, value: f64, least: f64, most: f64) -> Checked {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    match most {
        f64::MAX => Err(format!("`{name}` is {value:?}, not {least} or more")),
        _ => Err(format!("`{name}` is {value:?}, not {least} to {most}")),
    }
}

/// Whether a column has one number for each step, all of them between two others.
pub(super) fn column(
    name: &str,
    values: &[f64],
    steps: &[u64],
    [least, most]: [f64; 2],
) -> Checked {
    if values.len() != steps.len() {
        return Err(format!("`{name}` has {} entries, `step` {}", values.len(), steps.len()));
    }
    values.iter().try_for_each(|value| between(name, *value, least, most))
}

/// Whether steps follow each other.
pub(super) fn in_order(steps: &[u64]) -> Checked {
    match steps.windows(2).find(|pair| pair[0] > pair[1]) {
        Some(pair) => Err(format!("`step` has {} after {}", pair[1], pair[0])),
        None => Ok(()),
    }
}

impl RowResult {
    /// Says which number or text cannot be; every point must have the metrics that are needed.
    pub(super) fn check(&self, needed: &[&str]) -> Checked {
        let Self { agents, horizon, steps, trained, .. } = self;
        if !(2..=MAX_AGENTS).contains(agents) {
            return Err(format!("`agents` is {agents}, not 2 to {MAX_AGENTS}"));
        }
        if !(1..=MAX_HORIZON).contains(horizon) {
            return Err(format!("`horizon` is {horizon}, not 1 to {MAX_HORIZON}"));
        }
        let set = self.settings.get("environment").and_then(|group| group.get("horizon"));
        if let Some(set) = set.filter(|set| set.as_u64() != Some(*horizon as u64)) {
            return Err(format!("`horizon` is {horizon}, that of its `settings` {set}"));
        }
        if trained < steps {
            return Err(format!("`trained` is {trained}, less than the {steps} of `steps`"));
        }
        self.curve.check().map_err(|reason| format!("`curve`: {reason}"))?;
        self.greedy.check().map_err(|reason| format!("`greedy`: {reason}"))?;
        self.check_times()?;
        self.check_layouts()?;
        for played in self.layouts.iter().chain(&self.selection) {
            for point in &played.points {
                self.check_point(point, needed).map_err(|reason| {
                    let parameter = point.parameter.escape_debug().to_string();
                    let comma = if parameter.is_empty() { "" } else { ", " };
                    format!("{}{comma}{parameter}: {reason}", played.layout)
                })?;
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Checked {
        let times = &self.timing.cpu_seconds;
        if !(times.is_empty() || times.len() == self.greedy.len()) {
            let (n, looks) = (times.len(), self.greedy.len());
            return Err(format!("`cpu_seconds` has {n} entries, `greedy` {looks}"));
        }
        times.iter().try_for_each(|seconds| between("cpu_seconds", *seconds, 0.0, f64::MAX))
    }

    fn check_layouts(&self) -> Checked {
        if self.layouts.is_empty() {
            return Err("`layouts` is empty: nothing was played".into());
        }
        for (place, played) in self.layouts.iter().enumerate() {
            let layout = &played.layout;
            if self.layouts[..place].iter().any(|before| before.layout == *layout) {
                return Err(format!("`layouts` has {layout:?} twice"));
            }
        }
        self.layouts.iter().chain(&self.selection).try_for_each(PlayedLayout::check)
    }

    fn check_point(&self, point: &PlayedPoint, needed: &[&str]) -> Checked {
        let n = point.n_episodes();
        if n == 0 || point.collided.0.len() != n {
            return Err("`covered` and `collided` tell of different numbers".into());
        }
        let n_pairs = self.agents * (self.agents - 1) / 2;
        let most_collided = n_pairs * self.horizon;
        for (name, counts, most) in
            [("covered", &point.covered, self.agents), ("collided", &point.collided, most_collided)]
        {
            if let Some(count) = counts.0.iter().find(|count| **count as usize > most) {
                return Err(format!("`{name}` has {count}, more than the {most} there can be"));
            }
        }
        if let Some(name) = needed.iter().find(|name| point.metrics.get(name).is_none()) {
            return Err(format!("`metrics` has no `{name}`"));
        }
        for (name, value) in point.metrics.iter() {
            let [least, most] = match name {
                "coverage" | "collision_free" => [0.0, 1.0],
                "collisions_per_step" | FLOOR => [0.0, n_pairs as f64],
                _ => [f64::MIN, f64::MAX],
            };
            between(name, *value, least, most)?;
        }
        for (name, value) in point.multipliers.iter() {
            between(name, *value, 0.0, f64::MAX)?;
        }
        self.check_means(point)
    }

    /// The means must be those of the episodes beside them.
    fn check_means(&self, point: &PlayedPoint) -> Checked {
        let units = [("covered", self.agents), ("collided", self.horizon)];
        let counts = [&point.covered, &point.collided];
        for ((name, (key, unit)), counts) in TradeOff::METRICS.into_iter().zip(units).zip(counts) {
            let sum: u64 = counts.0.iter().map(|count| u64::from(*count)).sum();
            let counted = sum as f64 / (unit * counts.0.len()) as f64;
            let told = point.mean(name);
            if (told - counted).abs() > ROUNDING {
                return Err(format!("`{name}` is {told}, but `{key}` makes {counted:.6}"));
            }
        }
        Ok(())
    }
}

impl PlayedLayout {
    fn check(&self) -> Checked {
        let Self { layout, points, .. } = self;
        if !all_layouts().any(|known| layout_name(known) == *layout) {
            return Err(format!("`layout` is {layout:?}, which is none of the comparison"));
        }
        let Some(first) = points.first() else {
            return Err(format!("{layout}: `points` is empty"));
        };
        for (place, point) in points.iter().enumerate() {
            let PlayedPoint { parameter, label, .. } = point;
            for (key, text) in [("parameter", parameter), ("label", label)] {
                if text.contains(IN_NO_TEXT) {
                    let text = text.escape_debug();
                    return Err(format!(
                        "{layout}: `{key}` is \"{text}\", which no table can show"
                    ));
                }
            }
            if points[..place].iter().any(|before| before.parameter == *parameter) {
                return Err(format!("{layout}: `points` has \"{parameter}\" twice"));
            }
            let (n, of_first) = (point.n_episodes(), first.n_episodes());
            if n != of_first {
                return Err(format!(
                    "{layout}, {parameter}: `covered` tells of {n} episodes, that of {} of {of_first}",
                    first.parameter
                ));
            }
        }
        Ok(())
    }
}
