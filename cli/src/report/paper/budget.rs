//! The error budget of a trained model as a table.

use crate::report::table::aligned;
use cgcmarl_paper::theory::{CoordinationLoss, ErrorBudget};
use std::fmt::Write as _;

const HEAD: [&str; 8] = [
    "λ",
    "Max-Sum K=10 misses",
    "the model's own",
    "Σ max − max Σ",
    "cost predicted",
    "cost realised",
    "TD error, primary",
    "TD error, cost",
];

/// One row per multiplier.
pub(crate) fn table(budget: &ErrorBudget) -> String {
    let mut rows = vec![HEAD.map(String::from).to_vec()];
    let lost = |loss: &CoordinationLoss| {
        format!("{:.1} %, {:.4} / {:.4}", 100.0 * loss.missed, loss.mean, loss.largest)
    };
    for point in &budget.points {
        rows.push(vec![
            point.multiplier.to_string(),
            lost(&point.max_sum),
            lost(&point.acting),
            format!("{:.3} / {:.3}", point.deficit[0], point.deficit[1]),
            format!("{:.4}", point.predicted_cost),
            format!("{:.4} ±{:.4}", point.realised_cost, 2.0 * point.standard_error),
            format!("{:.3} of {:.3}", point.td_errors[0], point.step_scale[0]),
            format!("{:.3} of {:.3}", point.td_errors[1], point.step_scale[1]),
        ]);
    }
    let proven = budget.points.iter().map(|point| point.proven).fold(1.0, f64::min);
    let mut text = format!(
        "Error budget, {} agents, γ = {}: {} episodes and {} decisions per λ on held-out starts\n\n",
        budget.n_agents, budget.gamma, budget.episodes, budget.decisions
    );
    text.push_str(&aligned(&rows));
    let _ = write!(
        text,
        "\nmisses: share of decisions below the exact optimum of their tables (proven for {:.0} %), mean / largest loss\n\
         Σ max − max Σ: coordination deficit δ of a decision, median / 90th percentile\n\
         cost: discounted from the first step on; ± two standard errors of the difference\n\
         TD error: root mean square over held-out steps, of the team's value, beside the mean |reward| or cost of a step\n\
         the cost heads predict at least what is paid: {}\n",
        100.0 * proven,
        budget.is_conservative
    );
    text
}
