//! What crosses files: a random life of a queue, and what must hold of it.

mod life;
mod replicas;
mod rules;
