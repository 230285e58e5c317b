//! An algorithm's run, in one process or on ranks: finding, checking and telling.

use crate::command::answer::{Answer, Choices, Outcome, Outputs, Peaks, Verdict, place, tell_answer};
use crate::command::arguments::Run;
use crate::command::bars::Spinner;
use crate::command::footprint::{Algorithm, reading, reading_weights};
use crate::command::found::Found;
use crate::command::phases::phase;
use crate::command::subject::{Subject, changed};
use crate::command::together::is_checked_together;
use crate::command::{WRONG, job, profile, report};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use vxm::backend::Device;
use vxm::backend::profile::collect;
use vxm::containers::Matrix;
use vxm::formats::Csr;
use vxm::io::{FileFormat, WholeFile};
use vxm::ranks::Grid;
use vxm::semiring::Element;
use vxm::{Result, memory};

/// An algorithm, and what checks its answer. All algorithms share the code around them, which is compiled once for a type of elements.
type Find<'f, T> = &'f dyn Fn(&Matrix<T>) -> Outcome;
type Check<'f, T> = Box<dyn FnOnce(&mut Found, &Csr<T>) -> Result<Verdict> + 'f>;

/// Checks an answer over ranks: this rank's share of it, the whole on rank 0, and the graph. Returns `None` if that takes the whole graph. All ranks call this.
pub type CheckTogether<'f, T> = &'f dyn Fn(&Found, Option<&Found>, &Matrix<T>, &Grid) -> Result<Option<Verdict>>;

/// Both checks of an answer.
type Checks<'f, T> = (Check<'f, T>, CheckTogether<'f, T>);

/// Runs the algorithm `find` on a graph, checks the answer with `check`, writes it and reports it.
pub fn finish<T: Element>(
    run: &Run,
    out: Outputs,
    algorithm: Algorithm,
    choices: &Choices,
    subject: Subject<T>,
    find: impl Fn(&Matrix<T>) -> Outcome,
    check: impl FnOnce(&mut Found, &Csr<T>) -> Result<Verdict>,
) -> Result<ExitCode> {
    finished(run, out, algorithm, choices, subject, &find, (Box::new(check), &Found::check_together))
}

/// [`finish`] with another check over ranks.
#[expect(clippy::too_many_arguments, reason = "those of `finish`, and one more")]
pub fn finish_together<T: Element>(
    run: &Run,
    out: Outputs,
    algorithm: Algorithm,
    choices: &Choices,
    subject: Subject<T>,
    find: impl Fn(&Matrix<T>) -> Outcome,
    check: impl FnOnce(&mut Found, &Csr<T>) -> Result<Verdict>,
    together: CheckTogether<'_, T>,
) -> Result<ExitCode> {
    finished(run, out, algorithm, choices, subject, &find, (Box::new(check), together))
}

fn finished<T: Element>(
    run: &Run,
    out: Outputs,
    algorithm: Algorithm,
    choices: &Choices,
    subject: Subject<T>,
    find: Find<'_, T>,
    check: Checks<'_, T>,
) -> Result<ExitCode> {
    let mut choices = choices.to_vec();
    choices.extend(run.reorder.0.map(|order| ("reorder", order.name().into())));
    let choices = &choices[..];
    let a = job::agree(place(run, algorithm, choices, &subject))?;
    drop(out.opening);
    if let Some(grid) = job::grid() {
        return on_ranks(run, (out.answer, algorithm), choices, (subject, a), &grid, find, check);
    }
    if run.device() != Device::Cpu {
        // a first run compiles the kernels before the clock starts, those that count if they are to run
        let _phase = phase("compile");
        if run.explain || run.profiled_runs > 0 {
            collect(|| find(&a)).0?;
        } else {
            find(&a)?;
        }
    }
    let (found, rounds, took) = timed(run, find, &a)?;
    // told and checked in the numbers of the file
    let (mut found, file) = match &subject.renumbered {
        Some(renumbered) => (found.undo(&renumbered.order)?, renumbered.matrix.clone()),
        None => (found, a.clone()),
    };
    let certificate = {
        let (_phase, _spinner) = (phase("check"), Spinner::new("checking"));
        (check.0)(&mut found, file.csr())?
    };
    let peaks = Peaks::of(run, algorithm, choices, &a, &subject.report);
    let answer = Answer::of(&a, subject, (found, rounds), took, certificate, peaks);
    let told = tell_answer(run, out.answer, choices, &answer)?;
    if let Some(page) = out.page {
        // before loops are counted, or all would be planned twice
        let plan = report::decisions();
        let counted = {
            let (_phase, _spinner) = (phase("count"), Spinner::new("counting"));
            // on this thread, so that the loops are those of the scope
            let (found, profile) = collect(|| find(&a));
            found.map(|_| profile)?
        };
        answer.report(run, page, choices, file.csr(), (plan, counted))?;
    }
    Ok(told)
}

