//! Tests of the export on both databases: all items that were not erased, with their verdicts.

use super::fixture::{Home, Kind, on_both};
use crate::{
    Answer, Call, Config, ConfigChange, ExportedItem, Filter, NewItem, NewVerdict, Request, Service,
    VerdictSource,
};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(everything_comes_back_page_by_page);

fn verdict(id: &str, item: &str, reviewer: &str, reward: f64) -> NewVerdict {
    NewVerdict {
        id: id.into(),
        item: item.into(),
        reviewer: reviewer.into(),
        reward,
        label: Some("word".into()),
        ..NewVerdict::default()
    }
}

fn everything_comes_back_page_by_page(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let config = Config {
        policy: "average".parse().unwrap(),
        quorum: 2,
        undo_seconds: 0,
        ..Config::new(Evaluators::new(["a", "b"]).unwrap())
    };
    let queue = service.create("q", &config).unwrap();
    let ask = |request| queue.ask(Call::new("ann", request)).unwrap();
    let item = |n: usize| NewItem {
        id: format!("p{n}"),
        scores: [("a".to_string(), Some(n as f64 / 10.0))].into(),
        payload: Some(serde_json::json!({ "n": n }).into()),
        tags: if n == 2 {
            [("language".to_string(), "en".to_string())].into()
        } else {
            std::collections::BTreeMap::default()
        },
        due: None,
    };
    ask(Request::Items((0..5).map(item).collect()));
    // An item gets another score, and one item is erased.
    ask(Request::Items(vec![NewItem {
        scores: [("b".to_string(), Some(0.5))].into(),
        payload: None,
        ..item(1)
    }]));
    ask(Request::Erase { items: vec!["p3".into()] });
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() };
    let Answer::Claims { claims, model, .. } = ask(claim) else { panic!() };
    assert_eq!(claims[0].item, "p4");
    ask(Request::Verdicts(vec![verdict("v1", "p4", "ann", 1.0), verdict("v2", "p1", "ann", 1.0)]));
    let noted = NewVerdict { note: Some("seen twice".into()), ..verdict("v3", "p4", "bob", 1.0) };
    ask(Request::Verdicts(vec![noted]));
    let rule = NewVerdict { source: VerdictSource::Automatic, ..verdict("v4", "p0", "rule", 0.5) };
    ask(Request::Verdicts(vec![rule]));
    assert_eq!(queue.tag_names().unwrap(), ["language"]);

    let (mut items, mut next): (Vec<ExportedItem>, _) = (Vec::new(), Some(0));
    while let Some(after) = next {
        let page = queue.export_page(after, 2).unwrap();
        assert_eq!(page.evaluators, ["a", "b"]);
        items.extend(page.items);
        next = page.next;
    }
    let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["p0", "p1", "p2", "p4"]);
    let [ruled, half, waiting, decided] = &items[..] else { panic!() };
    // An automatic verdict closes an item, but people have not decided its reward.
    assert_eq!(
        (ruled.reward, ruled.closed, ruled.verdicts[0].source),
        (None, true, VerdictSource::Automatic)
    );
    assert_eq!((&half.scores[..], half.reward, half.closed), (&[Some(0.1), Some(0.5)][..], None, false));
    assert_eq!((half.verdicts[0].pick, half.verdicts[0].decides), (None, false));
    assert_eq!((waiting.payload.as_deref(), waiting.tags.len()), (Some("{\"n\":2}"), 1));
    assert_eq!((decided.reward, decided.verdicts.len()), (Some(1.0), 2));
    let pick = decided.verdicts[0].pick.unwrap();
    assert_eq!((pick.token, pick.model, pick.probability), (claims[0].token, Some(model), 1.0));
    assert!(pick.claimed.unwrap() <= decided.verdicts[0].given && decided.verdicts[1].decides);
    let notes: Vec<Option<&str>> = decided.verdicts.iter().map(|verdict| verdict.note.as_deref()).collect();
    assert_eq!(notes, [None, Some("seen twice")]);
    // The second verdict was given without a claim.
    assert_eq!(decided.verdicts[1].pick, None);

    // A lower quorum decides an item by the one verdict that it has.
    ask(Request::Configure(ConfigChange { quorum: Some(1), ..ConfigChange::default() }));
    let page = queue.export_page(1, 1).unwrap();
    assert_eq!((page.items[0].id.as_str(), page.items[0].reward), ("p1", Some(1.0)));
}
