//! Every JSON document fits its schema in the book, and every field is named there.

use crate::folder::Folder;
use crate::support::history;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

fn folder_of_schemas() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs/src/schemas"].iter().collect()
}

fn schema(format: &str) -> Value {
    let path = folder_of_schemas().join(format!("{format}.json"));
    serde_json::from_str(
        &std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    )
    .unwrap()
}

/// A validator for the JSON Schema 2020-12 keywords that these schemas use. Other keywords are an
/// error. It is stricter than the standard: fields that the schema does not name are an error,
/// unless `additionalProperties` allows them.
struct Checker<'a> {
    root: &'a Value,
}

const WORDS: [&str; 19] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "examples",
];

impl Checker<'_> {
    fn check(&self, value: &Value, schema: &Value, at: &str) -> Result<(), String> {
        let rules = schema.as_object().ok_or_else(|| format!("{at}: the schema is no object"))?;
        if let Some(word) = rules.keys().find(|word| !WORDS.contains(&word.as_str())) {
            return Err(format!("{at}: this test does not know `{word}`"));
        }
        if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(name.trim_start_matches('#'));
            self.check(value, target.ok_or_else(|| format!("{at}: there is no {name}"))?, at)?;
        }
        if let Some(ways) = rules.get("anyOf").and_then(Value::as_array) {
            let wrong: Vec<String> = ways.iter().filter_map(|way| self.check(value, way, at).err()).collect();
            if wrong.len() == ways.len() {
                return Err(format!("{at}: none fits: {}", wrong.join(" | ")));
            }
        }
        if rules.get("const").is_some_and(|only| only != value) {
            return Err(format!("{at}: {value} is not {}", rules["const"]));
        }
        if rules.get("enum").and_then(Value::as_array).is_some_and(|all| !all.contains(value)) {
            return Err(format!("{at}: {value} is none of {}", rules["enum"]));
        }
        if let Some(types) = rules.get("type") {
            let types: Vec<&str> = match types {
                Value::String(one) => vec![one],
                other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
            };
            let is = |name: &&str| match *name {
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_u64() || value.is_i64(),
                "number" => value.is_number(),
                "string" => value.is_string(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => false,
            };
            if !types.iter().any(is) {
                return Err(format!("{at}: {value} is not of type {types:?}"));
            }
        }
        if let Some(number) = value.as_f64() {
            let bound = |word: &str| rules.get(word).and_then(Value::as_f64);
            if bound("minimum").is_some_and(|least| number < least)
                || bound("maximum").is_some_and(|most| number > most)
            {
                return Err(format!("{at}: {number} is out of bounds"));
            }
        }
        if let Some(list) = value.as_array() {
            let length = |word: &str| rules.get(word).and_then(Value::as_u64);
            if length("minItems").is_some_and(|least| (list.len() as u64) < least)
                || length("maxItems").is_some_and(|most| (list.len() as u64) > most)
            {
                return Err(format!("{at}: {} items", list.len()));
            }
            if let Some(each) = rules.get("items") {
                for (index, item) in list.iter().enumerate() {
                    self.check(item, each, &format!("{at}[{index}]"))?;
                }
            }
        }
        if let (Some(fields), true) = (value.as_object(), rules.contains_key("type")) {
            let known = rules.get("properties").and_then(Value::as_object);
            for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
                let name = name.as_str().ok_or_else(|| format!("{at}: required"))?;
                if !fields.contains_key(name) {
                    return Err(format!("{at}: there is no `{name}`"));
                }
            }
            for (name, field) in fields {
                let below = format!("{at}.{name}");
                match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
                    (None, Some(Value::Bool(true))) => {}
                    (Some(rule), _) | (None, Some(rule @ Value::Object(_))) => {
                        self.check(field, rule, &below)?;
                    }
                    (None, _) => return Err(format!("{below}: the schema does not know it")),
                }
            }
        }
        Ok(())
    }
}

fn checked(text: &str) -> Result<String, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
    let format = document["format"].as_str().ok_or("no format")?.to_owned();
    let schema = schema(&format);
    Checker { root: &schema }.check(&document, &schema, &format)?;
    Ok(format)
}

