//! Plants small faults in vxm's sources, all in one build, and says which of them no test sees.
//!
//! A fault is another operator, a condition's opposite, a statement left out, or a function that returns at once. Each stands behind a
//! switch, so the tree is built once, and a variable of the environment turns one fault on. Tests run one a process: without a fault first,
//! which says what each of them reaches, then with each fault those that reach it, until one fails.
mod plant;
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plant::{Mutant, Planted, Source};
use serde_json::{Value, json};
use tests::{End, Test};

type Outcome<T> = Result<T, String>;

const USAGE: &str = "\
expected a step: mutants plant [PATH...] | record [FILTER...] | hunt [--minutes N] [--seconds N] [PATH...] | report [PATH...]
  plant   writes target/mutants/tree with faults in the files below PATH, and builds its tests
  record  runs each test with one of FILTER in its title, without a fault
  hunt    runs tests with each fault below PATH, in so many minutes, and at most so many seconds a fault (20)
  report  lists the faults that no test saw";

/// Where faults are planted if no path is given.
const SOURCES: [&str; 7] = [
    "semiring/src",
    "src/algorithms",
    "src/backend/cpu",
    "src/backend/plan.rs",
    "src/certify",
    "src/io",
    "src/operations",
];
/// What a fault may take longer than the test without it: it doubles the rounds, or the machine is busy.
const TIMES_LONGER: f64 = 6.0;
const WORKERS: usize = 2;
/// With more faults than that, the differential tests aren't built: they instantiate all of it thousands of times, in tens of GiB.
const MOST_FOR_ALL: usize = 1000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let end = match arguments.split_first().map(|(step, rest)| (step.as_str(), rest)) {
        Some(("plant", paths)) => plant(paths),
        Some(("record", filters)) => record(filters),
        Some(("hunt", rest)) => hunt(rest),
        Some(("report", paths)) => report(paths),
        _ => Err(USAGE.to_string()),
    };
    if let Err(message) = end {
        eprintln!("mutants: {message}");
        std::process::exit(2);
    }
}

/// The folder of the repository, and the one where all of this is kept.
fn folders() -> (PathBuf, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    let work = std::env::var_os("VXM_MUTANTS").map_or_else(|| root.join("target/mutants"), PathBuf::from);
    (root, work)
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file, unless it is so already: cargo builds anew what is written.
fn write(path: &Path, bytes: &[u8]) -> Outcome<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, bytes));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn below(path: &str, paths: &[String]) -> bool {
    paths.is_empty() || paths.iter().any(|start| path.starts_with(start.as_str()))
}

