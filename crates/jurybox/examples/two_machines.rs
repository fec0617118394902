//! Two machines learn one half of a log each. Merged, their juries equal one that saw the whole
//! log.
//!
//! `cargo run --release -p jurybox --example two_machines`
#![expect(clippy::print_stdout, reason = "an example talks")]

use jurybox::{Error, Evaluators, Example, Jury};

fn main() -> Result<(), Error> {
    let blank = Jury::new(&"adaptive(forget=true)".parse()?, Evaluators::new(["a", "b"])?)?;

    // A log of rounds. Each round has its number, so that the order of learning does not matter.
    let log: Vec<(u64, Vec<f64>)> = (0..60)
        .map(|round| (round, (0..24).map(|i| f64::from((i * 5 + round as i32 * 11) % 17)).collect()))
        .collect();
    let taught = |mine: &dyn Fn(u64) -> bool| -> Result<Jury, Error> {
        let mut jury = blank.clone();
        for (round, table) in log.iter().filter(|(round, _)| mine(*round)) {
            let scores = jury.scores(table)?;
            jury.observe(&scores, *round)?;
            for row in scores.rows().take(3) {
                jury.learn(&[Example { scores: row, reward: row[0] - 0.2 * row[1], receipt: None }], *round)?;
            }
        }
        Ok(jury)
    };

    // States are exchanged as bytes.
    let (even, odd) =
        (taught(&|round| round % 2 == 0)?.to_bytes(), taught(&|round| round % 2 == 1)?.to_bytes());
    let mut merged = Jury::from_bytes(&even)?;
    merged.merge(&Jury::from_bytes(&odd)?)?;

    let whole = taught(&|_| true)?;
    for (name, (merged, whole)) in whole
        .evaluators()
        .names()
        .zip(merged.fit().weights().unwrap_or_default().iter().zip(whole.fit().weights().unwrap_or_default()))
    {
        println!("{name}: {merged:.6} merged, {whole:.6} in one go");
        assert!((merged - whole).abs() < 1e-9 * whole.abs().max(1.0));
    }
    Ok(())
}
