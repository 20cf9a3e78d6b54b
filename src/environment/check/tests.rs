//! What is refused when an environment or a task breaks one promise.

use super::{
    line::{Fault, HORIZON, LENGTH, Line},
    *,
};
use crate::{environment::Reference, graph::JointAction};
use serde::{Deserialize, Serialize};

/// Agents on a line as a task.
struct LineTask(Fault);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct LineOptions {
    agents: usize,
    length: f64,
}

impl Default for LineOptions {
    fn default() -> Self {
        Self { agents: 3, length: LENGTH }
    }
}

/// Stays, or walks into the wall.
#[derive(Clone)]
struct Walker(usize);

impl Policy for Walker {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        actions.iter_mut().for_each(|action| *action = vec![self.0; batch.view.spec().n_agents()]);
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

impl Task for LineTask {
    type Options = LineOptions;

    fn name(&self) -> &str {
        if self.0 == Fault::TaskName { "a line" } else { "line" }
    }

    fn summary(&self) -> &'static str {
        "agents on a line"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        match self.0 {
            Fault::Unlisted => vec![("agents", "team size")],
            Fault::ListedTwice => vec![("agents", "team size"), ("length", ""), ("agents", "")],
            _ => vec![("agents", "team size"), ("length", "of the line")],
        }
    }

    fn build(&self, options: &LineOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(Line::new(self.0, options.agents)))
    }

    fn card(&self, options: &LineOptions) -> serde_json::Value {
        if self.0 == Fault::Card {
            "a line".into()
        } else {
            serde_json::json!({"options": options})
        }
    }

    fn with_agents(&self, options: &LineOptions, agents: usize) -> Result<LineOptions> {
        let agents = if self.0 == Fault::Team { 3 } else { agents };
        Ok(LineOptions { agents, ..options.clone() })
    }

    fn references(&self, _options: &LineOptions) -> Result<Vec<Reference>> {
        let name = if self.0 == Fault::ReferenceTwice { "random" } else { "walker" };
        let action = if self.0 == Fault::ForbiddenMove { 2 } else { 0 };
        Ok(vec![Reference { name: name.into(), policy: Box::new(Walker(action)) }])
    }
}

#[test]
fn an_environment_with_masks_early_ends_mixed_regions_and_300_actions_passes() {
    check(&LineTask(Fault::None)).unwrap();
    let mut environment = Line::new(Fault::None, 3);
    let lengths: Vec<usize> = (0..20)
        .map(|seed| {
            let mut actions = episode::RandomActions::new(seed);
            episode::play(&mut environment, seed, false, &mut actions).unwrap();
            environment.steps
        })
        .collect();
    assert!(lengths.iter().any(|steps| *steps < HORIZON), "{lengths:?}");
}

