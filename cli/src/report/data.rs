//! What both pages know of a run: where it comes from, its measures, its curves, its front.

use super::{curve::Curves, curves::curve_data, paper};
use cgcmarl::{
    Model, Result,
    environment::{OptionInfo, Spec},
    evaluation::{Front, Measures},
    run_dir::{RunDir, files},
};
use serde_json::{Map, Value, json};

/// Everything about a run that a page shows without playing it.
pub(crate) fn run_data(model: &Model, front: Option<&Front>, curves: &Curves) -> Result<Value> {
    let scenario = model.scenario()?;
    let (spec, info, card) = (scenario.spec()?, scenario.info()?, scenario.card()?);
    let measures = Measures::of(&spec);
    let n_agents = front.map_or(spec.n_agents(), |front| front.n_agents);
    Ok(json!({
        "name": model.run.path().display().to_string(),
        "task": info.name,
        "summary": info.summary,
        "measures": measures,
        "algorithm": model.config.algorithm,
        "has_multipliers": model.has_multipliers()?,
        "agents": spec.n_agents(),
        "horizon": spec.horizon,
        "options": options(info.options, &card),
        "chosen": chosen(&model.run, &spec),
        "steps": model.steps,
        "total_steps": model.config.training.total_steps,
        "curves": curve_data(&measures, curves),
        "front": front,
        "paper": paper::points(scenario.name(), n_agents),
        "error_budget": error_budget(&model.run),
        "manifest": model.run.manifest().ok(),
        "card": card,
        "config": model.run.config().unwrap_or_default(),
    }))
}

/// The options that a page may change, with their present values.
fn options(all: Vec<OptionInfo>, card: &Value) -> Vec<Value> {
    let changeable = all.into_iter().filter(|option| !option.choices.is_empty());
    changeable
        .map(|option| {
            let path = format!("/options/{}", option.key.replace('.', "/"));
            let value = card.pointer(&path).cloned().or(option.default).unwrap_or_default();
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            json!({
                "key": option.key,
                "meaning": option.meaning,
                "choices": option.choices,
                "value": value,
            })
        })
        .collect()
}

/// The multipliers that were chosen for a run, by constraint.
fn chosen(run: &RunDir, spec: &Spec) -> Option<Value> {
    let choice: Value = serde_json::from_str(&run.read(files::CHOICE).ok()?).ok()?;
    if choice["multipliers"].is_object() {
        return Some(choice["multipliers"].clone());
    }
    // Earlier versions knew one multiplier for all constraints.
    let shared = choice["multiplier"].as_f64()?;
    let names = spec.constraint_names().into_iter();
    Some(names.map(|name| (name, json!(shared))).collect::<Map<_, _>>().into())
}

/// Where the errors of a run come from, where that was measured.
fn error_budget(run: &RunDir) -> Option<Value> {
    serde_json::from_str(&run.read(files::ERROR_BUDGET).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::environment::Scenario;

    #[test]
    fn options_of_a_few_words_are_offered_with_their_present_value() {
        let scenario = Scenario::of("simple_spread").unwrap();
        let options = options(scenario.info().unwrap().options, &scenario.card().unwrap());
        let shown: Vec<_> = options.iter().map(|o| (&o["key"], &o["value"])).collect();
        // The first follows another option: its value is what the card says.
        assert_eq!(
            shown,
            [(&json!("contact"), &json!("false")), (&json!("layout"), &json!("random"))]
        );
        assert!(options[1]["choices"].as_array().unwrap().contains(&json!("line")));
    }
}
