//! Ridge regression.

/// A variable of a case that is not 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variable {
    /// Which one.
    pub(super) at: usize,
    pub(super) value: f64,
}

/// What is left of a variable, of its square, when those before it are known; less is rounding.
const LEAST_PIVOT: f64 = 1e-10;

/// Sums of the normal equations of weighted least squares.
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

    /// Adds a case: its variables (each once), what was measured, and its weight.
    pub(super) fn add(&mut self, variables: &[Variable], measured: f64, weight: f64) {
        for row in variables {
            let weight = weight * row.value;
            self.right[row.at] += weight * measured;
            let cells = &mut self.matrix[row.at * self.size..][..self.size];
            let columns = variables.iter().filter(|column| column.at <= row.at);
            columns.for_each(|column| cells[column.at] += weight * column.value);
        }
    }

    /// The coefficients, by Cholesky's decomposition: the penalty makes the matrix positive
    /// definite. Not finite if there is none and the cases do not suffice.
    pub(super) fn solve(mut self) -> Vec<f64> {
        let (size, matrix) = (self.size, &mut self.matrix);
        for row in 0..size {
            for column in 0..=row {
                let product: f64 = (0..column)
                    .map(|at| matrix[row * size + at] * matrix[column * size + at])
                    .sum();
                let whole = matrix[row * size + column];
                let mut rest = whole - product;
                if row == column && rest <= LEAST_PIVOT * whole {
                    rest = f64::NAN;
                }
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
                (prop::collection::btree_map(0_usize..6, -2.0..2.0, 0..5), -20.0..20.0, 0.01..5.0),
                0..40,
            ),
            penalty in 0.01..2.0,
        ) {
            let variable = |(at, value)| Variable { at, value };
            let cases: Vec<(Vec<Variable>, f64, f64)> = cases
                .into_iter()
                .map(|(of, measured, weight)| {
                    (of.into_iter().map(variable).collect(), measured, weight)
                })
                .collect();
            let mut ridge = Ridge::new(6, penalty);
            cases.iter().for_each(|(of, measured, weight)| ridge.add(of, *measured, *weight));
            let solution = ridge.solve();
            for (at, coefficient) in solution.iter().enumerate() {
                let slope: f64 = cases
                    .iter()
                    .map(|(of, measured, weight)| {
                        let guess: f64 = of.iter().map(|it| it.value * solution[it.at]).sum();
                        let own: f64 = of.iter().filter(|it| it.at == at).map(|it| it.value).sum();
                        own * weight * (measured - guess)
                    })
                    .sum();
                prop_assert!((slope - penalty * coefficient).abs() < 1e-8, "{solution:?}");
            }
        }
    }
}
