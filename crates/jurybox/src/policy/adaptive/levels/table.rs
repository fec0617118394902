//! Rows to fit a line to, laid out so that sums over them are quick: column by column, four rows
//! side by side.

use crate::matrix::Symmetric;

/// So many rows lie side by side, number by number.
pub(super) const LANES: usize = 4;
pub(super) type Lanes = [f64; LANES];
/// So many fours of rows, times what they weigh, stay in the cache.
const STRETCH: usize = 64;
type Column = [Lanes; STRETCH];

/// Rows of `order` numbers each: a one, the features, and zeros where there are fewer. Each has a
/// count.
#[derive(Debug, Clone)]
pub(super) struct Table {
    order: usize,
    /// Behind so many columns are zeros alone.
    used: usize,
    len: usize,
    /// The columns of the first stretch of rows, then those of the next. Behind the last row are
    /// zeros, of which none counts.
    columns: Vec<Column>,
    counts: Vec<Lanes>,
}

impl Table {
    pub(super) fn new(order: usize) -> Self {
        Table { order, used: 0, len: 0, columns: Vec::new(), counts: Vec::new() }
    }

    pub(super) fn add(&mut self, row: &[f64], count: f64) {
        let (four, lane) = (self.len / LANES, self.len % LANES);
        if lane == 0 {
            if four.is_multiple_of(STRETCH) {
                self.columns.resize(self.columns.len() + self.order, [[0.0; LANES]; STRETCH]);
            }
            self.counts.push([0.0; LANES]);
        }
        let stretch = &mut self.columns[four / STRETCH * self.order..];
        stretch.iter_mut().zip(row).for_each(|(column, x)| column[four % STRETCH][lane] = *x);
        self.counts[four][lane] = count;
        self.len += 1;
        self.used = self.used.max(row.iter().rposition(|x| *x != 0.0).map_or(0, |last| last + 1));
    }

    pub(super) fn order(&self) -> usize {
        self.order
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = f64> {
        self.counts.as_flattened()[..self.len].iter().copied()
    }

    /// What the rows of the rarer answer count for.
    pub(super) fn rarer(&self, yes: &[bool]) -> f64 {
        let labels: f64 = self.counts().sum();
        let yeses: f64 = self.counts().zip(yes).filter(|(_, yes)| **yes).map(|(count, _)| count).sum();
        yeses.min(labels - yeses)
    }

    /// The first rows, a multiple of four.
    pub(super) fn first(&self, rows: usize) -> Table {
        let fours = rows / LANES;
        Table {
            order: self.order,
            used: self.used,
            len: fours * LANES,
            columns: self.columns[..fours.div_ceil(STRETCH) * self.order].to_vec(),
            counts: self.counts[..fours].to_vec(),
        }
    }

    /// Each stretch of rows.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let columns = self.columns.chunks_exact(self.order.max(1)).map(|columns| &columns[..self.used]);
        columns.zip(self.counts.chunks(STRETCH)).map(|(columns, counts)| Stretch { columns, counts })
    }
}

/// Some of the rows, so many that what is made of them stays in the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'a> {
    columns: &'a [Column],
    pub(super) counts: &'a [Lanes],
}

