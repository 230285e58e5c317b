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
    pub fn of(mut numbers: Vec<u64>) -> Self {
        if numbers.is_empty() {
            return Self::default();
        }
        let (count, sum) = (numbers.len(), numbers.iter().sum::<u64>());
        let (min, max) = numbers.iter().fold((u64::MAX, 0), |(min, max), &x| (x.min(min), x.max(max)));
        let (_, &mut median, _) = numbers.select_nth_unstable((count - 1) / 2);
        Self { min, median, max, mean: sum as f64 / count as f64 }
    }

    /// The imbalance: the greatest as a multiple of the mean; 1 if all numbers are equal.
    pub fn imbalance(&self) -> f64 {
        if self.mean == 0.0 { 1.0 } else { self.max as f64 / self.mean }
    }
}
