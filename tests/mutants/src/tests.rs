//! The tests of the planted tree: which there are, what each reaches, and running one.
use std::collections::HashMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A process that takes more than this many bytes is taken for a mutant that takes all memory.
const MOST_BYTES: u64 = 5 << 30;

#[derive(Clone)]
pub struct Test {
    pub binary: PathBuf,
    pub folder: PathBuf,
    pub name: String,
    pub seconds: f64,
    pub reached: Vec<u32>,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Passed,
    Failed,
    TooLong,
    TooLarge,
}

/// Binaries of tests, with the folders of their packages, out of what cargo says while it builds.
pub fn binaries(messages: &str) -> Vec<(PathBuf, PathBuf)> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests =
        artifacts.filter(|message| message["reason"] == "compiler-artifact" && message["profile"]["test"] == true);
    let paths = tests.filter_map(|message| {
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        Some((PathBuf::from(message["executable"].as_str()?), folder))
    });
    paths.collect()
}

/// The tests of a binary.
pub fn list(binary: &Path, folder: &Path) -> Result<Vec<Test>, String> {
    let output = Command::new(binary).args(["--list", "--format", "terse"]).current_dir(folder).output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let test = |name: &str| Test {
        binary: binary.into(),
        folder: folder.into(),
        name: name.into(),
        seconds: 0.0,
        reached: Vec::new(),
    };
    Ok(names.map(test).collect())
}

impl Test {
    /// The binary's name without its hash, and the test's.
    pub fn title(&self) -> String {
        let stem = self.binary.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        format!("{} {}", stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name), self.name)
    }

    /// Runs the test with one variable of the environment.
    pub fn run(&self, variable: &str, value: &str, most: Duration) -> End {
        let mut command = Command::new(&self.binary);
        command.args(["--exact", &self.name]).current_dir(&self.folder).env(variable, value);
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("INSTA_UPDATE", "no");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let start = Instant::now();
        let Ok(mut child) = command.spawn() else { return End::Failed };
        let group = format!("-{}", child.id());
        let memory = format!("/proc/{}/statm", child.id());
        let mut pause = Duration::from_millis(1);
        let end = loop {
            match child.try_wait() {
                Ok(Some(status)) => break if status.success() { End::Passed } else { End::Failed },
                Ok(None) if start.elapsed() > most => break End::TooLong,
                Ok(None) if pages(&memory) * 4096 > MOST_BYTES => break End::TooLarge,
                Ok(None) => std::thread::sleep(pause),
                Err(_) => break End::Failed,
            }
            pause = (pause * 3 / 2).min(Duration::from_millis(20));
        };
        // what it has started, too
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = child.wait();
        end
    }

    /// Runs the test without a fault, and keeps its time and what it reaches.
    pub fn record(&mut self, seen: &Path, most: Duration) -> End {
        let _ = std::fs::remove_file(seen);
        let start = Instant::now();
        let end = self.run("VXM_MUTANTS_SEEN", &seen.to_string_lossy(), most);
        self.seconds = start.elapsed().as_secs_f64();
        let mut bytes = Vec::new();
        if let Ok(mut file) = std::fs::File::open(seen) {
            let _ = file.read_to_end(&mut bytes);
        }
        self.reached =
            bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
        // of several processes
        self.reached.sort_unstable();
        self.reached.dedup();
        let _ = std::fs::remove_file(seen);
        end
    }

    pub fn to_json(&self) -> Value {
        json!({"binary": self.binary, "folder": self.folder, "name": self.name, "seconds": self.seconds, "reached": self.reached})
    }

    pub fn from_json(value: &Value) -> Option<Test> {
        Some(Test {
            binary: value["binary"].as_str()?.into(),
            folder: value["folder"].as_str()?.into(),
            name: value["name"].as_str()?.into(),
            seconds: value["seconds"].as_f64()?,
            reached: value["reached"].as_array()?.iter().filter_map(|id| Some(id.as_u64()? as u32)).collect(),
        })
    }
}

fn pages(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split(' ').nth(1).and_then(|resident| resident.parse().ok()).unwrap_or(0)
}

/// For each mutant the tests that reach it.
pub fn by_mutant(tests: &[Test]) -> HashMap<u32, Vec<usize>> {
    let mut of: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, test) in tests.iter().enumerate() {
        for &id in &test.reached {
            of.entry(id).or_default().push(place);
        }
    }
    of
}
