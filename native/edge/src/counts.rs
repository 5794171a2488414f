//! Durations of answers by method, which JavaScript adds to its metrics.

/// The counts of one method: one cell for each bucket, one for longer durations, and the sum in
/// seconds, as the histograms of `src/shared/metrics.ts` have them.
pub struct Counts {
    bounds: Vec<f64>,
    cells: Vec<f64>,
}

impl Counts {
    /// `bounds`: upper bounds of the buckets in seconds, rising.
    pub fn new(bounds: Vec<f64>, methods: usize) -> Counts {
        let cells = vec![0.0; (bounds.len() + 2) * methods];
        Counts { bounds, cells }
    }

    pub fn observe(&mut self, method: usize, seconds: f64) {
        let width = self.bounds.len() + 2;
        let Some(cells) = self.cells.chunks_mut(width).nth(method) else {
            return;
        };
        let bucket = self.bounds.iter().take_while(|bound| seconds > **bound);
        let bucket = bucket.count();
        if let Some(count) = cells.get_mut(bucket) {
            *count += 1.0;
        }
        if let Some(sum) = cells.last_mut() {
            *sum += seconds;
        }
    }

    /// What was counted since the last call, method by method.
    pub fn take(&mut self) -> Vec<f64> {
        let fresh = vec![0.0; self.cells.len()];
        std::mem::replace(&mut self.cells, fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_by_method_and_bucket() {
        let mut counts = Counts::new(vec![0.5, 1.0], 2);
        counts.observe(1, 0.5);
        counts.observe(1, 0.75);
        counts.observe(1, 3.0);
        counts.observe(9, 1.0);
        let expected = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 4.25];
        assert_eq!(counts.take(), expected);
        assert_eq!(counts.take(), [0.0; 8]);
    }
}
