//! The paper behind `cgcmarl`: its printed tables, its comparison run again and its theorems measured.

pub mod reproduction;
pub mod tables;
pub mod theory;
