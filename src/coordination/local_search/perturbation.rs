//! Perturbing a joint action that no move improves: one agent is forced to an alternative, the
//! others respond, and the change stays if it gains.

use super::{LEAST_GAIN, LocalSearch};
use crate::coordination::padded_problem::PaddedProblem;
use pulp::Simd;

/// An action that an agent does not take, and what it scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alternative {
    score: f32,
    action: usize,
}

impl LocalSearch {
    /// Forces each agent in turn to each of its best `n_alternatives` until none gains.
    #[inline(always)]
    pub(crate) fn perturb<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        n_alternatives: usize,
    ) {
        let mut since_gain = 0;
        let mut agent = 0;
        while since_gain < self.action.len() && n_alternatives > 0 {
            let gained = self.perturb_agent(simd, problem, agent, n_alternatives);
            since_gain = if gained { 0 } else { since_gain + 1 };
            agent = (agent + 1) % self.action.len();
        }
    }

    /// Forces one agent to its best alternatives, best first, until one gains.
    #[inline(always)]
    fn perturb_agent<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        agent: usize,
        n_alternatives: usize,
    ) -> bool {
        let score_now = self.load_alternatives(problem, agent);
        for _ in 0..n_alternatives {
            let Some(Alternative { score, action }) = take_best(&mut self.alternatives) else {
                break;
            };
            self.mark();
            self.set(simd, problem, agent, action);
            let gain = score - score_now + self.ascend(simd, problem, Some(agent));
            if gain > LEAST_GAIN * (1.0 + score.abs()) {
                self.ascend_pairs(simd, problem);
                return true;
            }
            self.undo_moves(simd, problem);
        }
        false
    }

    /// Lists the alternatives of an agent. Returns the score of what it does now.
    #[inline(always)]
    fn load_alternatives(&mut self, problem: PaddedProblem, agent: usize) -> f32 {
        let mut alternatives = std::mem::take(&mut self.alternatives);
        let now = self.action[agent];
        let scores = self.scores(problem.layout(), agent);
        alternatives.clear();
        alternatives.extend(
            scores
                .iter()
                .enumerate()
                .filter(|(action, _)| *action != now)
                .map(|(action, &score)| Alternative { score, action }),
        );
        let score_now = scores[now];
        self.alternatives = alternatives;
        score_now
    }
}

/// Takes out the first of the best alternatives.
fn take_best(alternatives: &mut Vec<Alternative>) -> Option<Alternative> {
    let order = |x: &Alternative, y: &Alternative| {
        x.score.total_cmp(&y.score).then(y.action.cmp(&x.action))
    };
    let best =
        (0..alternatives.len()).max_by(|&x, &y| order(&alternatives[x], &alternatives[y]))?;
    Some(alternatives.swap_remove(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_is_taken() {
        let mut alternatives: Vec<_> = [1.0, 3.0, 3.0, 2.0]
            .into_iter()
            .enumerate()
            .map(|(action, score)| Alternative { score, action })
            .collect();
        let taken = std::iter::from_fn(|| take_best(&mut alternatives));
        assert_eq!(taken.map(|best| best.action).collect::<Vec<_>>(), [1, 2, 3, 0]);
    }
}
