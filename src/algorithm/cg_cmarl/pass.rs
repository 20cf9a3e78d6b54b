//! Rows that go through the network together: those that are learned from, and those whose best joint actions are
//! sought.

/// Rows that go through the network in one pass, each batch with its number of rows.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// Those that `TwoHead::values_of_pass` and `TwoHead::backward` take up afterwards; they come first.
    pub(super) learned: (&'a [f32], usize),
    /// Those whose best joint actions are sought.
    pub(super) sought: (&'a [f32], usize),
}

impl<'a> Pass<'a> {
    /// Rows whose best joint actions are sought, and no others.
    pub fn of(rows: &'a [f32], n_rows: usize) -> Self {
        Self { learned: (&[], 0), sought: (rows, n_rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::{
            NetworkOptions,
            network::{TwoHead, TwoHeadWorkspace, tests::spec},
        },
        nn::are_many,
        rng::{Purpose, Streams},
    };

    /// Terms of some rows, and values and gradients of others, are the same bits whether all go through the
    /// network together or one after the other; with buffers that other rows went through before.
    #[test]
    fn one_pass_gives_what_two_give() {
        let mut rng = Streams::new(6).rng(Purpose::Problem, 0);
        let network = TwoHead::new(&NetworkOptions::default(), &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let (width, n_heads) = (network.n_inputs(), network.n_heads());
        let mut random =
            |len: usize| -> Vec<f32> { (0..len).map(|_| rng.normal() as f32).collect() };
        let mut buffers = TwoHeadWorkspace::default();
        let sizes = [(70, 45), (40, 90), (3, 64), (50, 3), (40, 32), (40, 31)];
        // Every row has multipliers of its own, all rows share theirs, or there are none to add.
        let multipliers: [fn(usize) -> f32; 3] = [|i| i as f32 * 0.1, |i| (i % 2) as f32, |_| 0.0];
        for ((n_learned, n_sought), multiplier) in
            sizes.into_iter().flat_map(|size| multipliers.map(|multiplier| (size, multiplier)))
        {
            let (learned, sought) = (random(n_learned * width), random(n_sought * width));
            let multipliers: Vec<f32> = (0..n_sought * 2).map(multiplier).collect();
            let actions: Vec<usize> = (0..n_learned * 2).map(|i| i * 7 % 9).collect();
            let d_values = random(n_learned * n_heads);
            let run = |pass: Pass<'_>, workspace: &mut TwoHeadWorkspace| {
                let terms = network.terms(&parameters, pass, &multipliers, workspace).to_vec();
                let joined = workspace.learned_rows;
                let (rows, mut values) =
                    ((&learned[..], n_learned), vec![0.0; n_learned * n_heads]);
                network.values_of_pass(&parameters, rows, &actions, &mut values, workspace);
                let mut gradient = network.gradient();
                let (rows, n_rows) = rows;
                network.backward(&parameters, &mut gradient, rows, n_rows, &d_values, workspace);
                (joined, (terms, values, gradient.values().to_vec()))
            };
            let apart = Pass::of(&sought, n_sought);
            let (alone, expected) = run(apart, &mut TwoHeadWorkspace::default());
            let together = Pass { learned: (&learned, n_learned), sought: (&sought, n_sought) };
            let (joined, found) = run(together, &mut TwoHeadWorkspace::default());
            assert_eq!((alone, joined), (0, if are_many(n_sought) { n_learned } else { 0 }));
            assert!(found == expected, "{n_learned} and {n_sought} rows");
            assert!(run(together, &mut buffers).1 == expected, "{n_learned} and {n_sought} rows");
            // What a pass left is not taken for what other rows are worth.
            network.terms(&parameters, together, &multipliers, &mut buffers);
            let (mut value, mut again) = (vec![0.0; n_heads], vec![0.0; n_heads]);
            let other = &sought[..width];
            network.values(&parameters, other, 1, &[5, 1], &mut value, &mut buffers);
            let fresh = &mut TwoHeadWorkspace::default();
            network.values(&parameters, other, 1, &[5, 1], &mut again, fresh);
            assert_eq!(value, again);
            assert!(run(apart, &mut buffers).1 == expected, "{n_learned} and {n_sought} rows");
        }
    }
}
