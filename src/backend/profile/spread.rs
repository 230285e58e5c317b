//! The spread of numbers: least, median, greatest, mean.

/// The least, the median, the greatest and the mean of some numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Spread {
    /// The least.
    pub min: u64,
    /// The lower median.
    pub median: u64,
    /// The greatest.
    pub max: u64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    /// The spread of these numbers; all 0 if there are none. O(count) time.
    ///
    /// ```
    /// use vxm::backend::profile::Spread;
    ///
    /// let spread = Spread::of(vec![4, 1, 1, 10]);
    /// assert_eq!((spread.min, spread.median, spread.max, spread.mean), (1, 1, 10, 4.0));
    /// assert_eq!(spread.imbalance(), 2.5);
    /// ```
    pub fn of(numbers: Vec<u64>) -> Self {
        let mut tally = Tally::default();
        numbers.iter().for_each(|&number| tally.add(number));
        tally.spread()
    }

    /// The imbalance: the greatest as a multiple of the mean; 1 if all numbers are equal.
    pub fn imbalance(&self) -> f64 {
        if self.mean == 0.0 { 1.0 } else { self.max as f64 / self.mean }
    }
}

/// Numbers that are told apart below this are counted, and others kept. Most elements are visited a few times.
const FEW: usize = 64;

/// How often each number occurs.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    few: [u64; FEW],
    many: Vec<u64>,
    sum: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { few: [0; FEW], many: Vec::new(), sum: 0 }
    }
}

impl Tally {
    /// Adds a number.
    pub(crate) fn add(&mut self, number: u64) {
        self.sum += number;
        match self.few.get_mut(number as usize) {
            Some(times) => *times += 1,
            None => self.many.push(number),
        }
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> usize {
        self.few.iter().sum::<u64>() as usize + self.many.len()
    }

    /// Adds all numbers of another tally.
    pub(crate) fn join(&mut self, other: Self) {
        self.few.iter_mut().zip(other.few).for_each(|(times, more)| *times += more);
        self.many.extend(other.many);
        self.sum += other.sum;
    }

    /// The spread of all numbers; all 0 if there are none.
    pub(crate) fn spread(mut self) -> Spread {
        let few: u64 = self.few.iter().sum();
        let count = few + self.many.len() as u64;
        if count == 0 {
            return Spread::default();
        }
        self.many.sort_unstable();
        // the number at this place of the ascending order
        let number = |place: u64| {
            let mut before = 0;
            let found = self.few.iter().position(|&times| {
                before += times;
                before > place
            });
            found.map_or_else(|| self.many[(place - few) as usize], |number| number as u64)
        };
        let (min, median, max) = (number(0), number((count - 1) / 2), number(count - 1));
        Spread { min, median, max, mean: self.sum as f64 / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_one_order() {
        let numbers = vec![3, 900, 64, 63, 3, 70];
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let spread = Spread::of(numbers.clone());
        assert_eq!((spread.min, spread.median, spread.max), (3, sorted[2], 900));
        assert_eq!(spread.mean, numbers.iter().sum::<u64>() as f64 / 6.0);
        let (mut left, mut right) = (Tally::default(), Tally::default());
        numbers[..2].iter().for_each(|&x| left.add(x));
        numbers[2..].iter().for_each(|&x| right.add(x));
        left.join(right);
        assert_eq!(left.spread(), spread);
        assert_eq!(Spread::of(vec![]), Spread::default());
    }
}
