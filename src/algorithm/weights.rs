//! Flat parameters in a checkpoint: one named tensor for each tensor of a layout.

use crate::{checkpoint::Checkpoint, error::Result, nn::Layout};

/// Writes numbers that lie as a layout says, under `name.<tensor>`.
pub(super) fn save_weights<'a>(
    layout: &Layout,
    name: &str,
    numbers: &'a [f32],
    checkpoint: &mut Checkpoint<'a>,
) {
    for tensor in layout.tensors() {
        checkpoint.push(format!("{name}.{}", tensor.name), &tensor.shape, tensor.span.of(numbers));
    }
}

/// Reads back what [`save_weights`] wrote under the same name.
pub(super) fn load_weights(
    layout: &Layout,
    name: &str,
    checkpoint: &Checkpoint,
    numbers: &mut [f32],
) -> Result<()> {
    for tensor in layout.tensors() {
        let saved = checkpoint.get_shaped(&format!("{name}.{}", tensor.name), &tensor.shape)?;
        tensor.span.of_mut(numbers).copy_from_slice(saved);
    }
    Ok(())
}
