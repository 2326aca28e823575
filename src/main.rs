//! The `spare` program: exit codes only. Everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    spare::cli::main()
}
