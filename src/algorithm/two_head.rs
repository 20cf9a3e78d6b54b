//! The network shared by all regions: a trunk, one primary head and one head per constraint.
//!
//! `h = trunk(row)`, `Q_j(a) = Σ_{terms t of a} (w_{j,t} · h + b_{j,t})`; j = 0 is the task.

use super::head::{Head, HeadKind};
use crate::{
    environment::Spec,
    error::{Error, Result},
    nn::{Layout, Linear, Mlp, MlpWorkspace, vectorised},
};
use serde::{Deserialize, Serialize};

/// The shape of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkOptions {
    /// Widths of the trunk's layers.
    pub hidden: Vec<usize>,
    /// Outputs of each head: `free` (the paper's) or `tied`.
    pub head: HeadKind,
    /// Whether the heads also see the multipliers.
    pub multiplier_input: bool,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self { hidden: vec![128, 128], head: HeadKind::Tied, multiplier_input: true }
    }
}

/// The shape of the network; its numbers live in a flat buffer elsewhere.
#[derive(Clone, Debug)]
pub struct TwoHead {
    layout: Layout,
    trunk: Mlp,
    heads: Linear,
    head: Head,
    n_heads: usize,
    n_multipliers: usize,
}

/// Buffers of one batch.
#[derive(Clone, Debug, Default)]
pub struct TwoHeadWorkspace {
    trunk: MlpWorkspace,
    terms: Vec<f32>,
    selected: Vec<usize>,
}

impl TwoHead {
    /// The network for an environment's regions.
    pub fn new(options: &NetworkOptions, spec: &Spec) -> Result<Self> {
        let n_constraints = spec.constraints.len();
        let n_multipliers = if options.multiplier_input { n_constraints } else { 0 };
        let head = Head::new(options.head, spec.n_actions, spec.action_grid, spec.region_size)
            .ok_or_else(|| {
                Error::setting("head", "tied", "needs a grid of forces; elsewhere take head=free")
            })?;
        if options.hidden.is_empty() || options.hidden.contains(&0) {
            let given = format!("{:?}", options.hidden);
            return Err(Error::setting(
                "hidden",
                given,
                "needs at least one layer of positive width",
            ));
        }
        let mut widths = vec![spec.region_width + n_multipliers];
        widths.extend(&options.hidden);
        let mut layout = Layout::default();
        let trunk = Mlp::new(&mut layout, "trunk", &widths, true);
        let n_heads = 1 + n_constraints;
        let heads = Linear::new(&mut layout, "heads", trunk.n_outputs(), n_heads * head.n_terms());
        Ok(Self { layout, trunk, heads, head, n_heads, n_multipliers })
    }

    /// Names and places of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Width of an input row: what a region sees, then the multipliers where they are an input.
    pub fn n_inputs(&self) -> usize {
        self.trunk.n_inputs()
    }

    /// One primary head and one per constraint.
    pub fn n_heads(&self) -> usize {
        self.n_heads
    }

    /// How a table is made from a head's terms.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Multipliers at the end of an input row.
    pub fn n_multipliers(&self) -> usize {
        self.n_multipliers
    }

    /// Writes the multipliers' entries of an input row: 0.3 ln(1 + 20 λ).
    pub fn write_multipliers(&self, row: &mut [f32], multipliers: &[f32]) {
        let start = row.len() - self.n_multipliers;
        for (entry, multiplier) in row[start..].iter_mut().zip(multipliers) {
            *entry = 0.3 * (20.0 * multiplier).ln_1p();
        }
    }

    /// All terms of all heads: one row of `n_heads * n_terms` numbers per input row.
    pub fn terms<'w>(
        &self,
        parameters: &[f32],
        rows: &[f32],
        n_rows: usize,
        workspace: &'w mut TwoHeadWorkspace,
    ) -> &'w mut [f32] {
        let features = self.trunk.forward(parameters, rows, n_rows, &mut workspace.trunk);
        let len = n_rows * self.heads.n_outputs;
        if workspace.terms.len() < len {
            workspace.terms.resize(len, 0.0);
        }
        self.heads.forward(parameters, features, n_rows, &mut workspace.terms);
        &mut workspace.terms[..len]
    }

    /// Values of one joint action per row: `values[row * n_heads + head]`. Touches only the terms
    /// that the action adds up.
    pub fn values(
        &self,
        parameters: &[f32],
        rows: &[f32],
        n_rows: usize,
        actions: &[usize],
        values: &mut [f32],
        workspace: &mut TwoHeadWorkspace,
    ) {
        self.trunk.forward(parameters, rows, n_rows, &mut workspace.trunk);
        self.select(actions, n_rows, &mut workspace.selected);
        let features = self.trunk.output(n_rows, &workspace.trunk);
        let (width, n_terms) = (self.heads.n_inputs, self.head.n_terms());
        let (weight, bias) = self.heads.parts(parameters);
        let selected = workspace.selected.chunks_exact(self.head.n_selected());
        let rows = features.chunks_exact(width).zip(selected);
        vectorised(
            #[inline(always)]
            || {
                for ((h, terms), values) in rows.zip(values.chunks_exact_mut(self.n_heads)) {
                    for (head, value) in values.iter_mut().enumerate() {
                        *value = 0.0;
                        for output in terms.iter().map(|term| head * n_terms + term) {
                            *value += dot(&weight[output * width..][..width], h) + bias[output];
                        }
                    }
                }
            },
        );
    }

    /// Adds the gradients of the last [`Self::values`] call, given those of the values.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        rows: &[f32],
        n_rows: usize,
        d_values: &[f32],
        workspace: &mut TwoHeadWorkspace,
    ) {
        let (width, n_terms) = (self.heads.n_inputs, self.head.n_terms());
        let TwoHeadWorkspace { trunk, selected, .. } = workspace;
        let (features, d_features) = self.trunk.output_and_gradient(n_rows, trunk);
        let (d_weight, d_bias) = self.heads.parts_mut(gradient);
        let (weight, _) = self.heads.parts(parameters);
        let selected = selected.chunks_exact(self.head.n_selected());
        let both = features.chunks_exact(width).zip(d_features.chunks_exact_mut(width));
        vectorised(
            #[inline(always)]
            || {
                backward_selected(
                    both.zip(selected).zip(d_values.chunks_exact(self.n_heads)),
                    (weight, d_weight, d_bias),
                    n_terms,
                );
            },
        );
        self.trunk.backward(parameters, gradient, rows, n_rows, trunk, None);
    }

    fn select(&self, actions: &[usize], n_rows: usize, selected: &mut Vec<usize>) {
        let (size, n_selected) = (actions.len() / n_rows, self.head.n_selected());
        selected.resize(n_rows * n_selected, 0);
        for (actions, terms) in
            actions.chunks_exact(size).zip(selected.chunks_exact_mut(n_selected))
        {
            self.head.select(actions, terms);
        }
    }
}

