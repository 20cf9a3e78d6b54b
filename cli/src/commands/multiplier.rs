//! Which multipliers a command plays at: those given, else those chosen for the run, else 1.
//!
//! Users write `0.5` for all constraints together, or each by its name: `NAME=0.5,OTHER=0.1`.

use super::output::remark;
use anyhow::{Context, bail, ensure};
use cgcmarl::{
    Error, Model,
    environment::{Scenario, Spec},
    evaluation::{EvaluationOptions, Limits, Measures},
    multipliers::MAX_MULTIPLIER,
    run::LearnedLimit,
    run_dir::files::CHOICE,
};
use serde_json::Value;

/// What commands play at where nothing was given or chosen.
const DEFAULT: f32 = 1.0;
const ONE: &str = "--multiplier";
const MANY: &str = "--multipliers";
/// What stands for the multipliers that a training ended with.
const LEARNED: &str = "learned";

/// One multiplier per constraint; those that `choose` left in the run are announced.
pub(crate) fn resolve(
    given: Option<&str>,
    model: &Model,
    scenario: &Scenario,
) -> anyhow::Result<Vec<f32>> {
    let spec = &scenario.spec()?;
    if let Some(text) = given {
        refuse_baseline(model, ONE)?;
        if text == LEARNED {
            return learned(model, spec);
        }
        return parse(text, &spec.constraint_names());
    }
    match chosen(model, scenario, spec)? {
        Some((multipliers, told)) => {
            remark(&told);
            Ok(multipliers)
        }
        None => Ok(vec![DEFAULT; spec.n_constraints()]),
    }
}

/// The multipliers that a training ended with, and how its limits fared.
fn learned(model: &Model, spec: &Spec) -> anyhow::Result<Vec<f32>> {
    let limits = model.learned_limits()?;
    let last = model.run.metrics()?.pop().unwrap_or_default();
    limits.iter().for_each(|limit| remark(&told(limit)));
    let names = spec.constraint_names();
    let multipliers = names.iter().map(|name| {
        let multiplier = last[format!("multiplier_{name}")].as_f64().map(|m| m as f32);
        multiplier.with_context(|| {
            let reason = "this run learned no multipliers; train with mode=learned";
            Error::setting(ONE, LEARNED, reason).to_string()
        })
    });
    multipliers.collect()
}

/// How a learned limit fared, in words.
pub(crate) fn told(limit: &LearnedLimit) -> String {
    let LearnedLimit { constraint, limit, cost, multiplier, settling, kept_from } = limit;
    let kept = kept_from.map_or_else(
        || "the mean of the training is above it".to_owned(),
        |step| format!("the mean of the training is within a tenth of it from step {step} on"),
    );
    format!(
        "{constraint}: limit {limit}, {cost:.5} in the last quarter at λ={multiplier:.3}; {}; {kept}",
        settling.told()
    )
}

/// Refuses an option that only a model with multipliers understands.
pub(crate) fn refuse_baseline(model: &Model, option: &str) -> anyhow::Result<()> {
    ensure!(
        model.has_multipliers()?,
        "`{option}` needs a run that plays at any multiplier (cg_cmarl, mappo_lambda); {} was trained with {}, which has the one trade-off it was trained for",
        model.run.path().display(),
        model.config.algorithm
    );
    Ok(())
}

/// The multipliers of a text, one per constraint.
fn parse(text: &str, names: &[String]) -> anyhow::Result<Vec<f32>> {
    if !text.contains('=') {
        return Ok(vec![number(ONE, text)?; names.len()]);
    }
    let mut given = vec![None; names.len()];
    for word in text.split(',') {
        let Some((name, value)) = word.split_once('=') else {
            bail!(Error::setting(ONE, word, "is written CONSTRAINT=NUMBER, separated by commas"));
        };
        let index = constraint(ONE, name, names)?;
        let value = number(ONE, value)?;
        if given[index].replace(value).is_some() {
            bail!(Error::setting(ONE, word, format!("`{name}` is given twice")));
        }
    }
    let each = names.iter().zip(given).map(|(name, value)| {
        value.with_context(|| Error::setting(ONE, text, format!("`{name}` is missing")).to_string())
    });
    each.collect()
}