/// What an algorithm finds, its rounds, and how long it took. Its loops are counted if they are to be profiled.
fn timed<T: Element>(run: &Run, find: Find<'_, T>, a: &Matrix<T>) -> Result<(Found, Option<u32>, Duration)> {
    let (_phase, _spinner, start) = (phase("run"), Spinner::new("running"), Instant::now());
    let (found, rounds) = profile::observed(run, || find(a))?;
    Ok((found, rounds, start.elapsed()))
}

/// Runs the algorithm `find` on all ranks of a grid, each of which has its share of the graph. The ranks check the answer together where each can look at its own
/// vertices. Otherwise rank 0 checks it with the whole graph, which it has kept, or reads again.
fn on_ranks<T: Element>(
    run: &Run,
    (out, algorithm): (Option<WholeFile>, Algorithm),
    choices: &Choices,
    (subject, whole): (Subject<T>, Matrix<T>),
    grid: &Grid,
    find: Find<'_, T>,
    (check, check_together): Checks<'_, T>,
) -> Result<ExitCode> {
    let (mut subject, size) = (subject, (whole.nrows(), whole.nnz()));
    let again = subject.again.take();
    let together = again.is_some() && is_checked_together(algorithm);
    let a = if again.is_some() { whole.clone() } else { whole.to_grid(grid)? };
    let subject = subject.with(a.clone());
    let whole = Some(whole).filter(|_| job::speaks() && again.is_none());
    let must_fit = again.is_some() && !together && job::speaks();
    grid.agree(if must_fit { room_to_check(run, &subject, &a, grid) } else { Ok(()) })?;
    let before = sent(grid);
    grid.begin_recording();
    let start = Instant::now();
    let (found, rounds, whole_answer, sent) = {
        let _phase = phase("run");
        let (found, rounds) = find(&a)?;
        grid.end_recording();
        let sent: Vec<u64> = sent(grid).iter().zip(before).map(|(now, before)| now - before).collect();
        let whole_answer = found.to_root()?;
        (found, rounds, whole_answer, sent)
    };
    let took = start.elapsed();
    let sent = grid.sum(&sent)?.first_chunk().copied();
    let verdict = if together {
        let _phase = phase("check");
        let verdict = check_together(&found, whole_answer.as_ref(), &a, grid)?;
        let must_fit = verdict.is_none() && job::speaks();
        grid.agree(if must_fit { room_to_check(run, &subject, &a, grid) } else { Ok(()) })?;
        verdict
    } else {
        None
    };
    let certified = (verdict.is_some() && job::speaks()).then(|| a.clone());
    // the share makes room for the whole graph
    drop((a, found));
    let subject = subject.with(Matrix::from_triples(0, 0, [])?);
    let whole = match again.filter(|_| job::speaks() && verdict.is_none()) {
        Some(again) => again(run).and_then(|whole| match (whole.nrows(), whole.nnz()) == size {
            true => Ok(Some(whole)),
            false => Err(changed(&subject.name)),
        }),
        None => Ok(whole.or(certified)),
    };
    let told = whole.and_then(|whole| match (whole_answer, whole) {
        (Some(mut found), Some(whole)) => {
            let checked = || {
                let _phase = phase("check");
                check(&mut found, whole.csr())
            };
            let certificate = verdict.map_or_else(checked, Ok)?;
            let mut answer = Answer::of(&whole, subject, (found, rounds), took, certificate, Peaks::of_rank());
            answer.sent = sent;
            tell_answer(run, out, choices, &answer).map(|status| u64::from(status != ExitCode::SUCCESS))
        }
        _ => Ok(0),
    });
    let wrong = grid.sum(&[grid.agree(told)?])?;
    Ok(if wrong == [0] { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// The bytes that this rank has sent along its row, along its column and to any, and the number of messages.
fn sent(grid: &Grid) -> [u64; 4] {
    let sent = grid.sent();
    let [row, column, all] = sent.map(|traffic| traffic.bytes);
    [row, column, all, sent.iter().map(|traffic| traffic.messages).sum()]
}

/// Checks that rank 0 will have room to read the whole graph, to check the answer with, when it holds no share any more. A native file stays on
/// disk, and so does what is read under a limit.
fn room_to_check<T: Element>(run: &Run, subject: &Subject<T>, a: &Matrix<T>, grid: &Grid) -> Result<()> {
    if subject.input == Some(FileFormat::Native) || run.memory.limit()?.is_some() {
        return Ok(());
    }
    let needed = match size_of::<T>() {
        0 => reading(a.nrows(), &subject.report),
        _ => reading_weights(a.nrows(), &subject.report),
    };
    let share = (4 + size_of::<T>() as u128) * u128::from(a.nnz()) / grid.size() as u128;
    memory::require(needed.saturating_sub(share), || format!("{}: checking the answer on rank 0", subject.name))
}
