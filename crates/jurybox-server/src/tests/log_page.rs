//! Tests that a page of the log, with a few items of each entry, agrees with the whole entries.

use super::fixture::{Home, Kind, on_both};
use super::random_life::verdict;
use crate::{ActivityEntry, Answer, Call, Config, ConfigChange, Filter, NewItem, Request, Service};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(at_a_glance_the_first_few_items_of_an_entry_are_named_and_all_are_counted);

fn item(id: &str, score: f64) -> NewItem {
    NewItem { id: id.into(), scores: [("a".to_string(), Some(score))].into(), ..NewItem::default() }
}

fn at_a_glance_the_first_few_items_of_an_entry_are_named_and_all_are_counted(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &Config::new(Evaluators::new(["a"]).unwrap())).unwrap();
    let ask = |request| queue.ask(Call::new("ann", request)).unwrap();
    let named = |at: usize| format!("i{at}");
    ask(Request::Items((0..9).map(|at| item(&named(at), at as f64)).collect()));
    // One new item, and four items with new scores.
    ask(Request::Items([9, 1, 2, 3, 4].map(|at| item(&named(at), 20.0 - at as f64)).to_vec()));
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(5), filter: Filter::default() };
    let Answer::Claims { claims, .. } = ask(claim) else { panic!() };
    ask(Request::Extend { reviewer: "ann".into(), items: Vec::new() });
    let skipped = claims[4].item.clone();
    ask(Request::Skip { reviewer: "ann".into(), item: skipped, reason: "not mine".into() });
    let judged = claims[..4].iter().map(|claim| verdict(&claim.item, &claim.item, "ann", 1.0));
    ask(Request::Verdicts(judged.collect()));
    ask(Request::Undo { reviewer: "ann".into(), verdict: claims[0].item.clone() });
    ask(Request::Release { reviewer: "ann".into(), items: Vec::new() });
    ask(Request::Configure(ConfigChange { k: Some(7), ..ConfigChange::default() }));
    ask(Request::Erase { items: vec![named(0), claims[1].item.clone()] });
    ask(Request::Close { filter: Filter::default(), before: None, reason: "enough".into() });

    let whole: Vec<ActivityEntry> = queue.activity(0, 100).unwrap();
    let head = whole.last().unwrap().seq;
    let log_page = queue.log_page(0, head, 3, |_| true).unwrap();
    assert_eq!(log_page.len(), whole.len());
    for (brief, whole) in log_page.iter().zip(&whole) {
        let told = |of: &ActivityEntry| {
            (of.seq, of.at, of.actor.clone(), of.kind, of.reviewer.clone(), of.reason.clone())
        };
        assert_eq!(told(brief), told(whole));
        // Later scores of erased items are gone, and whole entries do not count them.
        assert!(brief.many == whole.many || (brief.kind == "items" && brief.many > whole.many));
        assert_eq!(brief.changed, whole.changed, "{}", brief.kind);
        // Erased items have no names, so there are fewer names than were asked for.
        let erased = whole.many as usize - whole.items.len();
        assert!(brief.items.len() <= 3 && brief.items.len() + erased >= whole.items.len().min(3));
        assert!(brief.items.iter().all(|id| whole.items.contains(id)), "{brief:?}");
        assert!(brief.verdicts.len() <= 3 && brief.verdicts.iter().all(|one| whole.verdicts.contains(one)));
    }
    let of = |kind: &str| log_page.iter().find(|event| event.kind == kind).unwrap();
    assert_eq!((of("items").items.clone(), of("items").many), (vec![named(1)], 9));
    assert_eq!((of("verdicts").verdicts.len(), of("verdicts").many), (2, 4));
    let late = log_page.iter().filter(|event| event.kind == "items").nth(1).unwrap();
    assert_eq!((late.items[0].as_str(), late.many), ("i9", 5));
    // Only the wanted kinds of entries.
    let claims = queue.log_page(0, head, 3, |kind| kind == "claim").unwrap();
    assert_eq!(claims.iter().map(|event| event.items.len()).collect::<Vec<_>>(), [of("claim").items.len()]);
    assert_eq!(
        queue.log_page(2, 4, 3, |_| true).unwrap().iter().map(|event| event.seq).collect::<Vec<_>>(),
        [3, 4]
    );
}
