//! `vxm completions` and `vxm man`: what a shell and `man` need of the command.

use crate::command::arguments::Arguments;
use crate::command::print;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use vxm::{Error, Result};

/// Prints the completions for a shell.
pub fn completions(shell: Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "vxm", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page of the command, or of one of its commands.
pub fn man(name: Option<&str>) -> Result<()> {
    let mut command = Arguments::command();
    command.build();
    let command = match name {
        None => command,
        Some(name) => {
            let known: Vec<String> = command.get_subcommands().map(|known| known.get_name().to_owned()).collect();
            let found = command.find_subcommand(name).cloned();
            let named =
                found.map(|found: Command| found.display_name(format!("vxm-{name}")).bin_name(format!("vxm {name}")));
            named
                .ok_or_else(|| Error::unknown("command", name, &known.iter().map(String::as_str).collect::<Vec<_>>()))?
        }
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Error::io("the manual page"))?;
    print(&String::from_utf8_lossy(&page))
}
