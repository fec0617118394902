//! What crosses files: a random life of a queue, and what must hold of it.

mod again;
mod apart;
mod away;
mod begins;
mod drills;
mod export;
mod fair;
mod home;
mod hooks;
mod keep;
mod late;
mod lies;
mod life;
mod newcomers;
mod nodes;
mod proxy;
mod races;
mod reads;
mod replicas;
mod rules;
mod same;
mod scale;
mod served;
mod shares;
mod together;
mod work;
