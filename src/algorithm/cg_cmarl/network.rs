//! The network shared by all regions: a trunk, one primary head and one head per constraint.
//!
//! h = trunk(row), Q_j(a) = Σ_{terms t of a} (w_{j,t} · h + b_{j,t}); j = 0 is the task.

use super::{
    augmented::FoldedHeads,
    head::{ABSENT, Head},
    posed_terms::PosedTerms,
    value::{NetworkOptions, ValueKind},
};
use crate::{
    environment::{Spec, View},
    error::{Error, Result},
    nn::{
        Columns, Gradient, Layout, Linear, Mlp, MlpWorkspace, RowWorkspace, Selection, SparseLayer,
        are_many, selected_backward, selected_values,
    },
};

/// The shape of the network; its numbers live in a flat buffer elsewhere.
#[derive(Clone, Debug)]
pub struct TwoHead {
    layout: Layout,
    pub(super) trunk: Mlp,
    pub(super) heads: Linear,
    pub(super) head: Head,
    posed: PosedTerms,
    pub(super) n_heads: usize,
    n_multipliers: usize,
    n_constraints: usize,
}

/// Buffers of one batch.
#[derive(Clone, Debug, Default)]
pub struct TwoHeadWorkspace {
    pub(super) trunk: MlpWorkspace,
    pub(super) trunk_rows: RowWorkspace,
    pub(super) last_layer: SparseLayer,
    pub(super) outputs: Vec<f32>,
    /// Whether few of the last features were zero: then it does not pay to skip those that are.
    pub(super) dense: bool,
    valued_by_rows: bool,
    /// Rows to be learned from that were in the last pass, which left their features; 0 for none.
    pub(super) learned_rows: usize,
    pub(super) terms: Columns,
    pub(super) rows: Vec<f32>,
    pub(super) column: Vec<f32>,
    pub(super) folded: FoldedHeads,
    features: Vec<f32>,
    d_features: Vec<f32>,
    selected: Vec<usize>,
}

impl TwoHeadWorkspace {
    /// Whether so many rows are worked on one by one, without what is zero in them: that gives the same
    /// bits, sooner or later.
    pub(super) fn skips_zeros(&self, n_rows: usize) -> bool {
        are_many(n_rows) && !self.dense
    }

    /// Expects as many zeros as another network found in the same rows.
    pub(super) fn expect_zeros_as(&mut self, other: &Self) {
        self.dense = other.dense;
    }

    /// What [`TwoHead::terms`] returned last.
    pub(super) fn last_terms(&self) -> &[f32] {
        &self.rows
    }
}

impl TwoHead {
    /// The network for what regions see of an environment, in any pose.
    pub fn for_view(options: &NetworkOptions, view: &dyn View) -> Result<Self> {
        let mut network = Self::new(options, view.spec())?;
        network.posed = PosedTerms::new(&network.head, view)?;
        Ok(network)
    }

