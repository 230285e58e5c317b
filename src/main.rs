//! The command `vxm`: graph algorithms, facts about graphs, and generated graphs. See `vxm --help`.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
