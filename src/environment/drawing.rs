//! How a moment of an environment looks: a few shapes on a plane, for reports, pictures and pages.

use serde::Serialize;

/// What a shape stands for; pages and pictures choose its colours by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// One of the team.
    Agent,
    /// What the team is after.
    Target,
    /// A target that is reached.
    Reached,
    /// An agent that breaks a constraint right now.
    Alarm,
    /// Somebody else who acts.
    Other,
    /// Something that is in the way.
    Obstacle,
    /// The ground: walls, cells, lines.
    Ground,
}

/// One shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// What it stands for.
    pub role: Role,
    /// Its centre.
    pub at: [f64; 2],
    /// Half its width: the radius of a disc, half the side of a square.
    pub radius: f64,
    /// Whether it is a square; a disc otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub square: bool,
    /// The agent it shows, where it shows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<usize>,
    /// Where its coordinates stand in the snapshot, one after the other, where a user may move it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<usize>,
    /// Where its velocity stands in the snapshot: it stands still where a user drops it.
    #[serde(skip)]
    pub velocity: Option<usize>,
    /// A word or number inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Shape {
    /// A disc.
    pub fn disc(role: Role, at: [f64; 2], radius: f64) -> Self {
        Self {
            role,
            at,
            radius,
            square: false,
            agent: None,
            handle: None,
            velocity: None,
            text: None,
        }
    }

    /// A square.
    pub fn square(role: Role, at: [f64; 2], radius: f64) -> Self {
        Self { square: true, ..Self::disc(role, at, radius) }
    }

    /// A disc that shows an agent.
    pub fn agent(agent: usize, at: [f64; 2], radius: f64) -> Self {
        Self::disc(Role::Agent, at, radius).of_agent(agent)
    }

    /// The same shape, which shows an agent.
    #[must_use]
    pub fn of_agent(self, agent: usize) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// The same shape, whose coordinates a user may move in the snapshot.
    #[must_use]
    pub fn movable(self, handle: usize) -> Self {
        Self { handle: Some(handle), ..self }
    }

    /// The same shape, whose velocity stands in the snapshot.
    #[must_use]
    pub fn moving(self, velocity: usize) -> Self {
        Self { velocity: Some(velocity), ..self }
    }

    /// The same shape with a word inside.
    #[must_use]
    pub fn labelled(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }
}

/// One moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Drawing {
    /// What is shown: left, bottom, right and top; y points up.
    pub bounds: [f64; 4],
    /// Shapes, the lowest first.
    pub shapes: Vec<Shape>,
}
