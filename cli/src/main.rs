//! The program `cgcmarl`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cgcmarl_cli::main([])
}
