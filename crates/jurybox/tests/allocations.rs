//! Counts memory allocations: after some rounds, policies other than `adaptive` play and learn
//! rounds with complete scores without allocating.

mod support;

use jurybox::Example;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::*;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// A global allocator that counts allocations and passes every call on to the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Fits of `adaptive` and estimates of the evaluators' noise allocate. So `adaptive` is left out,
/// and policies that would estimate the noise are given it.
#[test]
fn a_steady_state_allocates_nothing() {
    const J: usize = 4;
    for spec in specs(J).into_iter().filter(|spec| spec.name() != "adaptive") {
        let estimates = ["esag", "greedy", "eval-ucb"].iter().any(|part| spec.name().contains(part));
        let spec = if estimates { spec.with("sigma", 0.4) } else { spec };
        let mut jury = jury_of(&spec, J);
        let mut world = World::new(1, J, 0.0);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut picks = Vec::new();
        // 50 rounds are repeated, so that nothing new has to be stored.
        let rounds: Vec<_> = (0..50).map(|_| world.round(20)).collect();
        let mut play = |times: usize| {
            for ((rewards, table), at) in std::iter::repeat_n(&rounds, times).flatten().zip(0..) {
                let scores = jury.scores(table).unwrap();
                jury.round_into(&scores, at, 5, &mut rng, &mut picks).unwrap();
                for pick in &picks {
                    let reward = rewards[pick.item];
                    let example =
                        Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) };
                    jury.learn(&[example], at).unwrap();
                }
            }
        };
        play(40);
        let before = ALLOCATIONS.with(Cell::get);
        play(4);
        let taken = ALLOCATIONS.with(Cell::get) - before;
        assert_eq!(taken, 0, "{spec}: {taken} allocations in 200 rounds");
    }
}