/// Puts the lists of a sweep into its options: one for all constraints, or some by name for a grid.
pub(crate) fn apply_lists(
    lists: &[String],
    spec: &Spec,
    options: &mut EvaluationOptions,
) -> anyhow::Result<()> {
    let (names, mut is_shared) = (spec.constraint_names(), false);
    let by_name = lists.iter().filter(|list| list.contains('=')).count();
    if by_name == names.len() && by_name < lists.len() {
        let reason = "every constraint has a list by its name; none is left for this one";
        let rest = lists.iter().find(|list| !list.contains('=')).map_or("", String::as_str);
        bail!(Error::setting(MANY, rest, reason));
    }
    // A list for all takes the place of every list that the run has; one by name only of its own.
    if lists.iter().any(|list| !list.contains('=')) {
        options.grid.clear();
    }
    let mut named: Vec<&str> = vec![];
    for list in lists {
        let (name, numbers) = match list.split_once('=') {
            Some((name, numbers)) => (Some(name), numbers),
            None => (None, list.as_str()),
        };
        let values = numbers.split(',').map(|text| number(MANY, text));
        let values = values.collect::<anyhow::Result<Vec<f32>>>()?;
        let repeated = if let Some(name) = name {
            constraint(MANY, name, &names)?;
            options.grid.insert(name.to_owned(), values);
            named.push(name);
            named.iter().filter(|known| **known == name).count() > 1
        } else {
            options.multipliers = values;
            std::mem::replace(&mut is_shared, true)
        };
        if repeated {
            bail!(Error::setting(MANY, list, "is given twice; separate the numbers by commas"));
        }
    }
    Ok(())
}

/// A number that can be a multiplier.
fn number(option: &str, text: &str) -> anyhow::Result<f32> {
    playable(text.trim().parse().unwrap_or(f64::NAN), option, text)
}

/// The number as it is played; refuses what cannot be a multiplier, by its key and as it was `written`.
fn playable(number: f64, key: &str, written: impl ToString) -> anyhow::Result<f32> {
    let reason = format!("a multiplier is a number from 0 to {MAX_MULTIPLIER}");
    ensure!((0.0..=MAX_MULTIPLIER).contains(&number), Error::setting(key, written, reason));
    Ok(number as f32)
}

/// The index of a constraint.
pub(crate) fn constraint(option: &str, name: &str, names: &[String]) -> anyhow::Result<usize> {
    names.iter().position(|known| known == name).with_context(|| {
        let all: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let reason = format!("there is no such constraint, only {}", all.join(", "));
        Error::setting(option, name, reason).to_string()
    })
}

/// What `choose` left in a run, and how to say so.
fn chosen(
    model: &Model,
    scenario: &Scenario,
    spec: &Spec,
) -> anyhow::Result<Option<(Vec<f32>, String)>> {
    let (run, names) = (&model.run, spec.constraint_names());
    let shown = run.file(CHOICE).display().to_string();
    if !run.file(CHOICE).exists() {
        return Ok(None);
    }
    let file: Value = serde_json::from_str(&run.read(CHOICE)?).unwrap_or_default();
    // Earlier versions knew one multiplier for all constraints.
    if let Some(multiplier) = file["multiplier"].as_f64() {
        let multiplier = playable(multiplier, "multiplier", multiplier).context(shown)?;
        let told = format!("at λ={multiplier}, chosen for this run by an earlier version");
        return Ok(Some((vec![multiplier; names.len()], told)));
    }
    let Some(choice) = run.choice()? else { return Ok(None) };
    ensure!(
        choice.model.is_none_or(|measured| measured == model.fingerprint()),
        "{shown}: chosen for other weights than those in the run; choose again, or give `{ONE}`"
    );
    ensure!(
        choice.multipliers == choice.evidence.score.multipliers,
        "{shown}: `multipliers` are not those of `evidence`; choose again"
    );
    let multiplier = |name: &String| {
        let chosen = choice
            .multipliers
            .get(name)
            .with_context(|| format!("{shown}: holds no multiplier for `{name}`; choose again"))?;
        playable(*chosen, name, chosen).with_context(|| shown.clone())
    };
    let multipliers = names.iter().map(multiplier).collect::<anyhow::Result<Vec<f32>>>()?;
    let label = &choice.evidence.score.label;
    let told = if choice.environment == scenario.card()? && !model.is_altered() {
        format!("at {label}, chosen for this run: {}", promise(&choice.limits, &Measures::of(spec)))
    } else {
        format!("at {label}, chosen for this run under other conditions: nothing is promised here")
    };
    Ok(Some((multipliers, told)))
}

