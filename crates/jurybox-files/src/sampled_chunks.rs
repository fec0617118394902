//! Scores observed in sampled chunks of a table, and a test whether the chunks are alike.

use crate::error::Error;
use crate::survey::CHUNK_ROWS;
use crate::teach::PerFileJury;
use jurybox::Jury;

/// The chunks that were sampled, in row order.
pub(crate) struct SampledChunks {
    blank: Jury,
    list: Vec<SampledChunk>,
}

/// The part of a sampled chunk that lies in one file.
struct SampledChunk {
    file: usize,
    /// Its first row, counted over all files.
    row: u64,
    learnt: Jury,
    measured: ScoreMoments,
}

/// Row count, and per evaluator the number of scores, their mean, and the sum of their squared
/// deviations from it.
#[derive(Clone)]
pub(crate) struct ScoreMoments {
    rows: u64,
    scores: Vec<[f64; 3]>,
}

/// Limit of three standard errors of an evaluator over the chunks: of its mean score, of its
/// standard deviation, and of its share of present scores. The first two are measured in standard
/// deviations of its scores.
const MOST_OFF: f64 = 0.02;

impl SampledChunks {
    /// An empty sample for a jury.
    pub(crate) fn new(jury: &Jury) -> Result<SampledChunks, Error> {
        Ok(SampledChunks { blank: Jury::new(jury.spec(), jury.evaluators().clone())?, list: Vec::new() })
    }

    /// A jury of the same policy and evaluators that has learnt nothing.
    pub(crate) fn blank(&self) -> &Jury {
        &self.blank
    }

    /// The moments of row-major scores with `width` evaluators, by Welford's algorithm.
    pub(crate) fn measure(scores: &[f64], width: usize) -> ScoreMoments {
        let mut measured =
            ScoreMoments { rows: (scores.len() / width) as u64, scores: vec![[0.0; 3]; width] };
        for row in scores.chunks_exact(width) {
            for ([count, mean, square], &x) in
                measured.scores.iter_mut().zip(row).filter(|(_, x)| !x.is_nan())
            {
                *count += 1.0;
                let off = x - *mean;
                *mean += off / *count;
                *square += off * (x - *mean);
            }
        }
        measured
    }

    /// Adds rows that start at `row`, counted over all files. Calls must be in row order.
    pub(crate) fn add(
        &mut self,
        file: usize,
        row: u64,
        learnt: Jury,
        measured: ScoreMoments,
    ) -> Result<(), Error> {
        match self
            .list
            .last_mut()
            .filter(|chunk| chunk.file == file && chunk.row / CHUNK_ROWS == row / CHUNK_ROWS)
        {
            Some(chunk) => {
                chunk.measured.merge(&measured);
                chunk.learnt.merge_same_round(&learnt)?;
            }
            None => self.list.push(SampledChunk { file, row, learnt, measured }),
        }
        Ok(())
    }

    /// Drops the chunks whose first row is not wanted.
    pub(crate) fn keep(&mut self, wanted: impl Fn(u64) -> bool) {
        self.list.retain(|chunk| wanted(chunk.row));
    }

    /// The number of chunks; a chunk that spans two files counts once.
    pub(crate) fn len(&self) -> usize {
        self.list.chunk_by(SampledChunk::is_of).count()
    }

    /// The number of rows in all chunks.
    pub(crate) fn rows(&self) -> u64 {
        self.list.iter().map(|chunk| chunk.measured.rows).sum()
    }

    /// Whether the chunks vary so little that a sample of them represents the table.
    ///
    /// For each evaluator, the standard errors of its mean score, of its variance, and of its share
    /// of present scores must be small.
    pub(crate) fn are_alike(&self) -> bool {
        let width = self.blank.evaluators().len();
        (0..width).all(|evaluator| {
            let mut all = [0.0; 3];
            let (mut means, mut shares, mut spreads) = (Vec::new(), Vec::new(), Vec::new());
            for pieces in self.list.chunk_by(SampledChunk::is_of) {
                let (mut here, mut rows) = ([0.0; 3], 0);
                for SampledChunk { measured, .. } in pieces {
                    merge(&mut here, measured.scores[evaluator]);
                    rows += measured.rows;
                }
                merge(&mut all, here);
                // The table may end early in the last chunk; so few rows would vary by chance.
                if 2 * rows < CHUNK_ROWS {
                    continue;
                }
                shares.push(here[0] / rows as f64);
                means.extend((here[0] > 0.0).then_some(here[1]));
                spreads.extend((here[0] > 1.0).then(|| here[2] / (here[0] - 1.0)));
            }
            let variance = all[2] / (all[0] - 1.0).max(1.0);
            // An evaluator without variance in the sample may have it elsewhere. If its variance
            // depends on a few rows (a rare flag, a heavy tail), a full pass is needed.
            variance > 0.0
                && error_of_mean(&shares) <= MOST_OFF
                && error_of_mean(&means) <= MOST_OFF * variance.sqrt()
                && error_of_mean(&spreads) <= 2.0 * MOST_OFF * variance
        })
    }

    /// Merges the sample into the jury, each file as one round.
    pub(crate) fn merge_into(self, jury: &mut Jury) -> Result<(), Error> {
        let mut files = PerFileJury::new(jury)?;
        for chunk in &self.list {
            files.take(chunk.file, &chunk.learnt)?;
        }
        *jury = files.finish()?;
        Ok(())
    }
}

impl SampledChunk {
    /// Whether two pieces belong to one chunk, which may continue in the next file.
    fn is_of(&self, other: &SampledChunk) -> bool {
        self.row / CHUNK_ROWS == other.row / CHUNK_ROWS
    }
}

impl ScoreMoments {
    fn merge(&mut self, other: &ScoreMoments) {
        self.rows += other.rows;
        self.scores.iter_mut().zip(&other.scores).for_each(|(mine, &theirs)| merge(mine, theirs));
    }
}

/// Combines counts, means and squared deviations of two parts (the parallel algorithm of Chan,
/// Golub and LeVeque, 1979).
fn merge([count, mean, square]: &mut [f64; 3], [more, their_mean, their_square]: [f64; 3]) {
    if more > 0.0 {
        let (before, off) = (*count, their_mean - *mean);
        *count += more;
        *mean += off * more / *count;
        *square += their_square + off * off * before * more / *count;
    }
}

/// The standard error of the mean; 0 for fewer than two values.
fn error_of_mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() > 1 { (square / (count - 1.0) / count).sqrt() } else { 0.0 }
}
