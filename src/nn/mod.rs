//! The only room that knows how numbers are multiplied: layers with an explicit backward pass.

mod adam;
mod linear;
mod mlp;
mod parameters;
mod product;
mod simd;

pub use adam::{Adam, AdamOptions};
pub use linear::Linear;
pub use mlp::{Mlp, MlpWorkspace};
pub use parameters::{Layout, Span, Tensor};
pub use product::{Matrix, product};
pub use simd::vectorised;