fn plant(paths: &[String]) -> Outcome<()> {
    let (root, work) = folders();
    let tree = work.join("tree");
    let listed = Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(&root).output();
    let listed = listed.map_err(|error| format!("git ls-files: {error}"))?;
    let files: Vec<String> = String::from_utf8_lossy(&listed.stdout).lines().map(str::to_string).collect();
    let chosen: Vec<String> =
        if paths.is_empty() { SOURCES.iter().map(|path| path.to_string()).collect() } else { paths.to_vec() };

    if let Some(path) =
        chosen.iter().find(|path| !files.iter().any(|file| file.ends_with(".rs") && file.starts_with(path.as_str())))
    {
        return Err(format!(
            "{path}: expected a file or folder of sources, from the root of the repository, as src/io"
        ));
    }
    let mut only_tests = HashSet::new();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let Ok(text) = read(&root.join(file)) else { continue };
        let (folder, stem) =
            file.rsplit_once('/').map_or(("", file.as_str()), |(folder, name)| (folder, name.trim_end_matches(".rs")));
        let inside =
            if ["mod", "lib", "main"].contains(&stem) { folder.to_string() } else { format!("{folder}/{stem}") };
        only_tests.extend(plant::modules_for_tests(&text).into_iter().map(|name| format!("{inside}/{name}")));
    }
    let of_tests = |file: &str| {
        only_tests
            .iter()
            .any(|start| file.strip_prefix(start.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
    };

    let (mut next, mut sources) = (0, Vec::new());
    for file in &files {
        // a file may be removed and still listed
        let Ok(bytes) = std::fs::read(root.join(file)) else { continue };
        if file.ends_with(".rs") && below(file, &chosen) && !of_tests(file) && file != "semiring/src/lib.rs" {
            sources.push(Source::parse(file, String::from_utf8_lossy(&bytes).into_owned(), &mut next)?);
        } else {
            write(&tree.join(file), &bytes)?;
        }
    }
    let library = read(&root.join("semiring/src/lib.rs"))?;
    let switch = "#[doc(hidden)]\n#[allow(missing_docs)]\npub mod mutants;\n";
    write(&tree.join("semiring/src/lib.rs"), format!("{library}\n{switch}").as_bytes())?;
    write(&tree.join("semiring/src/mutants.rs"), include_bytes!("switch.rs"))?;
    if let Some(shared) = root.parent().map(|parent| parent.join("shared")).filter(|shared| shared.exists()) {
        let _ = std::os::unix::fs::symlink(shared, work.join("shared"));
    }
    println!("{next} faults in {} files", sources.len());

    // what doesn't compile is no fault
    let mut rejected: HashSet<u32> = HashSet::new();
    // features that only tests ask for are on where all targets are checked
    let mut targets = ["--lib", "--bins"].as_slice();
    loop {
        let mut planted: HashMap<&str, Planted> = HashMap::new();
        for source in &sources {
            let text = source.planted(&|id| rejected.contains(&id));
            write(&tree.join(&source.path), text.text.as_bytes())?;
            planted.insert(&source.path, text);
        }
        let (errors, _) = cargo(&tree, &work, &[&["check", "--workspace"], targets].concat())?;
        let before = rejected.len();
        for (file, position, _) in &errors {
            if let Some(planted) = planted.get(file.as_str()) {
                rejected.extend(planted.around(*position));
            }
        }
        println!("{} errors: {} faults don't compile", errors.len(), rejected.len());
        if errors.is_empty() {
            match targets {
                ["--all-targets"] => break,
                _ => targets = &["--all-targets"],
            }
            continue;
        }
        if rejected.len() == before {
            return Err(format!("an error outside of all faults: {:?}", errors[0]));
        }
    }
    let kept = |mutant: &&Mutant| !rejected.contains(&mutant.id);
    let described =
        sources.iter().flat_map(|source| source.mutants.iter().filter(kept).map(|mutant| describe(source, mutant)));
    let described: Vec<Value> = described.collect();
    // results are of the faults as they are numbered
    let text = json!(described).to_string();
    if read(&work.join("faults.json")).is_ok_and(|before| before != text) {
        let _ = std::fs::remove_file(work.join("results.jsonl"));
    }
    let _ = std::fs::remove_file(work.join("tests.jsonl"));
    write(&work.join("faults.json"), text.as_bytes())?;

    let mut build = vec!["test".to_string(), "--workspace".to_string(), "--no-run".to_string()];
    if described.len() > MOST_FOR_ALL {
        println!("the differential tests are left out: plant one folder for them");
        build.extend(targets_without(&tree, "vxm-differential")?);
    }
    let build: Vec<&str> = build.iter().map(String::as_str).collect();
    let (errors, messages) = cargo(&tree, &work, &build)?;
    if let Some(error) = errors.first() {
        return Err(format!("the tests don't build: {error:?}"));
    }
    let binaries: Vec<Value> =
        tests::binaries(&messages).iter().map(|(binary, folder)| json!([binary, folder])).collect();
    println!("{} binaries of tests", binaries.len());
    write(&work.join("binaries.json"), Value::Array(binaries).to_string().as_bytes())
}

fn describe(source: &Source, mutant: &Mutant) -> Value {
    let Mutant { id, line, function, was, now } = mutant;
    json!({"id": id, "file": source.path, "line": line, "function": function, "was": was, "now": now})
}

/// Arguments that name all targets with tests but those of a package. With the package left out, the others would have fewer features.
fn targets_without(tree: &Path, package: &str) -> Outcome<Vec<String>> {
    let output =
        Command::new("cargo").args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(tree).output();
    let output = output.map_err(|error| format!("cargo metadata: {error}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut arguments = vec!["--lib".to_string(), "--bins".to_string()];
    let packages = metadata["packages"].as_array().into_iter().flatten().filter(|found| found["name"] != package);
    for target in packages.flat_map(|found| found["targets"].as_array().into_iter().flatten()) {
        if target["kind"] == json!(["test"]) {
            arguments.extend(["--test".to_string(), target["name"].as_str().unwrap_or_default().to_string()]);
        }
    }
    Ok(arguments)
}

/// Runs cargo in the planted tree: the errors' files, positions and messages, and all that it says.
fn cargo(tree: &Path, work: &Path, arguments: &[&str]) -> Outcome<(Vec<(String, usize, String)>, String)> {
    let mut command = Command::new("cargo");
    command.args(arguments).args(["--message-format=json", "--quiet"]).current_dir(tree).stderr(Stdio::inherit());
    command.env("CARGO_TARGET_DIR", work.join("target")).env("RUSTFLAGS", "--cap-lints=allow");
    command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    // functions with many faults take an optimiser minutes
    command.args(["--config", "profile.dev.package.vxm.opt-level=0"]);
    let output = command.output().map_err(|error| format!("cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut errors = Vec::new();
    for message in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let message = &message["message"];
        if message["level"] == "error" {
            // a span may lie in a macro; where it is used says where the fault is
            let mut spans: Vec<&Value> =
                message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true).collect();
            let used: Vec<&Value> =
                spans.iter().map(|span| &span["expansion"]["span"]).filter(|span| span.is_object()).collect();
            spans.extend(used);
            for span in spans {
                let file = span["file_name"].as_str().unwrap_or_default().to_string();
                let position = span["byte_start"].as_u64().unwrap_or(0) as usize;
                errors.push((file, position, message["message"].as_str().unwrap_or_default().to_string()));
            }
        }
    }
    if errors.is_empty() && !output.status.success() {
        return Err(format!("cargo {}: failed without an error in a file", arguments.join(" ")));
    }
    Ok((errors, text))
}

/// Calls `task` with each item, by several threads.
fn share_out<T: Send>(items: Vec<T>, task: impl Fn(T) + Sync) {
    let queue = Mutex::new(VecDeque::from(items));
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(item) = next() {
                    task(item);
                }
            });
        }
    });
}

