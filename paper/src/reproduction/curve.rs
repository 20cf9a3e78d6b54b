//! The training curve of a team: what its own episodes achieved while it learned.

use super::row_check::{column, in_order};
use crate::tables::TradeOff;
use cgcmarl::environment::TEAM_RETURN;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What files of earlier versions call the return.
const FORMER_RETURN: &str = "episode_return";
/// Most entries that are kept.
const MOST_ENTRIES: usize = 100;
/// Digits after the point that are kept.
const DIGITS: i32 = 6;

/// One entry per line of metrics, exploration included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Environment steps so far, those of smaller teams included.
    pub step: Vec<u64>,
    /// Share of landmarks covered.
    pub coverage: Vec<f64>,
    /// Overlapping pairs per step.
    pub collisions_per_step: Vec<f64>,
    /// Sum of team rewards.
    pub team_return: Vec<f64>,
}

impl Curve {
    /// The lines of a team of this size: a curriculum's smaller teams are others, and say nothing
    /// about it.
    pub fn of_lines(lines: &[Value], n_agents: usize) -> Self {
        let mut curve = Self::default();
        // Lines of versions that knew no curriculum do not name their team.
        let is_own = |line: &&Value| line["agents"].as_u64().is_none_or(|n| n == n_agents as u64);
        for line in lines.iter().filter(is_own) {
            let [coverage, collisions] = TradeOff::METRICS.map(|name| line[name].as_f64());
            let team_return = line[TEAM_RETURN].as_f64().or(line[FORMER_RETURN].as_f64());
            let step = line["step"].as_u64();
            let (Some(step), Some(coverage), Some(collisions), Some(team_return)) =
                (step, coverage, collisions, team_return)
            else {
                continue;
            };
            curve.step.push(step);
            curve.coverage.push(rounded(coverage));
            curve.collisions_per_step.push(rounded(collisions));
            curve.team_return.push(rounded(team_return));
        }
        curve.thinned()
    }

    /// Evenly spaced entries, the last among them.
    fn thinned(self) -> Self {
        let (n, kept) = (self.len(), self.len().min(MOST_ENTRIES));
        let places: Vec<usize> = (1..=kept).map(|entry| entry * n / kept - 1).collect();
        let pick = |column: &[f64]| places.iter().map(|place| column[*place]).collect();
        Self {
            step: places.iter().map(|place| self.step[*place]).collect(),
            coverage: pick(&self.coverage),
            collisions_per_step: pick(&self.collisions_per_step),
            team_return: pick(&self.team_return),
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// Whether nothing was logged.
    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// Says which number cannot be, or is missing.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { step, coverage, collisions_per_step, team_return } = self;
        column("coverage", coverage, step, [0.0, 1.0])?;
        column("collisions_per_step", collisions_per_step, step, [0.0, f64::MAX])?;
        column("team_return", team_return, step, [f64::MIN, f64::MAX])?;
        in_order(step)
    }

    /// Environment steps until a coverage was first reached.
    pub fn first_reaching(&self, coverage: f64) -> Option<u64> {
        let place = self.coverage.iter().position(|reached| *reached >= coverage)?;
        self.step.get(place).copied()
    }
}

/// Short enough for a file that is read by people too.
pub(super) fn rounded(number: f64) -> f64 {
    let scale = 10f64.powi(DIGITS);
    (number * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(step: u64, agents: Option<u64>, coverage: f64) -> Value {
        let mut line = json!({
            "step": step, "coverage": coverage, "collisions_per_step": 0.1, "team_return": -20.0,
        });
        if let Some(agents) = agents {
            line["agents"] = json!(agents);
        }
        line
    }

    #[test]
    fn a_team_of_six_is_not_credited_with_what_three_agents_reached() {
        let lines = [
            line(70_000, Some(3), 0.3),
            line(200_000, Some(3), 0.9),
            line(202_000, Some(6), 0.2),
            line(300_000, Some(6), 0.4),
        ];
        let curve = Curve::of_lines(&lines, 6);
        assert_eq!(curve.step, [202_000, 300_000]);
        assert_eq!(curve.first_reaching(0.25), Some(300_000));
        assert_eq!(curve.first_reaching(0.5), None);
        assert_eq!(Curve::of_lines(&lines, 3).first_reaching(0.25), Some(70_000));
    }

    #[test]
    fn a_long_curve_keeps_a_hundred_entries_and_its_end() {
        let lines: Vec<Value> = (1..=1001).map(|step| line(step, None, 0.5)).collect();
        let curve = Curve::of_lines(&lines, 3);
        assert_eq!((curve.len(), curve.step[0], curve.step[99]), (100, 10, 1001));
        assert!(curve.check().is_ok() && Curve::of_lines(&[], 3).is_empty());
    }

    #[test]
    fn lines_of_earlier_versions_are_read() {
        let mut old = line(2000, None, 1.0 / 3.0);
        let team_return = old.as_object_mut().unwrap().remove("team_return").unwrap();
        old["episode_return"] = team_return;
        let curve = Curve::of_lines(&[old, json!({"step": 4000})], 4);
        assert_eq!((curve.step, curve.coverage), (vec![2000], vec![0.333_333]));
        assert_eq!(curve.team_return, [-20.0]);
    }
}