/// Backward through the selected terms: `d_w += d h`, `d_b += d`, `d_h = Σ d w`.
#[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
#[inline(always)]
fn backward_selected<'a>(
    rows: impl Iterator<Item = (((&'a [f32], &'a mut [f32]), &'a [usize]), &'a [f32])>,
    (weight, d_weight, d_bias): (&[f32], &mut [f32], &mut [f32]),
    n_terms: usize,
) {
    for (((h, d_h), terms), d_values) in rows {
        let width = h.len();
        d_h.fill(0.0);
        for (head, &d) in d_values.iter().enumerate() {
            for output in terms.iter().map(|term| head * n_terms + term) {
                d_bias[output] += d;
                axpy(&mut d_weight[output * width..][..width], d, h);
                axpy(d_h, d, &weight[output * width..][..width]);
            }
        }
    }
}

/// A dot product in sixteen fixed lanes, so that every machine sums in the same order.
#[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let (a_whole, b_whole) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a_whole.remainder().iter().zip(b_whole.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_whole.zip(b_whole) {
        for i in 0..16 {
            lanes[i] += x[i] * y[i];
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
#[inline(always)]
fn axpy(into: &mut [f32], factor: f32, from: &[f32]) {
    for (x, y) in into.iter_mut().zip(from) {
        *x += factor * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn spec() -> Spec {
        Spec {
            task: "test".into(),
            n_agents: 3,
            n_actions: 9,
            action_grid: Some(3),
            constraints: vec!["collision".into(), "energy".into()],
            state_width: 1,
            agent_width: 1,
            region_width: 4,
            region_size: 2,
            max_regions: 3,
            horizon: 1,
        }
    }

    fn check(head: HeadKind) {
        let mut rng = Streams::new(7).rng(Purpose::Problem, 0);
        let options = NetworkOptions { hidden: vec![7, 6], head, multiplier_input: true };
        let network = TwoHead::new(&options, &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let (n_rows, n_heads) = (3, network.n_heads());
        let rows: Vec<f32> =
            (0..n_rows * network.n_inputs()).map(|_| rng.normal() as f32).collect();
        let actions = [0, 8, 4, 4, 7, 2];
        let weights: Vec<f32> = (0..n_rows * n_heads).map(|_| rng.normal() as f32).collect();
        let mut workspace = TwoHeadWorkspace::default();
        let loss = |parameters: &[f32], workspace: &mut TwoHeadWorkspace| -> f64 {
            let mut values = vec![0.0; n_rows * n_heads];
            network.values(parameters, &rows, n_rows, &actions, &mut values, workspace);
            values.iter().zip(&weights).map(|(v, w)| f64::from(v * w)).sum()
        };

        loss(&parameters, &mut workspace);
        let mut gradient = vec![0.0; parameters.len()];
        network.backward(&parameters, &mut gradient, &rows, n_rows, &weights, &mut workspace);
        let (h, mut moved) = (1e-3, parameters.clone());
        for i in 0..parameters.len() {
            moved[i] = parameters[i] + h;
            let up = loss(&moved, &mut workspace);
            moved[i] = parameters[i] - h;
            let down = loss(&moved, &mut workspace);
            moved[i] = parameters[i];
            let numeric = (up - down) / f64::from(2.0 * h);
            assert!((numeric - f64::from(gradient[i])).abs() < 5e-3, "{head:?} parameter {i}");
        }
    }

    #[test]
    fn gradients_of_both_heads_agree_with_finite_differences() {
        check(HeadKind::Free);
        check(HeadKind::Tied);
    }

    #[test]
    fn selected_values_are_entries_of_the_table() {
        let mut rng = Streams::new(4).rng(Purpose::Problem, 0);
        let network = TwoHead::new(&NetworkOptions::default(), &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let rows: Vec<f32> = (0..network.n_inputs()).map(|_| rng.normal() as f32).collect();
        let mut workspace = TwoHeadWorkspace::default();
        let mut values = vec![0.0; network.n_heads()];
        network.values(&parameters, &rows, 1, &[5, 1], &mut values, &mut workspace);
        let n_terms = network.head().n_terms();
        let terms = network.terms(&parameters, &rows, 1, &mut workspace);
        let mut table = vec![0.0; 81];
        for (head, value) in values.iter().enumerate() {
            network.head().expand(&terms[head * n_terms..][..n_terms], &mut table);
            assert!((table[5 * 9 + 1] - value).abs() < 1e-5);
        }
    }
}
