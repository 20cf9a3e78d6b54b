//! Environments of one task side by side: reset, step and look, each with one array for all of them.

use crate::{
    failure::{raised, refused},
    model::described,
    remote,
};
use cgcmarl::{
    Config, Environment, Outcome,
    environment::{Ending, Scenario},
    rng::{Purpose, Rng, RngPosition, Streams},
    run::limits::environments_together,
};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2,
    ndarray::{Array1, Array2, Array3},
};
use pyo3::{Bound, PyResult, Python, pyclass, pyfunction, pymethods};

/// What a step brought: rewards of the team and of each agent, costs of each agent, metrics, endings.
type Brought<'py> = (
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<u8>>,
);

/// One environment with what it needs to go on.
struct Place {
    environment: Box<dyn Environment>,
    rng: Rng,
    outcome: Outcome,
    /// Whether it may be stepped.
    running: bool,
}

/// Environments side by side.
#[pyclass(module = "cgcmarl._native")]
pub(crate) struct Environments {
    scenario: Scenario,
    places: Vec<Place>,
}

/// The names of all tasks, each with what it says about itself, as JSON.
#[pyfunction]
pub(crate) fn tasks() -> PyResult<String> {
    // What others wrote is not built in, and says nothing before it is named.
    let built_in = cgcmarl::environment::tasks().into_iter().filter(|name| name != remote::NAME);
    let all = built_in
        .map(|name| Scenario::of(&name).and_then(|scenario| scenario.info()).map_err(raised))
        .collect::<PyResult<Vec<_>>>()?;
    serde_json::to_string(&all).map_err(|error| refused(error.to_string()))
}

/// A number for an ending: 0 goes on, 1 ran out of time, 2 truly ended.
fn number(ending: Ending) -> u8 {
    match ending {
        Ending::Running => 0,
        Ending::Truncated => 1,
        Ending::Terminal => 2,
    }
}

impl Environments {
    fn place(&mut self, index: usize) -> PyResult<&mut Place> {
        let n = self.places.len();
        self.places
            .get_mut(index)
            .ok_or_else(|| refused(format!("environment {index} of {n} does not exist")))
    }

    fn spec(&self) -> &cgcmarl::Spec {
        self.places[0].environment.view().spec()
    }

    /// One state after the other.
    fn rows(&self) -> Vec<f32> {
        let width = self.spec().state_width;
        let mut rows = vec![0.0; self.places.len() * width];
        for (place, row) in self.places.iter().zip(rows.chunks_exact_mut(width.max(1))) {
            place.environment.write_state(row);
        }
        rows
    }

    /// Refuses actions that do not exist, before anything moves.
    fn check(&self, actions: &Array2<i64>) -> PyResult<()> {
        let spec = self.spec();
        let shape = (self.places.len(), spec.n_agents());
        if actions.dim() != shape {
            let text = format!("actions have the shape {shape:?}, not {:?}", actions.dim());
            return Err(refused(text));
        }
        for ((place, agent), &action) in actions.indexed_iter() {
            let n_actions = spec.agents[agent].n_actions as i64;
            if self.places[place].running && !(0..n_actions).contains(&action) {
                return Err(refused(format!(
                    "environment {place}, agent {agent}: action {action} is not one of the {n_actions} from 0 up"
                )));
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Environments {
    /// `n` environments of the task that these settings name.
    #[new]
    fn new(mut settings: Vec<(String, String)>, n: usize) -> PyResult<Self> {
        // What a learner would change about the task is none of an environment's business.
        settings.push(("algorithm".into(), "iql".into()));
        let scenario = Config::resolve(None, &settings)
            .and_then(|config| config.scenario())
            .map_err(raised)?;
        if n == 0 {
            return Err(refused("at least one environment"));
        }
        let most = environments_together(&scenario.spec().map_err(raised)?);
        if n > most {
            return Err(refused(format!("n: {n} environments do not fit the memory; {most} do")));
        }
        let place = |index: usize| {
            let mut place = Place {
                environment: scenario.build()?,
                rng: Streams::new(0).rng(Purpose::Episode, index as u64),
                outcome: Outcome::default(),
                running: true,
            };
            place.environment.reset(&mut place.rng);
            Ok(place)
        };
        let places = (0..n).map(place).collect::<cgcmarl::Result<_>>().map_err(raised)?;
        Ok(Self { scenario, places })
    }

    /// What is known of the environments, as JSON.
    fn about(&self) -> String {
        let spec = described(self.spec());
        serde_json::json!({ "options": self.scenario.options(), "spec": spec }).to_string()
    }

    /// Starts an episode; with a seed everything that happens by chance from here on follows from it.
    fn reset(&mut self, index: usize, seed: Option<u64>) -> PyResult<()> {
        let place = self.place(index)?;
        if let Some(seed) = seed {
            place.rng = Streams::new(seed).rng(Purpose::Episode, 0);
        }
        place.environment.reset(&mut place.rng);
        place.running = true;
        Ok(())
    }

    /// Plays one joint action in every environment that runs; the others stand still.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray2<'py, i64>,
    ) -> PyResult<Brought<'py>> {
        let actions = actions.as_array().to_owned();
        self.check(&actions)?;
        let spec = self.spec().clone();
        let (n, n_agents) = (self.places.len(), spec.n_agents());
        let (n_costs, n_metrics) = (spec.n_constraints(), spec.metrics.len());
        let (mut team, mut endings) = (Array1::zeros(n), Array1::zeros(n));
        let mut rewards = Array2::zeros((n, n_agents));
        let mut costs = Array3::zeros((n, n_agents, n_costs));
        let mut metrics = Array2::zeros((n, n_metrics));
        py.detach(|| {
            let mut joint = Vec::with_capacity(n_agents);
            for (i, place) in self.places.iter_mut().enumerate().filter(|(_, p)| p.running) {
                joint.clear();
                joint.extend(actions.row(i).iter().map(|&action| action as usize));
                let Place { environment, rng, outcome, running } = place;
                environment.step(&joint, rng, outcome);
                *running = outcome.ending == Ending::Running;
                team[i] = outcome.team_reward;
                endings[i] = number(outcome.ending);
                fill(rewards.row_mut(i).iter_mut(), &outcome.agent_rewards);
                fill(costs.outer_iter_mut().nth(i).into_iter().flatten(), &outcome.agent_costs);
                fill(metrics.row_mut(i).iter_mut(), &outcome.metrics);
            }
        });
        Ok((
            team.into_pyarray(py),
            rewards.into_pyarray(py),
            costs.into_pyarray(py),
            metrics.into_pyarray(py),
            endings.into_pyarray(py),
        ))
    }

    /// The state of every environment.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let shape = (self.places.len(), self.spec().state_width);
        let rows = Array2::from_shape_vec(shape, self.rows());
        rows.map(|rows| rows.into_pyarray(py)).map_err(|error| refused(error.to_string()))
    }

    /// What every agent sees.
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let spec = self.spec();
        let (n_agents, width) = (spec.n_agents(), spec.agent_width);
        let states = self.rows();
        let mut seen = vec![0.0; self.places.len() * n_agents * width];
        let places = self.places.iter().zip(states.chunks_exact(spec.state_width.max(1)));
        for ((place, state), rows) in places.zip(seen.chunks_exact_mut((n_agents * width).max(1))) {
            for (agent, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
                place.environment.view().agent_row(state, agent, row);
            }
        }
        let seen = Array3::from_shape_vec((self.places.len(), n_agents, width), seen);
        seen.map(|seen| seen.into_pyarray(py)).map_err(|error| refused(error.to_string()))
    }