/// What limits promise, in words.
pub(crate) fn promise(limits: &Limits, measures: &Measures) -> String {
    let each = limits.limits.iter().map(|(name, limit)| {
        let constraint = measures.constraints.iter().find(|constraint| constraint.name == name);
        let metric = constraint.map_or(name, |constraint| constraint.metric.as_str());
        format!("{metric} below {limit}")
    });
    let each: Vec<_> = each.collect();
    format!("{} with {} % confidence", each.join(" and "), 100.0 * limits.confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::Config;

    fn spec() -> Spec {
        let settings = [("constraints".to_owned(), r#"["collision","energy"]"#.to_owned())];
        Config::resolve(None, &settings).unwrap().scenario().unwrap().spec().unwrap()
    }

    fn parsed(text: &str) -> Result<Vec<f32>, String> {
        parse(text, &spec().constraint_names()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_number_is_for_all_and_names_are_for_each() {
        assert_eq!(parsed("0.5").unwrap(), [0.5, 0.5]);
        assert_eq!(parsed("energy=0.1,collision=2").unwrap(), [2.0, 0.1]);
    }

    #[test]
    fn what_is_no_multiplier_is_refused_by_name() {
        for (text, told) in [
            ("nan", "`--multiplier`: nan (a multiplier is a number from 0 to 1000000)"),
            ("1e300", "`--multiplier`: 1e300"),
            ("inf", "`--multiplier`: inf"),
            ("-1", "`--multiplier`: -1"),
            ("much", "`--multiplier`: much"),
            (
                "height=1",
                "`--multiplier`: height (there is no such constraint, only `collision`, `energy`)",
            ),
            ("collision=1", "`energy` is missing"),
            ("collision=1,collision=2", "`collision` is given twice"),
            ("collision=1,2", "`--multiplier`: 2 (is written CONSTRAINT=NUMBER"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    fn swept(lists: &[&str]) -> Result<EvaluationOptions, String> {
        let mut options = EvaluationOptions::default();
        let lists: Vec<String> = lists.iter().map(ToString::to_string).collect();
        apply_lists(&lists, &spec(), &mut options).map_err(|error| error.to_string())?;
        Ok(options)
    }

    #[test]
    fn a_sweep_takes_one_list_or_a_grid() {
        assert_eq!(swept(&["0,0.5"]).unwrap().multipliers, [0.0, 0.5]);
        let mut run = EvaluationOptions::default();
        run.grid.insert("energy".into(), vec![0.0]);
        apply_lists(&["collision=0,1".to_owned()], &spec(), &mut run).unwrap();
        assert_eq!(
            (&run.grid["collision"][..], &run.grid["energy"][..]),
            (&[0.0, 1.0][..], &[0.0][..])
        );
        let grid = swept(&["collision=0,0.5", "energy=1"]).unwrap().grid;
        assert_eq!((&grid["collision"][..], &grid["energy"][..]), (&[0.0, 0.5][..], &[1.0][..]));
        for lists in
            [&["nan,inf,-3"][..], &["0,inf"], &["height=1"], &["1", "2"], &["energy=0", "energy=1"]]
        {
            assert!(swept(lists).unwrap_err().contains("`--multipliers`"), "{lists:?}");
        }
    }
}
