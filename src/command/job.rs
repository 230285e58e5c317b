//! The command as one of several ranks: a launcher such as `mpirun` starts each as a process. Rank 0 prints and writes.

use crate::command::arguments::{Asked, Ranks, Run, Task};
use crate::command::{REFUSED, alike, values};
use std::cell::{Cell, RefCell};
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::ranks::{Alone, Communicator, Grid, Launcher, Mpi, Shape};
use vxm::{Error, Result};

thread_local! {
    /// The ranks of this job, on the thread that joined them; `None` if it is a process of its own.
    static GRID: RefCell<Option<Grid>> = const { RefCell::new(None) };
    /// Whether another thread prints: in a simulation, that of rank 0.
    static HUSHED: Cell<bool> = const { Cell::new(false) };
}

/// The names of standard input.
const STDIN: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Whether another rank prints.
static SILENT: AtomicBool = AtomicBool::new(false);

/// The ranks of this job; `None` if it is a process of its own.
pub fn grid() -> Option<Grid> {
    GRID.with_borrow(Clone::clone)
}

/// Whether this thread prints and writes.
pub fn speaks() -> bool {
    !SILENT.load(Ordering::Relaxed) && !HUSHED.get()
}

/// Returns `mine` if no rank has an error, and otherwise the same error on all ranks.
pub fn agree<T>(mine: Result<T>) -> Result<T> {
    match grid() {
        Some(grid) => grid.agree(mine),
        None => mine,
    }
}

/// The number of threads of this process, if it isn't asked for: what rayon's variable says, or else its share of the machine's cores.
///
/// # Errors
/// The variable is no number of threads.
pub fn default_threads() -> Result<usize> {
    const ASKED: &str = "RAYON_NUM_THREADS";
    if let Some(asked) = env::var_os(ASKED).filter(|asked| !asked.is_empty() && asked != "0") {
        let number = values::threads(&asked.to_string_lossy()).map(usize::from);
        return number.map_err(|expected| Error::invalid(format!("{ASKED}={}: {expected}", asked.to_string_lossy())));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ranks = Launcher::seen().and_then(|launcher| launcher.local_size).unwrap_or(1);
    Ok((cores / ranks.max(1)).clamp(1, values::MOST_THREADS.into()))
}

/// Runs `task` as a rank, if a launcher has started this process or a grid is asked for; otherwise as a process of its own.
pub fn run<R>(task: &Task, program: impl FnOnce() -> Result<R>) -> Result<R> {
    let run = task.run();
    let ranks = task.ranks();
    let shape = ranks.map_or(Shape::Auto, |ranks| ranks.grid);
    if Launcher::seen().is_none() && shape == Shape::Auto {
        return program();
    }
    // counts of labels, too, are many more bytes in parts of rows than the labels are (E065)
    let whole_rows = adds_floats(task) || matches!(task, Task::Labels { .. });
    let world = join(ranks)?;
    let shape = if whole_rows && shape == Shape::Auto { Shape::Column } else { shape };
    let arranged = alike::check(&*world).and_then(|()| Grid::arranged(world.clone(), shape));
    let done = arranged.and_then(|grid| {
        GRID.set(Some(grid));
        agree(check(task, run)).and_then(|()| place(task)).and_then(|()| program())
    });
    if let Err(error) = &done {
        if !is_agreed(error) {
            // others wait for this rank
            world.abort(i32::from(REFUSED), &error.to_string());
        }
        // a launcher ends all ranks once one has failed, so they wait until rank 0 has told why
        super::tell(error);
        SILENT.store(true, Ordering::Relaxed);
        world.exchange(vec![Vec::new(); world.size()]).ok();
    }
    // the last handle ends MPI
    GRID.take();
    done
}

/// Runs `task` as a rank of a simulated grid, on this thread.
pub fn run_simulated<R>(task: &Task, grid: &Grid, program: impl FnOnce() -> Result<R>) -> Result<R> {
    HUSHED.set(grid.rank() > 0);
    GRID.set(Some(grid.clone()));
    let done = agree(check(task, task.run())).and_then(|()| program());
    GRID.take();
    done
}

/// Joins the ranks of this job.
fn join(ranks: Option<&Ranks>) -> Result<Arc<dyn Communicator>> {
    let limit = ranks.and_then(|ranks| ranks.timeout).map(Duration::from_secs);
    let world: Arc<dyn Communicator> = match Launcher::seen() {
        Some(launcher) => Arc::new(Mpi::join(&launcher, limit)?),
        None => Arc::new(Alone),
    };
    SILENT.store(world.rank() > 0, Ordering::Relaxed);
    Ok(world)
}

/// Moves the ranks to the devices that are asked for.
fn place(task: &Task) -> Result<()> {
    let (Some(grid), Some(ranks), Some(device)) = (grid(), task.ranks(), task.device()) else { return Ok(()) };
    let with_gpu = u64::from(Device::auto() != Device::Cpu);
    let placed = match device {
        Asked::Gpu => grid.on_gpus(ranks.link)?,
        Asked::Auto if grid.sum(&[with_gpu])?[0] == grid.size() as u64 => grid.on_gpus(ranks.link)?,
        Asked::Named(device) => grid.on_device(device, ranks.link)?,
        Asked::Auto => grid,
    };
    GRID.set(Some(placed));
    Ok(())
}

/// Whether all ranks have this error, because it follows from what all know.
fn is_agreed(error: &Error) -> bool {
    !matches!(error, Error::Ranks(_) | Error::Device(_) | Error::Memory { .. } | Error::Io { .. })
}

/// Whether an algorithm adds floats along rows, which have to be whole.
fn adds_floats(task: &Task) -> bool {
    matches!(task, Task::Pagerank { .. } | Task::Betweenness { .. } | Task::Communities { .. })
}

/// Refuses what isn't built for ranks.
fn check(task: &Task, run: Option<&Run>) -> Result<()> {
    if let Task::Doctor(doctor) = task
        && doctor.ranks
    {
        return Ok(());
    }
    let Some(run) = run else {
        return Err(Error::invalid(format!("{}: runs as one process: expected no launcher", task.name())));
    };
    if run.report.is_some() {
        return Err(Error::invalid("report: runs as one process: expected no launcher"));
    }
    if run.profiled_runs > 0 {
        return Err(Error::invalid("profile: runs as one process: expected no launcher"));
    }
    if run.explain {
        return Err(Error::invalid("--explain: plans of ranks aren't told: expected no launcher"));
    }
    if grid().is_some_and(|grid| grid.size() > 1) && STDIN.iter().any(|name| run.graph == *name) {
        let name = run.graph.to_string_lossy();
        return Err(Error::invalid(format!("{name}: a launcher gives its input to one rank only: expected a file")));
    }
    if let Some(order) = run.reorder.0 {
        return Err(Error::invalid(format!("--reorder {}: not built for ranks: expected none", order.name())));
    }
    if let Some(format @ (Format::Tiles | Format::Hybrid)) = run.format.0 {
        return Err(Error::invalid(format!("--format {}: not built for ranks: expected auto or csr", format.name())));
    }
    let (_, columns) = grid().map_or((1, 1), |grid| grid.shape());
    if adds_floats(task) && columns > 1 {
        let (grid, name) = (run.ranks.grid, task.name());
        let ranks = self::grid().map_or(1, |grid| grid.size());
        return Err(Error::invalid(format!(
            "--grid {grid}: {name} adds floats, in rows that are whole: expected one column of ranks, {ranks}x1"
        )));
    }
    Ok(())
}