fn record(filters: &[String]) -> Outcome<()> {
    let (_, work) = folders();
    let binaries: Value =
        serde_json::from_str(&read(&work.join("binaries.json"))?).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for pair in binaries.as_array().into_iter().flatten() {
        all.extend(tests::list(
            Path::new(pair[0].as_str().unwrap_or_default()),
            Path::new(pair[1].as_str().unwrap_or_default()),
        )?);
    }
    all.retain(|test| filters.is_empty() || filters.iter().any(|filter| test.title().contains(filter.as_str())));
    let (started, count) = (Instant::now(), all.len());
    let file = std::fs::File::create(work.join("tests.part")).map_err(|error| error.to_string())?;
    let (file, left_out) = (Mutex::new(file), Mutex::new(Vec::new()));
    let places: Vec<(usize, Test)> = all.into_iter().enumerate().collect();
    share_out(places, |(place, mut test)| {
        let end = test.record(&work.join(format!("seen-{place}")), Duration::from_secs(30));
        let line = test.to_json().to_string();
        match (end, file.lock(), left_out.lock()) {
            (End::Passed, Ok(mut file), _) => drop(writeln!(file, "{line}")),
            (_, _, Ok(mut left_out)) => left_out.push(test.title()),
            _ => {}
        }
    });
    // whole, or not there: a run that was ended records anew
    std::fs::rename(work.join("tests.part"), work.join("tests.jsonl")).map_err(|error| error.to_string())?;
    let left_out = left_out.into_inner().unwrap_or_default();
    println!(
        "{} of {count} tests pass alone in 30 s, in {:.0} s; the others aren't used:",
        count - left_out.len(),
        started.elapsed().as_secs_f64()
    );
    left_out.iter().for_each(|title| println!("  {title}"));
    Ok(())
}

