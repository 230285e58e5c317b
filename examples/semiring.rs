//! A semiring of your own: the most reliable routes through a network. Its laws are checked, and its product is iterated to a fixed point.

use vxm::prelude::*;

/// The reliability of a route lengthened by a link, `⌊a b / 255⌋`. Reliabilities are integers from 0 to 255, in units of 1/255, so that the
/// result has the same bits everywhere.
#[op]
fn along(sofar: u32, link: u32) -> u32 {
    sofar.min(255u32) * link.min(255u32) / 255u32
}

/// The reliability of the better of two routes.
#[op]
fn better(one: u32, other: u32) -> u32 {
    if one > other { one } else { other }
}

impl Monoid<u32> for better {
    const IDENTITY: u32 = 0;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let most_reliable = semiring(better, along);
    // all laws of a semiring, such as distributivity, are tested on random and extreme values; a counterexample would be shrunken
    println!("{}", laws::check::<u32, u32, _>(most_reliable)?);

    // the direct link from 0 to 3 is less reliable than the route by 1 and 2
    let links = Matrix::from_triples(4, 4, [(0, 3, 100), (0, 1, 250), (1, 2, 240), (2, 3, 245)])?;
    let mut best = Vector::from_pairs(4, [(0, 255u32)])?;
    loop {
        let before = best.clone();
        // best max= best better.along links
        best.update(|best| best.ewise_add(best.vxm(&links, most_reliable), better))?;
        if best == before {
            break;
        }
    }
    for (place, reliability) in best.iter() {
        println!("to {place}: {:.1} %", 100.0 * f64::from(reliability) / 255.0);
    }
    assert_eq!(best, Vector::from_dense(vec![255, 250, 235, 225]));
    Ok(())
}
