//! Mutation of valid files: parts are cut, doubled or replaced, and bytes and words are changed.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

pub(crate) struct Mutator<'a> {
    rng: ChaCha8Rng,
    corpus: &'a [Vec<u8>],
    /// Words with a meaning in the target's format.
    words: &'a [&'a str],
}

impl<'a> Mutator<'a> {
    pub(crate) fn new(rng: ChaCha8Rng, corpus: &'a [Vec<u8>], words: &'a [&'a str]) -> Self {
        Mutator { rng, corpus, words }
    }

    /// A file of the corpus after one to eight mutations. With so few, most of the file stays
    /// valid.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut case = self.corpus[self.rng.random_range(0..self.corpus.len())].clone();
        for _ in 0..self.rng.random_range(1..=8) {
            self.mutate(&mut case);
        }
        case
    }

    /// A random range of a text of this length, usually one of eight bytes or less.
    fn stretch(&mut self, length: usize) -> (usize, usize) {
        let from = self.rng.random_range(0..=length);
        let most = if self.rng.random_bool(0.7) { 8 } else { length };
        (from, (from + self.rng.random_range(0..=most)).min(length))
    }

    fn mutate(&mut self, case: &mut Vec<u8>) {
        let (from, to) = self.stretch(case.len());
        match self.rng.random_range(0..8) {
            0 => {
                case.drain(from..to);
            }
            1 => {
                let doubled = case[from..to].to_vec();
                case.splice(to..to, doubled);
            }
            2 => {
                let other = &self.corpus[self.rng.random_range(0..self.corpus.len())];
                let (begin, end) = self.stretch(other.len());
                case.splice(from..to, other[begin..end].iter().copied());
            }
            3 if !case.is_empty() => {
                let at = self.rng.random_range(0..case.len());
                case[at] ^= 1 << self.rng.random_range(0..8);
            }
            4 if !case.is_empty() => {
                let at = self.rng.random_range(0..case.len());
                case[at] = self.rng.random();
            }
            5 => case.truncate(to),
            6 => {
                let digits = self.rng.random::<i64>().to_string();
                case.splice(from..from, digits.into_bytes());
            }
            _ => {
                let word = self.words[self.rng.random_range(0..self.words.len())];
                case.splice(from..to, word.bytes());
            }
        }
    }
}
