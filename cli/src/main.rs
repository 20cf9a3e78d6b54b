//! The command-line program of cgcmarl.

mod report;

fn main() {}
