//! What the ranks of a job must have alike: the subcommand, its options, and what is tuned. Otherwise each would compute a part of another answer.

use crate::command::arguments::Arguments;
use crate::command::job;
use clap::{Arg, CommandFactory};
use std::env;
use std::path::Path;
use vxm::ranks::Communicator;
use vxm::{Error, Result};

/// Options that each rank may have in its own way: none changes what ranks send each other.
const OWN: [&str; 6] = ["memory", "quiet", "threads", "time", "timeout", "trace"];

/// Fails unless all ranks were started with the same subcommand and options. All ranks have the same error. All ranks call this.
pub fn check(world: &dyn Communicator) -> Result<()> {
    if world.size() == 1 {
        return Ok(());
    }
    let mine = options();
    let words = serde_json::to_vec(&mine).map_err(|error| Error::invalid(format!("options: {error}")))?;
    let told = world.exchange(vec![words; world.size()])?;
    let told: Vec<Vec<(String, String)>> =
        told.iter().map(|words| serde_json::from_slice(words).unwrap_or_default()).collect();
    for (rank, options) in told.iter().enumerate() {
        if let Some(how) = difference(&told[0], options, rank) {
            return Err(Error::invalid(format!("{how}: expected the same for all ranks")));
        }
    }
    Ok(())
}

/// Fails unless all ranks of the job have read the same words from a file. All ranks have the same error. All ranks call this.
pub fn check_words(file: impl Fn() -> String, words: &[u32]) -> Result<()> {
    let Some(grid) = job::grid() else { return Ok(()) };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let sum = crc32fast::hash(&bytes).to_le_bytes().to_vec();
    let told = grid.world().exchange(vec![sum; grid.size()])?;
    match told.iter().position(|sum| *sum != told[0]) {
        None => Ok(()),
        Some(rank) => {
            let file = file();
            Err(Error::invalid(format!("{file}: rank {rank} has another content than rank 0: expected the same")))
        }
    }
}

/// The subcommand, and the values of its options, defaults included.
fn options() -> Vec<(String, String)> {
    let command = Arguments::command();
    let Ok(matches) = command.clone().try_get_matches() else { return Vec::new() };
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let arguments = command.find_subcommand(name).into_iter().flat_map(|command| command.get_arguments());
    let shared = arguments.filter(|option| !OWN.contains(&option.get_id().as_str()));
    let value = |option: &Arg| {
        let values = matches.try_get_raw(option.get_id().as_str()).ok().flatten()?;
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        Some(values.join(","))
    };
    let mut told = vec![("the command".to_owned(), name.to_owned())];
    told.extend(shared.filter_map(|option| {
        let name = option.get_long().map_or_else(|| option.get_id().to_string(), |long| format!("--{long}"));
        let value = value(option)?;
        let value = match name.as_str() {
            // ranks may be placed on different GPUs
            "--device" if value.starts_with("cuda:") => "cuda:N".to_owned(),
            // files are compared by their content
            "--given" => "a file".to_owned(),
            "graph" if Path::new(&value).exists() || !value.contains(':') => "a file".to_owned(),
            _ => value,
        };
        Some((name, value))
    }));
    told.extend(env::var("VXM_TUNE").map(|tuned| ("VXM_TUNE".to_owned(), tuned)));
    told
}

/// How the options of `rank` differ from those of rank 0, if they do.
fn difference(first: &[(String, String)], other: &[(String, String)], rank: usize) -> Option<String> {
    let value = |options: &[(String, String)], name: &str| {
        let found = options.iter().find(|(known, _)| known == name);
        found.map_or_else(|| "none".to_owned(), |(_, value)| value.clone())
    };
    first.iter().chain(other).find_map(|(name, _)| {
        let [mine, theirs] = [value(first, name), value(other, name)];
        (mine != theirs).then(|| format!("{name}: rank 0 has {mine}, rank {rank} has {theirs}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each named option is one that a run has, or one of the whole command.
    #[test]
    fn own_options_exist() {
        let command = Arguments::command();
        let run = command.find_subcommand("mis").unwrap();
        for name in OWN {
            let is_there = |command: &clap::Command| command.get_arguments().any(|option| option.get_id() == name);
            assert!(is_there(&command) || is_there(run), "{name}");
        }
    }

    #[test]
    fn differences_are_named() {
        let options = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let first = options(&[("the command", "mis"), ("--seed", "0")]);
        assert_eq!(difference(&first, &first, 1), None);
        let seed = options(&[("the command", "mis"), ("--seed", "7")]);
        assert_eq!(difference(&first, &seed, 2).unwrap(), "--seed: rank 0 has 0, rank 2 has 7");
        let more = options(&[("the command", "mis"), ("--seed", "0"), ("--out", "a")]);
        assert_eq!(difference(&first, &more, 1).unwrap(), "--out: rank 0 has none, rank 1 has a");
        assert_eq!(difference(&more, &first, 1).unwrap(), "--out: rank 0 has a, rank 1 has none");
        let other = options(&[("the command", "color"), ("--order", "random")]);
        assert_eq!(difference(&first, &other, 1).unwrap(), "the command: rank 0 has mis, rank 1 has color");
    }
}
