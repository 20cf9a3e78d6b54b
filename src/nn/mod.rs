//! The only room that knows how numbers are multiplied: layers with an explicit backward pass.

mod adam;
mod columns;
mod exponential;
mod gradient;
mod linear;
mod mlp;
mod numbers;
mod parameters;
mod product;
mod row_argmax;
mod row_layer;
mod row_mlp;
mod selected;
mod simd;
mod sparse;
mod sweep;
mod transpose;

pub use adam::{Adam, AdamOptions};
pub use columns::Columns;
pub use exponential::exponentiate;
pub use gradient::Gradient;
pub use linear::Linear;
pub use mlp::{Mlp, MlpWorkspace};
pub use numbers::Numbers;
pub use parameters::{Layout, Span, Tensor};
pub use product::{Matrix, Start, product};
pub use row_argmax::row_argmax;
pub use row_layer::RowLayer;
pub use row_mlp::{RowWorkspace, SparseLayer, are_many, is_sparse};
pub use selected::{Selection, selected_backward, selected_values};
pub use simd::{fetch_ahead, vectorised};
pub use sweep::{Follower, follow};
pub use transpose::transpose;
