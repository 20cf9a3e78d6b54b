//! A whole episode, as a page or a picture replays it.

use cgcmarl::environment::{Drawing, Shape, Spec};
use serde_json::{Map, Value, json};

/// How an episode looked before its first step and after each, and what it amounted to.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// Number of the start state.
    pub(crate) episode: u64,
    /// At least two.
    pub(crate) drawings: Vec<Drawing>,
    /// The episode's value of every reported metric.
    pub(crate) metrics: Vec<f64>,
}

impl Trace {
    /// Steps played.
    pub(crate) fn n_steps(&self) -> usize {
        self.drawings.len() - 1
    }

    /// As a page reads it. A frame lists its shapes: whole, by its place alone where nothing else
    /// changed since the frame before, or as 0 where nothing did.
    pub(crate) fn to_json(&self, spec: &Spec) -> Value {
        let mut before: &[Shape] = &[];
        let mut frames = vec![];
        for drawing in &self.drawings {
            let frame = drawing.shapes.iter().enumerate();
            frames.push(Value::Array(frame.map(|(i, s)| entry(before.get(i), s)).collect()));
            before = &drawing.shapes;
        }
        let names = spec.reported().into_iter().map(|metric| metric.name);
        let metrics: Map<String, Value> =
            names.zip(self.metrics.iter().map(|value| json!(value))).collect();
        let bounds = self.drawings.first().map(|drawing| drawing.bounds);
        json!({ "episode": self.episode, "bounds": bounds, "frames": frames, "metrics": metrics })
    }
}

fn entry(before: Option<&Shape>, shape: &Shape) -> Value {
    let shape = Shape { at: rounded(shape.at), ..shape.clone() };
    match before {
        Some(before) if Shape { at: rounded(before.at), ..before.clone() } == shape => json!(0),
        Some(before) if Shape { at: shape.at, ..before.clone() } == shape => json!(shape.at),
        _ => json!(shape),
    }
}

/// To four decimals: a page shows no more.
fn rounded(at: [f64; 2]) -> [f64; 2] {
    at.map(|x| (x * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::environment::{Role, Scenario};

    #[test]
    fn only_what_changed_is_told_again() {
        let spec = Scenario::of("simple_spread").unwrap().spec().unwrap();
        let shape = |x: f64, role| Shape::disc(role, [x, 0.5], 0.1);
        let drawing = |shapes| Drawing { bounds: [0.0, 0.0, 1.0, 1.0], shapes };
        let trace = Trace {
            episode: 7,
            drawings: vec![
                drawing(vec![shape(0.1, Role::Agent), shape(0.3, Role::Target)]),
                drawing(vec![shape(0.2, Role::Agent), shape(0.300_001, Role::Target)]),
                drawing(vec![shape(0.2, Role::Alarm)]),
            ],
            metrics: vec![0.5],
        };
        let json = trace.to_json(&spec);
        assert_eq!(json["frames"][1], json!([[0.2, 0.5], 0]));
        assert_eq!(json["frames"][2][0]["role"], "alarm");
        assert_eq!(json["frames"][2].as_array().unwrap().len(), 1);
        assert_eq!(json["metrics"][&spec.metrics[0].name], 0.5);
    }
}