#[test]
fn every_broken_promise_of_an_environment_is_named() {
    for (fault, words) in [
        (Fault::NoActions, "every agent has actions"),
        (Fault::NoHorizon, "no steps"),
        (Fault::MetricTwice, "two metrics are called `team_return`"),
        (Fault::NoObjective, "there is no metric `glory`"),
        (Fault::StrangeName, "the metric `far, right` has a name that is not plain"),
        (Fault::EmptyRange, "metric `right` has the range [1.0, 1.0]"),
        (Fault::LimitOnGain, "`meeting` limits `right`, of which more is better"),
        (Fault::UnknownFloor, "there is no metric `cellar`"),
        (Fault::SmallGrid, "an action grid"),
        (Fault::StateNotWritten, "was not written"),
        (Fault::RowNotWritten, "was not written"),
        (Fault::RowsDiffer, "region 1 looks different alone"),
        (Fault::ViewRemembers, "looks different alone"),
        (Fault::ViewSeesEnvironment, "changed with the environment"),
        (Fault::GraphRemembers, "the graph that was there before"),
        (Fault::TooManyRegions, "a graph of 3 agents and 2 regions"),
        (Fault::LargeRegion, "a region of more than 2 agents"),
        (Fault::NothingAllowed, "agent 0 is left without an action"),
        (Fault::ActionTwice, "symmetry 1 does not permute the actions"),
        (Fault::FirstActs, "symmetry 0 changes actions"),
        (Fault::FirstMoves, "symmetry 0 changes states"),
        (Fault::OtherGraph, "symmetry 1 changes who shares a region"),
        (Fault::OtherMask, "symmetry 1 allows other actions"),
        (Fault::OtherFrame, "symmetry 1 changes what region 0 is shown"),
        (Fault::FirstFrame, "under symmetry 1 its frame does not follow the rest of the state"),
        (Fault::FrameBeyond, "frame 0 of a region is symmetry 2"),
        (Fault::AgentBeyond, "agent 0 sees the world under symmetry 2"),
        (Fault::AgentsDiffer, "sees other things alone"),
        (Fault::NoInverse, "symmetry 1 has no inverse"),
        (Fault::NotClosed, "symmetry 2 after symmetry 1 is none of the symmetries"),
        (Fault::Slope, "symmetry 1 is none: a step of the world under it brings another state"),
        (Fault::Wind, "symmetry 1 is none: a step of the world under it brings another state"),
        (Fault::Reward, "symmetry 1 is none: a step of the world under it brings other rewards"),
        (Fault::Price, "symmetry 1 is none: a step of the world under it brings other costs"),
        (Fault::End, "symmetry 1 is none: a step of the world under it brings another ending"),
        (Fault::Chance, "gave another episode"),
        (Fault::NegativeCost, "a cost of -1"),
        (Fault::CostsDoNotAdd, "for `moving`, the team"),
        (Fault::DearAgent, "an agent pays 1 for `moving`, at most 0.5 is declared"),
        (Fault::MissingMetric, "2 metrics where 3 belong"),
        (Fault::InfiniteReward, "a reward that is not finite"),
        (Fault::OutOfRange, "`right` was 1, outside its range [0.0, 0.1]"),
        (Fault::HighFloor, "more of `meeting` is unavoidable than there is"),
        (Fault::KeepsOutcome, "a reward that is not finite"),
        (Fault::NeverEnds, "goes on after its horizon of 6 steps"),
        (Fault::TrueEnd, "`terminates` is false"),
        (Fault::Forgets, "after its horizon of 6 steps"),
        (Fault::TakesTooMuch, "a snapshot that is too long"),
        (Fault::TakesNonsense, "a number that is none"),
        (Fault::NoBounds, "a drawing with the bounds"),
        (Fault::UnknownAgent, "a shape of agent Some(3)"),
        (Fault::WrongHandle, "not at 0 in the snapshot"),
    ] {
        let refused = check_environment(&mut Line::new(fault, 3));
        let error = refused.expect_err(&format!("{fault:?}")).to_string();
        assert!(error.contains(words), "{fault:?}: {error}");
    }
}

/// Steps without chance are compared once, others many times.
#[test]
fn symmetries_of_every_task_that_declares_some_are_put_to_the_test() {
    let compared = |task: &str| {
        let mut environment = crate::environment::Scenario::of(task).unwrap().build().unwrap();
        turned::check_turned(environment.as_mut(), 0).unwrap()
    };
    assert_eq!(["simple_spread", "simple_tag"].map(compared), [2 * 7; 2]);
    assert_eq!(compared("predator_prey"), 2 * 7 * 400);
    assert_eq!(["capture", "warehouse"].map(compared), [0; 2]);
}

#[test]
fn every_broken_promise_of_a_task_is_named() {
    for (fault, words) in [
        (Fault::TaskName, "the task `a line` has a name that is not plain"),
        (Fault::Unlisted, "the option `length` is not listed"),
        (Fault::ListedTwice, "the option `agents` is listed twice"),
        (Fault::Card, "its card is not an object"),
        (Fault::Team, "asked for 4 agents, it has 3"),
        (Fault::Eyesight, "with 4 agents a region sees or does something else"),
        (Fault::ReferenceTwice, "two references are called `random`"),
        (Fault::ForbiddenMove, "a reference did [2, 2, 2], which is not allowed"),
    ] {
        let error = check(&LineTask(fault)).unwrap_err().to_string();
        assert!(error.contains(words), "{fault:?}: {error}");
    }
}

/// A task whose option is twice as large each time it is read.
struct DoublingTask;

#[derive(Serialize)]
struct Doubling {
    size: u32,
}

impl Default for Doubling {
    fn default() -> Self {
        Self { size: 1 }
    }
}

impl<'de> Deserialize<'de> for Doubling {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        let table = toml::Table::deserialize(input)?;
        let size = table.get("size").and_then(toml::Value::as_integer).unwrap_or(1);
        Ok(Self { size: 2 * size as u32 })
    }
}

impl Task for DoublingTask {
    type Options = Doubling;

    fn name(&self) -> &'static str {
        "doubling"
    }

    fn summary(&self) -> &'static str {
        "never twice the same"
    }

    fn build(&self, options: &Doubling) -> Result<Box<dyn Environment>> {
        Ok(Box::new(Line::new(Fault::None, options.size as usize)))
    }
}

#[test]
fn options_that_a_file_changes_are_refused() {
    let error = check(&DoublingTask).unwrap_err().to_string();
    assert!(error.contains("not the same once they were written and read"), "{error}");
}
