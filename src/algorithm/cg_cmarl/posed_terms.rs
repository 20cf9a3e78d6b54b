//! The outputs of a head for a region in some pose, named as in the world as it is.
//!
//! A row that shows a region under a symmetry, or with its members in reverse order, has the value of
//! a joint action in the outputs of the transformed one. Which outputs those are is a table per pose.

use super::head::{Head, write_actions};
use crate::{
    environment::{Pose, View},
    error::{Error, Result},
};

/// For each pose and output of a head: the output of the posed row that means the same.
#[derive(Clone, Debug)]
pub(super) struct PosedTerms {
    /// By pose; for free heads also by the size of a region, and then by the entry of its table.
    maps: Vec<Vec<Vec<u32>>>,
    head: Head,
}

impl PosedTerms {
    /// The outputs under every symmetry and both orders; a tied head needs symmetries that turn or
    /// mirror its grid.
    pub(super) fn new(head: &Head, view: &dyn View) -> Result<Self> {
        let action = |symmetry, action| view.transform_action(symmetry, action);
        Self::under(head, view.n_symmetries(), action).ok_or_else(|| {
            let reason = "the task's symmetries do not turn its grid of actions; take head=free";
            Error::setting("head", "tied", reason)
        })
    }

    /// The outputs in both orders of a world without symmetries.
    pub(super) fn plain(head: &Head) -> Self {
        let plain = Self::under(head, 1, |_, action| action);
        plain.unwrap_or_else(|| unreachable!("nothing is turned"))
    }

    fn under(
        head: &Head,
        n_symmetries: usize,
        action: impl Fn(usize, usize) -> usize,
    ) -> Option<Self> {
        let poses = (0..n_symmetries)
            .flat_map(|symmetry| [false, true].map(|reversed| Pose { symmetry, reversed }));
        let maps = poses.map(|pose| maps(head, |own| action(pose.symmetry, own), pose.reversed));
        Some(Self { maps: maps.collect::<Option<_>>()?, head: *head })
    }

    /// Writes the mean over a region's poses of what they say, one row of `terms` for each, in the
    /// words of the world as it is: the table of a free head, the outputs of a tied one.
    pub(super) fn average<'t>(
        &self,
        size: usize,
        views: impl ExactSizeIterator<Item = (Pose, &'t [f32])>,
        mean: &mut Vec<f32>,
    ) {
        let share = 1.0 / views.len() as f32;
        for (index, (pose, terms)) in views.enumerate() {
            let map = self.map(pose, size);
            if index == 0 {
                mean.clear();
                mean.extend(map.iter().map(|&term| terms[term as usize]));
            } else {
                mean.iter_mut().zip(map).for_each(|(sum, &term)| *sum += terms[term as usize]);
            }
        }
        if share < 1.0 {
            mean.iter_mut().for_each(|sum| *sum *= share);
        }
    }

    /// Writes the table of a region from what [`Self::average`] left.
    pub(super) fn expand(&self, size: usize, mean: &[f32], table: &mut [f32]) {
        if self.head.is_free() {
            table.copy_from_slice(mean);
        } else {
            self.head.expand(size, mean, table);
        }
    }

    fn map(&self, pose: Pose, size: usize) -> &[u32] {
        let sizes = &self.maps[2 * pose.symmetry + usize::from(pose.reversed)];
        &sizes[if self.head.is_free() { size - 1 } else { 0 }]
    }
}

fn maps(head: &Head, action: impl Fn(usize) -> usize, reversed: bool) -> Option<Vec<Vec<u32>>> {
    if !head.is_free() {
        return Some(vec![head.posed_outputs(action, reversed)?]);
    }
    let entries = |size: usize| {
        let (mut actions, mut output) = (vec![0; size], [0]);
        let mut find = |entry| {
            write_actions(entry, head.n_actions, &mut actions);
            actions.iter_mut().for_each(|own| *own = action(*own));
            if reversed && size == 2 {
                actions.reverse();
            }
            head.select(&actions, &mut output);
            output[0] as u32
        };
        (0..head.n_entries(size)).map(&mut find).collect()
    };
    Some((1..=head.region_size()).map(entries).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::HeadKind,
        environment::{
            Environment,
            simple_spread::{ActionSet, SimpleSpread, SimpleSpreadOptions},
        },
    };

    /// An entry of the table in the world's words is the posed entry of the posed row's table.
    #[test]
    fn every_entry_means_the_same_in_every_pose() {
        for (kind, actions) in [
            (HeadKind::Tied, ActionSet::Grid),
            (HeadKind::Free, ActionSet::Grid),
            (HeadKind::Free, ActionSet::Discrete),
        ] {
            let options =
                SimpleSpreadOptions { actions: Some(actions), ..SimpleSpreadOptions::default() };
            let environment = SimpleSpread::new(&options).unwrap();
            let view = environment.view();
            let n = view.spec().n_actions();
            let head = Head::new(kind, n, view.spec().action_grid, 2).unwrap();
            let terms: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.37).sin()).collect();
            let posed = PosedTerms::new(&head, view).unwrap();
            let (mut seen, mut table, mut mean) = (vec![0.0; n * n], vec![0.0; n * n], Vec::new());
            head.expand(2, &terms, &mut seen);
            for symmetry in 0..8 {
                for reversed in [false, true] {
                    let pose = Pose { symmetry, reversed };
                    posed.average(2, [(pose, &terms[..])].into_iter(), &mut mean);
                    posed.expand(2, &mean, &mut table);
                    for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                        let [mut first, mut second] =
                            [a, b].map(|own| view.transform_action(symmetry, own));
                        if reversed {
                            std::mem::swap(&mut first, &mut second);
                        }
                        let difference = table[a * n + b] - seen[first * n + second];
                        assert!(difference.abs() < 1e-5, "{kind:?} {pose:?} {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn symmetries_that_do_not_turn_the_grid_are_refused_for_tied_heads() {
        let head = Head::new(HeadKind::Tied, 9, Some(3), 2).unwrap();
        let rotated = |action: usize| (action + 1) % 9;
        assert!(head.posed_outputs(rotated, false).is_none());
        let exchanged = |action: usize| action % 3 * 3 + action / 3;
        let map = head.posed_outputs(exchanged, false).unwrap();
        let mut sorted = map.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..head.n_terms() as u32));
    }
}
