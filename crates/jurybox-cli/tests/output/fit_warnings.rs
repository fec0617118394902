//! Alarms and diagnostics in JSON documents, also with `--quiet`.

use crate::folder::Folder;
use serde_json::Value;
use std::fmt::Write;

/// Rounds 0 to 39, of twenty items each. From round 20 on, `c` gives all items the same score. The
/// first item of each round has the verdict 0.
fn stuck() -> String {
    let mut text = String::from("round,id,a,b,c,d,verdict\n");
    let mut chance = 1_u64;
    let mut draw = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 40) as f64 / f64::from(1 << 24)
    };
    for round in 0..40 {
        for item in 0..20 {
            let truth = draw();
            let [a, b, c, d] = [0.3, 0.4, 0.5, 0.6].map(|noise| truth + noise * draw());
            let c = if round < 20 { c } else { 0.5 };
            let verdict = if item == 0 { "0" } else { "" };
            let _ = writeln!(text, "{round},p{round}-{item},{a:.4},{b:.4},{c:.4},{d:.4},{verdict}");
        }
    }
    text
}

#[test]
fn documents_have_alarms_and_diagnostics_with_quiet() {
    let folder = Folder::new("concerns");
    folder.write("stuck.csv", &stuck());
    folder.write("next.csv", "round,id,a,b,c,d,verdict\n99,n1,0.1,0.2,0.5,0.4,0\n99,n2,0.8,0.9,0.5,0.7,0\n");
    for command in [
        "learn stuck.csv --round round --id id --reward verdict --state state.json",
        "rank next.csv --ignore round,id,verdict --state state.json -k 1",
        "pick next.csv --ignore round,verdict --id id --state state.json -k 1 --no-observe",
        "report next.csv --ignore round --id id --reward verdict --state state.json",
        "merge state.json -o merged.json",
    ] {
        let output = folder.run(&format!("{command} -q --json"));
        assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let alarm = &document["alarms"][0];
        assert_eq!(
            (&alarm["evaluator"], &alarm["statistic"]),
            (&"c".into(), &"varying".into()),
            "{command}: {document}"
        );
        assert!(alarm["message"].as_str().unwrap().starts_with("`c` is "), "{command}: {alarm}");
        // The 20 rewards from before the change are forgotten.
        let diagnostic = document["diagnostics"][0].as_str().unwrap();
        assert!(diagnostic.starts_with("all 20 rewards so far are 0: "), "{command}: {diagnostic}");
    }
}
