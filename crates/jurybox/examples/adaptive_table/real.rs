//! Real scores with a known truth, from a directory of CSV files; what is not there is skipped.

use std::path::Path;

pub(crate) struct Data {
    pub name: String,
    pub columns: usize,
    pub scores: Vec<f64>,
    pub rewards: Vec<f64>,
}

const METRICS: &[&str] = &[
    "SacreBLEU_bleu",
    "SacreBLEU_chrf",
    "SacreBLEU_ter_neg",
    "CharacTER_neg",
    "BERT_SCORE",
    "Prism_ref",
    "Prism_src",
    "BLEURT_default",
    "BLEURT_large",
    "COMET",
    "COMET_src",
    "ESIM_",
];
const PAIRS: &[&str] = &[
    "ENU-IND", "ENU-ITA", "ENU-DEU", "ARA-ENU", "DEU-ENU", "ENU-ESN", "RUS-ENU", "ENU-CSY", "ESN-ENU",
    "DAN-ENU", "ENU-DAN", "ENU-SVE",
];

/// Every set in the directory, and the reason for each that cannot be read.
pub(crate) fn sets(directory: &Path) -> (Vec<Data>, Vec<String>) {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for (file, columns, reward) in [
        (
            "content-review",
            &[
                "vader_neg",
                "vader_negcompound",
                "afinn_neg",
                "profanity_prob",
                "sonar_hate",
                "sonar_offensive",
                "cuss_max",
            ][..],
            "offensiveness_score",
        ),
        (
            "precipitation",
            &["avn/gfs", "cent", "cmcg", "eta", "gasp", "jma", "ngps", "tcwb", "ukmo"],
            "observations",
        ),
        ("temperature", &["CMCG", "ETA", "GASP", "GFS", "JMA", "NGPS", "TCWB", "UKMO"], "observation"),
    ] {
        match read(directory, file).and_then(|text| table(&text, file, columns, reward, None)) {
            Ok(data) => found.push(data),
            Err(reason) => skipped.push(format!("{file}: {reason}")),
        }
    }
    match read(directory, "translation-quality") {
        Err(reason) => skipped.push(format!("translation-quality: {reason}")),
        Ok(text) => {
            for pair in PAIRS.iter().map(|pair| Some(*pair)).chain([None]) {
                let name = pair.unwrap_or("all pairs");
                match table(&text, name, METRICS, "score_mean", pair) {
                    Err(reason) => skipped.push(format!("translation-quality, {name}: {reason}")),
                    Ok(best) => {
                        found.push(Data {
                            name: format!("{name}, worst first"),
                            columns: best.columns,
                            scores: best.scores.iter().map(|x| -x).collect(),
                            rewards: best.rewards.iter().map(|r| 100.0 - r).collect(),
                        });
                        found.push(Data { name: format!("{name}, best first"), ..best });
                    }
                }
            }
        }
    }
    (found, skipped)
}

/// The text of `name.csv`, or of `name.csv.gz` through the gzip command.
fn read(directory: &Path, name: &str) -> Result<String, String> {
    let plain = directory.join(format!("{name}.csv"));
    if plain.exists() {
        return std::fs::read_to_string(plain).map_err(|e| e.to_string());
    }
    let packed = directory.join(format!("{name}.csv.gz"));
    if !packed.exists() {
        return Err("not in that directory".into());
    }
    let output =
        std::process::Command::new("gzip").arg("-dc").arg(packed).output().map_err(|e| e.to_string())?;
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

fn table(text: &str, name: &str, columns: &[&str], reward: &str, pair: Option<&str>) -> Result<Data, String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().ok_or("empty")?.split(',').collect();
    let find = |column: &str| header.iter().position(|h| *h == column).ok_or(format!("no column {column}"));
    let wanted = columns.iter().map(|column| find(column)).collect::<Result<Vec<_>, _>>()?;
    let (reward, language) = (find(reward)?, if pair.is_some() { find("lp")? } else { 0 });
    let mut data = Data { name: name.into(), columns: columns.len(), scores: vec![], rewards: vec![] };
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if pair.is_some_and(|pair| cells[language] != pair) {
            continue;
        }
        let Ok(truth) = cells[reward].parse() else { continue };
        data.rewards.push(truth);
        data.scores.extend(wanted.iter().map(|&c| cells[c].parse().unwrap_or(f64::NAN)));
    }
    Ok(data)
}
