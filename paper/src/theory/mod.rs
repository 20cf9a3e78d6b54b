//! The paper's claims as measurements, on problems small enough to be solved exactly.
//!
//! Every verdict is computed from numbers measured here; the update rules are those of training.

mod ascent;
mod bound;
mod complexity;
mod convergence;
mod dual;
mod executed;
mod figure;
mod gap;
mod lagrangian;
mod limited_network;
mod linear_program;
mod problems;
mod representation;
mod sampling;
mod structure;
mod tabular;
mod trained;
mod violation;

pub use ascent::AscentRule;
pub use bound::{BoundOptions, check_bound};
pub use complexity::{ComplexityOptions, check_complexity};
pub use convergence::{ConvergenceOptions, TargetRule, check_convergence};
pub use dual::{DualOptions, check_dual};
pub use figure::{Curve, Figure};
pub use lagrangian::{DualFunction, Piece};
pub use limited_network::GroupFit;
pub use linear_program::{constrained_optimum, distance_from_sums};
pub use problems::FactoredCmdp;
pub use representation::{RepresentationOptions, check_representation};
pub use structure::{StructureOptions, check_structure};
pub use tabular::TabularCmdp;
pub use trained::{BudgetPoint, CoordinationLoss, ErrorBudget, TrainedOptions, check_trained};
pub use violation::{ViolationOptions, check_violation};

use serde::Serialize;

/// What the measurements say about a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// As printed.
    Holds,
    /// A measured case contradicts it.
    DoesNotHold,
    /// True with the named condition added, contradicted without.
    HoldsUnder(String),
    /// A number without a claim.
    Measured,
}

impl std::fmt::Display for ClaimOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Holds => f.write_str("holds"),
            Self::DoesNotHold => f.write_str("does not hold"),
            Self::HoldsUnder(condition) => write!(f, "holds under {condition}"),
            Self::Measured => f.write_str("measured"),
        }
    }
}

impl ClaimOutcome {
    /// Holds or does not.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::DoesNotHold }
    }

    /// Holds as printed, or with a condition, or not at all.
    pub fn conditional(as_printed: bool, with_condition: bool, condition: &str) -> Self {
        match (as_printed, with_condition) {
            (true, _) => Self::Holds,
            (false, true) => Self::HoldsUnder(condition.into()),
            (false, false) => Self::DoesNotHold,
        }
    }
}

/// One claim with its evidence.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// A name to refer to it by.
    pub name: &'static str,
    /// What the paper says.
    pub claim: String,
    /// What was measured.
    pub measured: String,
    /// What follows.
    pub verdict: ClaimOutcome,
    /// The smallest case found that contradicts the claim as printed.
    pub counterexample: Option<String>,
}

impl Finding {
    /// A finding without a counterexample.
    pub fn new(
        name: &'static str,
        claim: impl Into<String>,
        measured: impl Into<String>,
        verdict: ClaimOutcome,
    ) -> Self {
        let (claim, measured) = (claim.into(), measured.into());
        Self { name, claim, measured, verdict, counterexample: None }
    }

    /// The same with a counterexample.
    #[must_use]
    pub fn against(self, counterexample: Option<String>) -> Self {
        Self { counterexample, ..self }
    }
}

/// Everything one check found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Claims in the order of the paper.
    pub findings: Vec<Finding>,
    /// Curves to draw.
    pub figures: Vec<Figure>,
}

impl Report {
    /// The finding of this name.
    pub fn finding(&self, name: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.name == name)
    }

    /// Takes over the findings and figures of another report.
    pub fn append(&mut self, mut other: Self) {
        self.findings.append(&mut other.findings);
        self.figures.append(&mut other.figures);
    }
}
