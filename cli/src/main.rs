//! The command-line program of cgcmarl.

#[cfg_attr(not(test), expect(dead_code, reason = "the commands that use it come next"))]
mod progress;
#[cfg_attr(not(test), expect(dead_code, reason = "the commands that use it come next"))]
mod report;

fn main() {}
