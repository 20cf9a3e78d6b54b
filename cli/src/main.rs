//! The command-line program of cgcmarl.
fn main() {}
