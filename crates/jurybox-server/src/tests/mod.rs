//! What crosses files: a random life of a queue, and what must hold of it.

mod drills;
mod keep;
mod lies;
mod life;
mod nodes;
mod replicas;
mod rules;
mod served;
