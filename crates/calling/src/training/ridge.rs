//! Ridge regression over indicators.

/// Sums of the normal equations of weighted least squares, where every variable is 0 or 1.
#[derive(Debug, Clone)]
pub(super) struct Ridge {
    size: usize,
    /// Lower triangle of a symmetric matrix, row by row, all of it stored.
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Ridge {
    /// Of `size` coefficients. Each is thought to be 0 with variance 1 / `penalty`, in units of the
    /// weights.
    pub(super) fn new(size: usize, penalty: f64) -> Self {
        let mut matrix = vec![0.0; size * size];
        matrix.iter_mut().step_by(size + 1).for_each(|diagonal| *diagonal = penalty);
        Self { size, matrix, right: vec![0.0; size] }
    }

    /// Adds a case: which variables are 1 (each once), what was measured, and its weight.
    pub(super) fn add(&mut self, ones: &[usize], measured: f64, weight: f64) {
        for &row in ones {
            self.right[row] += weight * measured;
            let cells = &mut self.matrix[row * self.size..][..self.size];
            ones.iter().filter(|&&column| column <= row).for_each(|&it| cells[it] += weight);
        }
    }

    /// The coefficients, by Cholesky's decomposition: the penalty makes the matrix positive
    /// definite.
    pub(super) fn solve(mut self) -> Vec<f64> {
        let (size, matrix) = (self.size, &mut self.matrix);
        for row in 0..size {
            for column in 0..=row {
                let product: f64 = (0..column)
                    .map(|at| matrix[row * size + at] * matrix[column * size + at])
                    .sum();
                let rest = matrix[row * size + column] - product;
                matrix[row * size + column] =
                    if row == column { rest.sqrt() } else { rest / matrix[column * size + column] };
            }
        }
        let mut solution = self.right;
        for row in 0..size {
            let done: f64 = (0..row).map(|at| matrix[row * size + at] * solution[at]).sum();
            solution[row] = (solution[row] - done) / matrix[row * size + row];
        }
        for row in (0..size).rev() {
            let done: f64 = (row + 1..size).map(|at| matrix[at * size + row] * solution[at]).sum();
            solution[row] = (solution[row] - done) / matrix[row * size + row];
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Where the sum of squares and penalties is least, its slope is 0 in every coefficient.
        #[test]
        fn the_solution_is_the_least(
            cases in prop::collection::vec(
                (prop::collection::btree_set(0_usize..6, 0..5), -20.0..20.0, 0.01..5.0),
                0..40,
            ),
            penalty in 0.01..2.0,
        ) {
            let cases: Vec<(Vec<usize>, f64, f64)> = cases
                .into_iter()
                .map(|(ones, measured, weight)| (ones.into_iter().collect(), measured, weight))
                .collect();
            let mut ridge = Ridge::new(6, penalty);
            cases.iter().for_each(|(ones, measured, weight)| ridge.add(ones, *measured, *weight));
            let solution = ridge.solve();
            for (at, coefficient) in solution.iter().enumerate() {
                let slope: f64 = cases
                    .iter()
                    .filter(|(ones, ..)| ones.contains(&at))
                    .map(|(ones, measured, weight)| {
                        let guess: f64 = ones.iter().map(|&one| solution[one]).sum();
                        weight * (measured - guess)
                    })
                    .sum();
                prop_assert!((slope - penalty * coefficient).abs() < 1e-8, "{solution:?}");
            }
        }
    }
}
