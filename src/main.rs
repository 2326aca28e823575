//! The `spare` program: exit codes only. Everything it does is in the library.

use std::process::ExitCode;

/// JSON is read into many small pieces: `spare check` is half as fast again with it as with glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    spare::cli::main()
}