impl Stretch<'_> {
    /// How many rows it has at most.
    pub(super) const ROWS: usize = STRETCH * LANES;

    /// Each row times the weights.
    pub(super) fn times(&self, weights: &[f64], into: &mut Vec<Lanes>) {
        into.clear();
        into.resize(self.counts.len(), [0.0; LANES]);
        for (column, weight) in self.columns.iter().zip(weights) {
            let each = into.as_flattened_mut().iter_mut().zip(column.as_flattened());
            each.for_each(|(sum, x)| *sum += x * weight);
        }
    }

    /// Adds up the rows, each times a number, lane by lane.
    pub(super) fn add_rows(&self, times: &[Lanes], into: &mut [Lanes]) {
        for (sum, column) in into.iter_mut().zip(self.columns) {
            column.iter().zip(times).for_each(|(x, times)| add_product(sum, times, x));
        }
    }

    /// Adds the products of all pairs of numbers of each row, the row times a number, two by two of
    /// them at a time: so many running sums stay in registers.
    pub(super) fn add_products(&self, times: &[Lanes], scaled: &mut Vec<Column>, into: &mut Symmetric) {
        scaled.resize(self.columns.len(), [[0.0; LANES]; STRETCH]);
        for (scaled, column) in scaled.iter_mut().zip(self.columns) {
            let each = scaled.as_flattened_mut().iter_mut().zip(times.as_flattened());
            each.zip(column.as_flattened()).for_each(|((scaled, times), x)| *scaled = times * x);
        }
        let (fours, used) = (times.len().min(STRETCH), scaled.len());
        let mut add = |i: usize, j: usize, sum: &Lanes| into.set(i, j, into.get(i, j) + total(sum));
        let (pairs, odd) = scaled.as_chunks::<2>();
        for (i, below) in pairs.iter().enumerate() {
            for (j, right) in pairs[..=i].iter().enumerate() {
                let sums = products(below, right, fours);
                add(2 * i, 2 * j, &sums[0][0]);
                add(2 * i + 1, 2 * j, &sums[1][0]);
                add(2 * i + 1, 2 * j + 1, &sums[1][1]);
                if j < i {
                    add(2 * i, 2 * j + 1, &sums[0][1]);
                }
            }
        }
        if let [odd] = odd {
            for (j, right) in pairs.iter().enumerate() {
                let [[first, second]] = products(std::array::from_ref(odd), right, fours);
                add(used - 1, 2 * j, &first);
                add(used - 1, 2 * j + 1, &second);
            }
            let [[square]] = products(std::array::from_ref(odd), std::array::from_ref(odd), fours);
            add(used - 1, used - 1, &square);
        }
    }
}

/// The products of some columns with others, over so many fours of rows. By itself: where the
/// compiler sees what becomes of the lanes, it takes those of several sums together, and spends as
/// long on bringing them together.
#[inline(never)]
fn products<const A: usize, const B: usize>(
    a: &[Column; A],
    b: &[Column; B],
    fours: usize,
) -> [[Lanes; B]; A] {
    let mut sums = [[[0.0; LANES]; B]; A];
    for four in 0..fours.min(STRETCH) {
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sum, b) in sums.iter_mut().zip(b) {
                add_product(sum, &a[four], &b[four]);
            }
        }
    }
    sums
}

#[inline]
fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    (0..LANES).for_each(|lane| sum[lane] += a[lane] * b[lane]);
}

/// One sum of four lanes.
pub(super) fn total(lanes: &Lanes) -> f64 {
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that sums are exact in any order: rows of a one and some features, and
    /// zeros behind them.
    #[test]
    fn sums_are_those_of_the_rows_however_they_are_laid_out() {
        for (rows, features) in [(3, 1), (10, 2), (Stretch::ROWS + 9, 4), (2 * Stretch::ROWS, 5)] {
            let order = 8;
            let number = |row: usize, column: usize| match column {
                0 => 1.0,
                _ if column <= features => ((row * 7 + column * 3) % 11) as f64 - 4.0,
                _ => 0.0,
            };
            let each: Vec<Vec<f64>> =
                (0..rows).map(|row| (0..order).map(|column| number(row, column)).collect()).collect();
            let mut table = Table::new(order);
            each.iter().for_each(|row| table.add(row, 2.0));
            let weights: Vec<f64> = (0..order).map(|column| column as f64 - 2.0).collect();
            let (mut times, mut scaled) = (Vec::new(), Vec::new());
            let (mut sums, mut products) = (vec![[0.0; LANES]; order], Symmetric::zeros(order));
            for stretch in table.stretches() {
                stretch.times(&weights, &mut times);
                stretch.add_rows(&times, &mut sums);
                stretch.add_products(&times, &mut scaled, &mut products);
            }
            let by_weights = |row: &[f64]| crate::kernel::dot(row, &weights);
            for i in 0..order {
                let sum: f64 = each.iter().map(|row| by_weights(row) * row[i]).sum();
                assert_eq!(total(&sums[i]), sum, "{rows} rows");
                for j in 0..=i {
                    let product = |row: &Vec<f64>| by_weights(row).powi(2) * row[i] * row[j];
                    assert_eq!(products.get(i, j), each.iter().map(product).sum::<f64>(), "{rows} rows");
                }
            }
            assert_eq!(table.counts().sum::<f64>(), 2.0 * rows as f64);
            assert_eq!(table.first(8.min(rows)).len(), 8.min(rows) / LANES * LANES);
        }
    }
}