    /// Which actions every agent may take.
    fn masks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<bool>> {
        let spec = self.spec();
        let states = self.rows();
        let mut masks =
            Array3::from_elem((self.places.len(), spec.n_agents(), spec.n_actions()), false);
        let places = self.places.iter().zip(states.chunks_exact(spec.state_width.max(1)));
        for (i, (place, state)) in places.enumerate() {
            for (agent, of) in spec.agents.iter().enumerate() {
                let mut allowed = vec![true; of.n_actions];
                place.environment.view().action_mask(state, agent, &mut allowed);
                allowed
                    .iter()
                    .enumerate()
                    .for_each(|(action, &may)| masks[[i, agent, action]] = may);
            }
        }
        masks.into_pyarray(py)
    }

    /// Everything about the present moment of one environment, in full precision.
    fn snapshot<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.place(index)?.environment.snapshot().into_pyarray(py))
    }

    /// Goes on from a snapshot.
    fn restore(&mut self, index: usize, snapshot: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let place = self.place(index)?;
        place.environment.restore(&snapshot.as_array().to_vec()).map_err(raised)?;
        place.running = true;
        Ok(())
    }

    /// Everything needed to go on exactly from here, as JSON.
    fn save(&self) -> String {
        let one = |place: &Place| {
            let snapshot = place.environment.snapshot();
            serde_json::json!([snapshot, place.rng.position(), place.running])
        };
        self.places.iter().map(one).collect::<serde_json::Value>().to_string()
    }

    /// Goes on from what `save` wrote.
    fn load(&mut self, saved: &str) -> PyResult<()> {
        let saved: Vec<(Vec<f64>, RngPosition, bool)> =
            serde_json::from_str(saved).map_err(|error| refused(error.to_string()))?;
        if saved.len() != self.places.len() {
            let text = format!("{} environments for {}", saved.len(), self.places.len());
            return Err(refused(text));
        }
        for (place, (snapshot, position, running)) in self.places.iter_mut().zip(saved) {
            place.environment.restore(&snapshot).map_err(raised)?;
            place.rng = Rng::at(&position);
            place.running = running;
        }
        Ok(())
    }

    /// How the present moment of one environment looks: rows of red, green and blue.
    fn picture<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let drawing = self.place(index)?.environment.draw();
        let pixels = cgcmarl_cli::picture(&drawing).map_err(|error| refused(error.to_string()))?;
        let picture = Array3::from_shape_vec((pixels.height, pixels.width, 3), pixels.colours);
        picture.map(|p| p.into_pyarray(py)).map_err(|error| refused(error.to_string()))
    }
}

fn fill<'a, T: Copy + 'a>(cells: impl Iterator<Item = &'a mut T>, values: &[T]) {
    cells.zip(values).for_each(|(cell, value)| *cell = *value);
}