fn lines(path: &Path) -> Outcome<Vec<Value>> {
    Ok(read(path)?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn faults(work: &Path) -> Outcome<Vec<Value>> {
    let faults: Value = serde_json::from_str(&read(&work.join("faults.json"))?).map_err(|error| error.to_string())?;
    Ok(faults.as_array().cloned().unwrap_or_default())
}

fn id(fault: &Value) -> u32 {
    fault["id"].as_u64().unwrap_or(0) as u32
}

fn file_of(fault: &Value) -> &str {
    fault["file"].as_str().unwrap_or_default()
}

fn hunt(arguments: &[String]) -> Outcome<()> {
    let (_, work) = folders();
    let (mut minutes, mut seconds, mut paths) = (60.0, 20.0, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number =
            || rest.next().and_then(|text| text.parse::<f64>().ok()).ok_or(format!("{argument}: expected a number"));
        match argument.as_str() {
            "--minutes" => minutes = number()?,
            "--seconds" => seconds = number()?,
            path => paths.push(path.to_string()),
        }
    }
    let tests: Vec<Test> = lines(&work.join("tests.jsonl"))?.iter().filter_map(Test::from_json).collect();
    let reach = tests::by_mutant(&tests);
    let results = work.join("results.jsonl");
    let done: HashSet<u32> = lines(&results).unwrap_or_default().iter().map(id).collect();
    let open = faults(&work)?.into_iter().filter(|fault| below(file_of(fault), &paths) && !done.contains(&id(fault)));
    let open: Vec<Value> = open.collect();
    println!("{} faults to try, {} tests", open.len(), tests.len());
    let file =
        std::fs::OpenOptions::new().append(true).create(true).open(&results).map_err(|error| error.to_string())?;
    let file = Mutex::new(file);
    // what killed faults of the same file is tried before others
    let kills: Mutex<HashMap<(String, usize), u32>> = Mutex::new(HashMap::new());
    let started = Instant::now();
    share_out(open, |fault| {
        if started.elapsed().as_secs_f64() > minutes * 60.0 {
            return;
        }
        let name = file_of(&fault).to_string();
        let mut candidates = reach.get(&id(&fault)).cloned().unwrap_or_default();
        let rank = |place: usize| {
            let before = kills.lock().ok().and_then(|kills| kills.get(&(name.clone(), place)).copied()).unwrap_or(0);
            (tests[place].seconds + 0.02) / f64::from(1 + before)
        };
        candidates.sort_by(|&a, &b| rank(a).total_cmp(&rank(b)));
        let (start, of) = (Instant::now(), candidates.len());
        let (mut outcome, mut by, mut tried) = ("survived", String::new(), 0);
        for place in candidates {
            if start.elapsed().as_secs_f64() > seconds {
                break;
            }
            tried += 1;
            let most = Duration::from_secs_f64(tests[place].seconds * TIMES_LONGER + 3.0);
            let end = tests[place].run("VXM_MUTANT", &id(&fault).to_string(), most);
            if end != End::Passed {
                outcome = if end == End::Failed { "killed" } else { "ran on" };
                by = tests[place].title();
                if let Ok(mut kills) = kills.lock() {
                    *kills.entry((name.clone(), place)).or_default() += 1;
                }
                break;
            }
        }
        if of == 0 {
            outcome = "not reached";
        }
        let line = json!({"id": id(&fault), "outcome": outcome, "by": by, "tried": tried, "of": of});
        if let Ok(mut file) = file.lock() {
            let _ = writeln!(file, "{line}");
        }
    });
    report(&paths)
}

fn report(paths: &[String]) -> Outcome<()> {
    let (_, work) = folders();
    let known = known()?;
    let results = lines(&work.join("results.jsonl"))?;
    let of: HashMap<u32, Value> = results.into_iter().map(|result| (id(&result), result)).collect();
    let kinds = ["killed", "ran on", "survived", "known", "not reached", "untried"];
    let mut counts: Vec<(String, [usize; 6])> = Vec::new();
    let mut nth: HashMap<String, u32> = HashMap::new();
    for fault in faults(&work)? {
        let text = |name: &str| fault[name].as_str().unwrap_or_default();
        // lines change, so a fault is known by its function, and by which one of its kind it is there
        let mut name = format!("{} {}: {} -> {}", text("file"), text("function"), text("was"), text("now"));
        let count = nth.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name} ({count})");
        }
        if !below(file_of(&fault), paths) {
            continue;
        }
        let outcome = of.get(&id(&fault)).and_then(|result| result["outcome"].as_str()).unwrap_or("untried");
        let outcome = if outcome == "survived" && known.contains(&name) { "known" } else { outcome };
        let kind = kinds.iter().position(|kind| *kind == outcome).unwrap_or(5);
        if counts.last().is_none_or(|(file, _)| file != file_of(&fault)) {
            counts.push((file_of(&fault).to_string(), [0; 6]));
        }
        if let Some((_, counts)) = counts.last_mut() {
            counts[kind] += 1;
        }
        if outcome == "survived" {
            let result = &of[&id(&fault)];
            let (line, tried) = (&fault["line"], &result["tried"]);
            println!("{name} | line {line}, {tried} of {} tests, fault {}", result["of"], id(&fault));
        }
    }
    let row = |counts: &[usize; 6], file: &str| {
        let column = |(count, kind): (&usize, &str)| format!("{count:>width$}", width = kind.len() + 2);
        println!("{} {file}", counts.iter().zip(kinds).map(column).collect::<String>());
    };
    println!("\n{}", kinds.map(|kind| format!("  {kind}")).concat());
    counts.iter().for_each(|(file, counts)| row(counts, file));
    let sum = counts.iter().fold([0; 6], |sum, (_, counts)| std::array::from_fn(|kind| sum[kind] + counts[kind]));
    row(&sum, "in all");
    Ok(())
}

/// Survivors that change no answer, or none that a test can see: lines of `known.txt` before a bar, and the reason behind it.
fn known() -> Outcome<HashSet<String>> {
    let text = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("known.txt"))?;
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let name = |line: &str| line.split_once(" | ").map(|(name, _)| name.to_string());
    rows.map(|line| name(line).ok_or(format!("known.txt: expected FAULT | REASON, found {line}"))).collect()
}
