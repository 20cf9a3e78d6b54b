//! Results as a file tells them: numbers that cannot be are refused by name.

use super::results::{Results, Spread, Team};
use crate::tables::TradeOff;
use cgcmarl::error::{Error, Result};
use std::path::Path;

/// Most agents of a team whose results are read.
const MAX_AGENTS: usize = 1000;

type Checked = std::result::Result<(), String>;

impl Results {
    /// Reads the text of a results file.
    pub fn parse(file: &Path, text: &str) -> Result<Self> {
        let results: Self = serde_json::from_str(text)
            .map_err(|error| Error::format(file, Some(error.line()), error.to_string()))?;
        for team in &results.teams {
            check(team).map_err(|reason| {
                let whose = format!("N={}, {} layout", team.n_agents, team.layout);
                Error::format(file, None, format!("{whose}: {reason}"))
            })?;
        }
        Ok(results)
    }
}

fn check(team: &Team) -> Checked {
    if !(2..=MAX_AGENTS).contains(&team.n_agents) {
        return Err(format!("`n_agents` is {}, not 2 to {MAX_AGENTS}", team.n_agents));
    }
    let n_pairs = (team.n_agents * (team.n_agents - 1) / 2) as f64;
    for (name, reference) in [("random", team.random), ("oracle", team.oracle)] {
        let TradeOff { coverage, collisions } = reference.unwrap_or_default();
        between(name, "coverage", coverage, 1.0)?;
        between(name, "collisions", collisions, n_pairs)?;
    }
    for point in &team.points {
        let whose = format!("{} {}", point.algorithm, point.parameter);
        spread(&whose, "coverage", &point.coverage, 1.0)?;
        spread(&whose, "collisions", &point.collisions, n_pairs)?;
        spread(&whose, "per_pair_rate", &point.per_pair_rate, 1.0)?;
        between(&whose, "multiplier", point.multiplier.unwrap_or_default(), f64::MAX)?;
    }
    for front in &team.fronts {
        spread(&front.algorithm, "hypervolume", &front.hypervolume, n_pairs)?;
        let printed = front.printed_hypervolume.unwrap_or_default();
        between(&front.algorithm, "printed_hypervolume", printed, n_pairs)?;
        let ratio = front.ratio_to_printed_cg_cmarl.unwrap_or_default();
        between(&front.algorithm, "ratio_to_printed_cg_cmarl", ratio, 1e9)?;
    }
    for entry in &team.dominance {
        between(&entry.algorithm, "probability", entry.probability, 1.0)?;
    }
    for entry in &team.learning {
        for steps in entry.steps_to.iter().flatten() {
            between(&entry.row, "steps_to", *steps, 1e18)?;
        }
    }
    Ok(())
}

fn spread(whose: &str, name: &str, spread: &Spread, most: f64) -> Checked {
    let Spread { mean, deviation, low, high } = *spread;
    [mean, deviation, low, high].into_iter().try_for_each(|value| between(whose, name, value, most))
}

fn between(whose: &str, name: &str, value: f64, most: f64) -> Checked {
    // Sums of shares may exceed their bound by rounding.
    let slack = 1e-9 * most.min(1e9);
    if (-slack..=most + slack).contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` of {whose} is {value:e}, not 0 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::{Point, gather::TABLES_LAYOUT};

    fn results(change: impl Fn(&mut Point)) -> String {
        let mut point = Point { parameter: "λ=0".into(), ..Point::default() };
        change(&mut point);
        let layout = TABLES_LAYOUT.into();
        let team = Team { n_agents: 3, layout, points: vec![point], ..Team::default() };
        let results = Results { teams: vec![team], ..Results::default() };
        serde_json::to_string(&results).unwrap()
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_by_name() {
        let file = Path::new("results.json");
        assert!(Results::parse(file, &results(|point| point.collisions.mean = 3.0)).is_ok());
        let wrong = results(|point| point.collisions.mean = 1e308);
        let error = Results::parse(file, &wrong).unwrap_err().to_string();
        let expected =
            "results.json: N=3, random layout: `collisions` of  λ=0 is 1e308, not 0 to 3";
        assert_eq!(error, expected);
        let wrong = results(|point| point.coverage.low = -0.5);
        assert!(Results::parse(file, &wrong).is_err());
        let error = Results::parse(file, "{}").unwrap_err().to_string();
        assert!(error.starts_with("results.json:1: missing field"), "{error}");
    }
}
