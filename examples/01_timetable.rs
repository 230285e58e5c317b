//! Exam timetabling: the fewest slots that a greedy colouring finds, so that no student has two exams at once.
//!
//! `E[student, exam]` holds an entry for each enrolment. `EᵀE` counts the students that two exams share. Exams that share one conflict, so
//! a slot is a colour of the conflict graph.

use vxm::algorithms::priority::mix;
use vxm::algorithms::{ColoringOptions, Order, color};
use vxm::formats::First;
use vxm::prelude::*;

const STUDENTS: u32 = 900;
const EXAMS: u32 = 72;
const EXAMS_EACH: u32 = 4;

/// Enrolments: a student takes mostly exams of one department, which has 12, and some of any.
fn enrolments() -> Vec<(u32, u32)> {
    let mut taken = Vec::new();
    for student in 0..STUDENTS {
        let department = mix(student, 1) % (EXAMS / 12);
        for choice in 0..EXAMS_EACH {
            let draw = mix(student * EXAMS_EACH + choice, 2);
            let exam = if draw.is_multiple_of(8) { draw / 8 % EXAMS } else { department * 12 + draw / 8 % 12 };
            taken.push((student, exam));
        }
    }
    taken
}

fn run() -> Result<()> {
    let taken = enrolments();
    let triples = taken.iter().map(|&(student, exam)| (student, exam, ()));
    let coo = Coo::from_triples(STUDENTS as usize, EXAMS as usize, triples)?;
    // a student that drew an exam twice takes it once
    let enrolled = Matrix::from_coo(&coo, First)?;

    // shared = Eᵀ plus.pair E, without its diagonal: how many students two exams share
    let shared = enrolled.transpose().mxm(&enrolled, PLUS_PAIR).eval()?.select(OFFDIAG)?;
    let conflicts = shared.pattern();
    let options = ColoringOptions::default().order(Order::SmallestDegreeLast);
    let timetable = color(&conflicts, &options)?;
    let slot = timetable.colors.to_dense(0);
    println!("{STUDENTS} students, {EXAMS} exams, {} conflicts: {} slots", conflicts.nnz() / 2, timetable.count);

    // checked from the enrolments alone: each student's exams are in slots of their own
    for (i, &(student, exam)) in taken.iter().enumerate() {
        let others = taken[i..].iter().take_while(|&&(other, _)| other == student);
        for &(_, other) in others.filter(|&&(_, other)| other != exam) {
            assert_ne!(slot[exam as usize], slot[other as usize], "student {student}: exams {exam} and {other}");
        }
    }
    // a student of four exams needs four slots, and a greedy colouring never needs more than the longest row and one
    let longest = conflicts.degrees()?.reduce(MAX)?;
    assert!((EXAMS_EACH..=longest + 1).contains(&timetable.count));
    assert!(slot.iter().all(|&slot| (1..=timetable.count).contains(&slot)));
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
