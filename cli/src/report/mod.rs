//! What a person looks at: tables, and pictures as SVG and PNG.

pub(crate) mod axis;
pub(crate) mod curves;
pub(crate) mod labels;
pub(crate) mod markers;
pub(crate) mod picture;
pub(crate) mod plot;
pub(crate) mod render;
#[cfg(test)]
mod sample;
pub(crate) mod table;