    /// The network for regions of a world without symmetries.
    pub fn new(options: &NetworkOptions, spec: &Spec) -> Result<Self> {
        let n_constraints = spec.n_constraints();
        let n_multipliers = if options.value.sees_multipliers() { n_constraints } else { 0 };
        let head = Head::new(options.head, spec.n_actions(), spec.action_grid, spec.region_size)
            .ok_or_else(|| {
                Error::setting(
                    "head",
                    "tied",
                    "needs a force grid; take head=free for other actions",
                )
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
        let n_heads = options.value.n_heads(n_constraints);
        let heads = Linear::new(&mut layout, "heads", trunk.n_outputs(), n_heads * head.n_terms());
        let posed = PosedTerms::plain(&head);
        Ok(Self { layout, trunk, heads, head, posed, n_heads, n_multipliers, n_constraints })
    }

    /// Names and places of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Width of an input row: what a region sees, then the multipliers where they are an input.
    pub fn n_inputs(&self) -> usize {
        self.trunk.n_inputs()
    }

    /// One primary head and one per constraint; one in all for an augmented value.
    pub fn n_heads(&self) -> usize {
        self.n_heads
    }

    /// Constraints, each with a multiplier.
    pub fn n_constraints(&self) -> usize {
        self.n_constraints
    }

    /// What the network values.
    pub fn value(&self) -> ValueKind {
        match (self.n_heads, self.n_multipliers) {
            (1, 1..) => ValueKind::Augmented,
            (_, 0) => ValueKind::TwoHead,
            _ => ValueKind::Heads,
        }
    }

    /// How a table is made from a head's terms.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What the outputs for a region in some pose mean.
    pub(super) fn posed(&self) -> &PosedTerms {
        &self.posed
    }

    /// Multipliers at the end of an input row.
    pub fn n_multipliers(&self) -> usize {
        self.n_multipliers
    }

    /// A zero gradient.
    pub fn gradient(&self) -> Gradient {
        Gradient::new(self.layout.len(), self.heads.weight(), self.heads.n_inputs)
    }

    /// Writes the multipliers' entries of input rows: 0.3 ln(1 + 20 λ).
    pub fn write_multipliers(&self, rows: &mut [f32], multipliers: &[f32]) {
        let stride = self.n_inputs();
        for (j, multiplier) in multipliers.iter().take(self.n_multipliers).enumerate() {
            let entry = 0.3 * (20.0 * multiplier).ln_1p();
            let column = stride - self.n_multipliers + j;
            rows.chunks_exact_mut(stride).for_each(|row| row[column] = entry);
        }
    }

    /// Values of one joint action per row: `values[row * n_heads + head]`. A row of actions is as
    /// long as the largest region; a smaller one fills it up with [`ABSENT`]. Touches only the terms
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
        workspace.learned_rows = 0;
        self.values_of_pass(parameters, (rows, n_rows), actions, values, workspace);
    }

    /// [`Self::values`] of the rows to be learned from in the last [`super::pass::Pass`], with the features
    /// that it left; of any rows where it left none.
    pub fn values_of_pass(
        &self,
        parameters: &[f32],
        (rows, n_rows): (&[f32], usize),
        actions: &[usize],
        values: &mut [f32],
        workspace: &mut TwoHeadWorkspace,
    ) {
        self.select(actions, n_rows, &mut workspace.selected);
        let learned_rows = std::mem::take(&mut workspace.learned_rows);
        let has_features = learned_rows > 0;
        debug_assert!(!has_features || learned_rows == n_rows, "{n_rows} of {learned_rows} rows");
        workspace.valued_by_rows = has_features || workspace.skips_zeros(n_rows);
        let features = if has_features {
            self.trunk.output_rows(n_rows, &mut workspace.trunk_rows).0
        } else if workspace.valued_by_rows {
            self.trunk.forward_rows(parameters, rows, n_rows, &mut workspace.trunk_rows)
        } else {
            let features = self.trunk.forward(parameters, rows, n_rows, &mut workspace.trunk);
            features.write_rows(&mut workspace.features)
        };
        let selection = self.selection(&workspace.selected);
        selected_values(self.heads.parts(parameters), features, selection, values);
    }

    /// Adds the gradients of the last [`Self::values`] call, given those of the values.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut Gradient,
        rows: &[f32],
        n_rows: usize,
        d_values: &[f32],
        workspace: &mut TwoHeadWorkspace,
    ) {
        let width = self.heads.n_inputs;
        let TwoHeadWorkspace {
            trunk,
            trunk_rows,
            selected,
            features,
            d_features,
            valued_by_rows,
            ..
        } = workspace;
        let outputs = selected.iter().filter(|output| **output != Selection::NONE);
        outputs.for_each(|&output| gradient.touch(output));
        let select = |gradient: &mut Gradient, features: &[f32], d_features: &mut [f32]| {
            selected_backward(
                self.heads.parts(parameters).0,
                self.heads.parts_mut(gradient.values_mut()),
                (features, d_features),
                self.selection(selected),
                d_values,
            );
        };
        if *valued_by_rows {
            let (features, d_features) = self.trunk.output_rows(n_rows, trunk_rows);
            select(gradient, features, d_features);
            let gradient = gradient.values_mut();
            let seen = (rows, n_rows);
            return self.trunk.backward_rows(parameters, gradient, seen, trunk_rows, None);
        }
        d_features.resize(n_rows * width, 0.0);
        select(gradient, features, d_features);
        self.trunk.d_output(trunk).read_rows(d_features, width, n_rows);
        self.trunk.backward(parameters, gradient.values_mut(), rows, trunk, None);
    }

    fn selection<'s>(&self, outputs: &'s [usize]) -> Selection<'s> {
        Selection { outputs, n_outputs: self.head.n_selected(), n_values: self.n_heads }
    }

    /// Writes which outputs each head of each row adds up.
    fn select(&self, actions: &[usize], n_rows: usize, selected: &mut Vec<usize>) {
        let (size, n_selected) = (self.head.region_size(), self.head.n_selected());
        debug_assert_eq!(actions.len(), n_rows * size, "one action per row and member");
        selected.resize(n_rows * self.n_heads * n_selected, 0);
        let rows = selected.chunks_exact_mut(self.n_heads * n_selected);
        for (actions, row) in actions.chunks_exact(size).zip(rows) {
            let (primary, costs) = row.split_at_mut(n_selected);
            self.head.select(present(actions), primary);
            for (j, cost) in costs.chunks_exact_mut(n_selected).enumerate() {
                let start = (j + 1) * self.head.n_terms();
                for (output, &term) in cost.iter_mut().zip(&*primary) {
                    *output = if term == Selection::NONE { term } else { start + term };
                }
            }
        }
    }
}

