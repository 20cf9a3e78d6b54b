//! What a baseline with a memory trained, and its greedy policy.

use super::JointValue;
use crate::{
    algorithm::{TrainedModel, weights::load_weights},
    checkpoint::Checkpoint,
    environment::{Batch, Policy},
    error::Result,
    graph::JointAction,
};
use std::sync::Arc;

/// What such an algorithm trained: the averaged parameters of its value.
pub struct QModel {
    policy: QPolicy,
    label: String,
}

impl QModel {
    /// What a checkpoint holds, under the name of its trade-off.
    pub fn load(
        value: Box<dyn JointValue>,
        label: String,
        weights: &Checkpoint<'_>,
    ) -> Result<Self> {
        let mut parameters = vec![0.0; value.layout().len()];
        load_weights(value.layout(), "averaged", weights, &mut parameters)?;
        Ok(Self { policy: QPolicy { value, parameters: Arc::new(parameters) }, label })
    }
}

impl TrainedModel for QModel {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn policy(&self, _multipliers: &[f32]) -> Box<dyn Policy> {
        self.policy.boxed_clone()
    }
}

/// The trained policy: greedy with the averaged parameters.
struct QPolicy {
    value: Box<dyn JointValue>,
    parameters: Arc<Vec<f32>>,
}

impl Policy for QPolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        self.value.act(&self.parameters, batch, actions);
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        let parameters = Arc::clone(&self.parameters);
        Box::new(Self { value: self.value.boxed_clone(), parameters })
    }
}
