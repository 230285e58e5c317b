//! The command `vxm`: independent sets, colourings, facts and generated graphs. See `vxm --help`.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