#[test]
fn every_document_is_what_its_schema_says() {
    let folder = Folder::new("schemas");
    folder.write("history.csv", &history(400));
    folder.write("blind.csv", &history(80).replace(",verdict", ",other"));
    folder.write("gaps.csv", "id,a,b,verdict\np1,,,1\np2,1,,0\np3,2,,\n");
    folder.write("verdicts.csv", "id,found\np1,1\np2,0\np999,1\n");
    folder.write("log.csv", &log());
    folder.write("nothing.csv", "id,a,b\n");
    let base = "--id id --reward verdict -q --json";
    let commands = [
        "rank history.csv -k 3 --id id --reward verdict --explain -q --json",
        "rank gaps.csv -k 3 --id id --reward verdict --weights a=1 -q --json",
        "pick history.csv -k 4 --id id --ignore verdict --state desk.json -q --json",
        "pick history.csv -k 4 --id id --ignore verdict --state draws.json --policy exp4p -q --json",
        "pick nothing.csv -k 4 --id id --state desk.json -q --json",
        "pick history.csv -k 4 --id id --ignore verdict --state desk.json -q --out picks.csv --json",
        "learn --picks picks.csv --verdicts verdicts.csv --id id --reward found --state desk.json -q --json",
        &format!("learn history.csv --state model.json {base}"),
        &format!("learn history.csv --state model.json {base}"),
        &format!("learn history.csv --state esag.json --policy esag {base}"),
        "merge model.json model.json --again -o sum.json --json",
        "policies --json",
        "policies adaptive --json",
        &format!("report history.csv {base}"),
        &format!("report history.csv --state model.json {base}"),
        &format!("report gaps.csv {base}"),
        "report blind.csv --id id --ignore other -q --json",
        &format!("replay history.csv --pool -k 2 --budget 30 --runs 2 --policies adaptive,average {base}"),
        &format!("replay history.csv --folds 4 -k 2 --runs 2 --policies average {base}"),
        &format!("replay history.csv --reuse -k 2 --rounds 5 --runs 2 --policies average {base}"),
        "replay log.csv --reward verdict --probability p --round round -k 1 --policies average,eps-greedy -q --json",
        "report log.csv --reward verdict --probability p --round round -q --json",
        "prevalence log.csv --reward verdict --probability p --by round --evaluators a,b -q --json",
        "prevalence log.csv --reward verdict --probability p --prediction a -q --json",
        "rank history.csv --min-reward 0.5 --id id --state model.json --reward verdict -q --json",
        "simulate --runs 2 --rounds 20 --policies esag,uniform --json -q",
        "reproduce theorem3 --out paper --quick --runs 2 --rounds 100 --json -q",
        "demo --out demo.html --json -q",
        "queue add desk history.csv --id id --ignore verdict --show verdict --json -q",
        "queue claim desk --reviewer ann -k 3 --json -q",
        "queue claim desk --reviewer ann --held --json -q",
        "queue verdict desk verdicts.csv --id id --reward-column found --reviewer bob --json -q",
        "queue status desk --json -q",
        "queue report desk --json -q",
        "server verify desk --json -q",
        "server rebuild desk --json -q",
        "server key add ann --role review --data desk --json -q",
        "server key list --data desk --json -q",
    ];
    folder.ok("queue init desk --evaluators good,copy,bad,noise -q");
    let mut seen = BTreeSet::new();
    for command in commands {
        // A command that refuses part of its input also prints a document.
        let output = folder.output_of(command.split(' '));
        match checked(&String::from_utf8_lossy(&output.stdout)) {
            Ok(format) => seen.insert(format),
            Err(wrong) => panic!("jurybox {command}: {wrong}\n{}", String::from_utf8_lossy(&output.stderr)),
        };
    }
    let described: BTreeSet<String> = std::fs::read_dir(folder_of_schemas())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, described, "documents and schemas differ");
}

/// A log of sixty rounds of four rows. In each round one row, in turn, has a verdict. Every row has
/// the probability 0.25.
fn log() -> String {
    let mut text = String::from("round,a,b,verdict,p\n");
    for round in 0..60 {
        for item in 0..4 {
            let (a, b) = ((round * 7 + item * 3) % 10, (round * 3 + item * 7) % 11);
            let verdict = if item == round % 4 { u8::from(a > 4).to_string() } else { String::new() };
            let _ = writeln!(text, "{round},{a},{b},{verdict},0.25");
        }
    }
    text
}

/// The validator accepts a good document, and rejects six bad ones.
#[test]
fn a_document_that_does_not_fit_its_schema_is_rejected() {
    let good = r#"{"format":"jurybox-reproduce","version":2,"claims":[{"id":"a","paper":"b","measured":"c","finding":"reproduced","note":""}]}"#;
    assert_eq!(checked(good).as_deref(), Ok("jurybox-reproduce"));
    for (from, to) in [
        (r#""version":2"#, r#""version":3"#),
        (r#""id":"a","#, ""),
        (r#""id":"a""#, r#""id":7"#),
        (r#""note":"""#, r#""note":"","surprise":1"#),
        ("reproduced\"", "maybe\""),
        ("\"claims\":[", "\"claims\":[null,"),
    ] {
        let bad = good.replace(from, to);
        assert!(bad != good && checked(&bad).is_err(), "{bad}");
    }
}