/// What the members that are there do.
pub(super) fn present(actions: &[usize]) -> &[usize] {
    let size = actions.iter().position(|action| *action == ABSENT);
    &actions[..size.unwrap_or(actions.len())]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::{HeadKind, pass::Pass},
        argmax::argmax,
        environment::{Environment, matrix_game::MatrixGame},
        graph::CoordinationGraph,
        rng::{Purpose, Streams},
    };

    pub(in crate::algorithm::cg_cmarl) fn spec() -> Spec {
        let mut rng = Streams::new(0).rng(Purpose::Problem, 0);
        let game = MatrixGame::random(CoordinationGraph::complete(3), 9, 2, 1, &mut rng).unwrap();
        Spec { action_grid: Some(3), region_width: 4, ..game.view().spec().clone() }
    }

    fn check(value: ValueKind, head: HeadKind, actions: &[usize]) {
        let mut rng = Streams::new(7).rng(Purpose::Problem, 0);
        let options = NetworkOptions { hidden: vec![7, 6], head, value };
        let network = TwoHead::new(&options, &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let (n_rows, n_heads) = (3, network.n_heads());
        let rows: Vec<f32> =
            (0..n_rows * network.n_inputs()).map(|_| rng.normal() as f32).collect();
        let weights: Vec<f32> = (0..n_rows * n_heads).map(|_| rng.normal() as f32).collect();
        let mut workspace = TwoHeadWorkspace::default();
        let loss = |parameters: &[f32], workspace: &mut TwoHeadWorkspace| -> f64 {
            let mut values = vec![0.0; n_rows * n_heads];
            network.values(parameters, &rows, n_rows, actions, &mut values, workspace);
            values.iter().zip(&weights).map(|(v, w)| f64::from(v * w)).sum()
        };

        loss(&parameters, &mut workspace);
        let mut gradient = network.gradient();
        network.backward(&parameters, &mut gradient, &rows, n_rows, &weights, &mut workspace);
        let (h, mut moved) = (1e-3, parameters.clone());
        for i in 0..parameters.len() {
            moved[i] = parameters[i] + h;
            let up = loss(&moved, &mut workspace);
            moved[i] = parameters[i] - h;
            let down = loss(&moved, &mut workspace);
            moved[i] = parameters[i];
            let numeric = (up - down) / f64::from(2.0 * h);
            assert!(
                (numeric - f64::from(gradient.values()[i])).abs() < 5e-3,
                "{value:?} {head:?} parameter {i}"
            );
        }
    }

    #[test]
    fn gradients_of_both_heads_agree_with_finite_differences() {
        for value in [ValueKind::Heads, ValueKind::TwoHead, ValueKind::Augmented] {
            for head in [HeadKind::Free, HeadKind::Tied] {
                check(value, head, &[0, 8, 4, 4, 7, 2]);
                check(value, head, &[5, ABSENT, 4, 4, 0, ABSENT]);
            }
        }
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
        let mut table = vec![0.0; 81];
        for (multipliers, expected) in [
            (&[][..], values[0]),
            (&[0.5, 0.0][..], values[0] + 0.5 * values[1]),
            (&[1.0, 2.0][..], values[0] + values[1] + 2.0 * values[2]),
        ] {
            let pass = Pass::of(&rows, 1);
            let terms = network.terms(&parameters, pass, multipliers, &mut workspace);
            network.head().expand(2, terms, &mut table);
            assert!((table[5 * 9 + 1] - expected).abs() < 1e-5, "{multipliers:?}");
        }
    }

    #[test]
    fn the_greedy_entry_is_the_largest_of_the_table() {
        let mut rng = Streams::new(4).rng(Purpose::Problem, 0);
        let options =
            NetworkOptions { hidden: vec![9], head: HeadKind::Free, value: ValueKind::TwoHead };
        let network = TwoHead::new(&options, &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let n_rows = 19;
        let rows: Vec<f32> = (0..n_rows * 4).map(|_| rng.normal() as f32).collect();
        let multipliers: Vec<f32> = (0..n_rows * 2).map(|i| i as f32 * 0.1).collect();
        let mut found = Vec::new();
        let workspace = &mut TwoHeadWorkspace::default();
        let push = |entry| found.push(entry);
        let pass = Pass::of(&rows, n_rows);
        network.greedy(&parameters, pass, &multipliers, push, workspace);
        let terms = network.terms(&parameters, pass, &multipliers, workspace);
        for (row, terms) in terms.chunks_exact(network.head().n_terms()).enumerate() {
            assert_eq!(found[row], argmax(terms), "row {row}");
        }
    }
}
