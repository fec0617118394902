//! Tests that items sent again make no log entry. Also tests that pages of the activity log are
//! bounded, and that a busy writer does not delay them.

use super::fixture::{Home, Kind, on_both};
use crate::{Answer, Call, Config, NewItem, Queue, Request, Service};
use jurybox::Evaluators;
use serde_json::json;
use std::sync::mpsc::channel;
use std::time::Duration;

on_both!(
    an_item_that_comes_again_is_no_entry,
    a_page_of_the_log_is_bounded_by_items_too,
    the_log_is_read_while_the_clerk_is_busy,
);

fn opened(home: &Home) -> (Service, Queue) {
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &Config::new(Evaluators::new(["a"]).unwrap())).unwrap();
    (service, queue)
}

fn item(id: &str, score: f64, payload: Option<crate::Json>) -> NewItem {
    NewItem { id: id.into(), scores: [("a".to_string(), Some(score))].into(), payload, ..NewItem::default() }
}

/// The numbers of new, updated and unchanged items, and the last log entry.
fn sent(queue: &Queue, items: Vec<NewItem>) -> (u64, u64, u64, u64) {
    let answer = queue.ask(Call::new("intake", Request::Items(items))).unwrap();
    let Answer::Items { accepted, updated, unchanged, .. } = answer else { panic!("{answer:?}") };
    (accepted, updated, unchanged, queue.status().unwrap().head)
}

fn an_item_that_comes_again_is_no_entry(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = opened(&home);
    let told = |text: &str| Some(json!({ "text": text, "by": "ann" }).into());
    assert_eq!(sent(&queue, vec![item("x", 0.5, told("one"))]), (1, 0, 0, 2));
    assert_eq!(sent(&queue, vec![item("x", 0.5, told("one"))]), (0, 0, 1, 2));
    assert_eq!(sent(&queue, vec![item("x", 0.5, None)]), (0, 0, 1, 2));
    assert_eq!(sent(&queue, vec![item("x", 0.5, told("two"))]), (0, 1, 0, 3));
    // The payload is "two" now. Within one request, a change to "one" and back counts as two
    // updates.
    let (one, two) = (item("x", 0.5, told("one")), item("x", 0.5, told("two")));
    assert_eq!(sent(&queue, vec![two.clone(), one, two]), (0, 2, 1, 4));
    assert_eq!(queue.explain_item("x").unwrap().unwrap().payload, told("two"));
    // Fields keep their first order; another order of the same fields is no change.
    let ordered = |text: &str| Some(serde_json::from_str(text).unwrap());
    assert_eq!(sent(&queue, vec![item("z", 0.5, ordered(r#"{"title":"t","a":1}"#))]), (1, 0, 0, 5));
    assert_eq!(sent(&queue, vec![item("z", 0.5, ordered(r#"{"a":1,"title":"t"}"#))]), (0, 0, 1, 5));
    let told_of_z = queue.explain_item("z").unwrap().unwrap().payload.unwrap();
    assert_eq!(told_of_z.to_string(), r#"{"title":"t","a":1}"#);
    let new = item("y", 0.1, told("y"));
    assert_eq!(sent(&queue, vec![new.clone(), new.clone()]), (1, 0, 1, 6));
    assert_eq!(sent(&queue, vec![new]), (0, 0, 1, 6));
}

fn a_page_of_the_log_is_bounded_by_items_too(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = opened(&home);
    for part in 0..3 {
        sent(&queue, (0..6000).map(|i| item(&format!("{part}-{i}"), 0.5, None)).collect());
    }
    let (mut after, mut pages) = (0, Vec::new());
    loop {
        let page = queue.activity(after, 100).unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        pages.push(page.iter().map(|event| event.items.len()).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![0, 6000], vec![6000], vec![6000]]);
}

fn the_log_is_read_while_the_clerk_is_busy(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = opened(&home);
    sent(&queue, vec![item("x", 0.5, None)]);
    assert_eq!(queue.activity(0, 9).unwrap().len(), 2);
    // The writer is kept busy until it is released.
    let ((let_go, wait), (told, tell)) = (channel::<()>(), channel());
    queue.run_on_writer(Box::new(move |_| wait.recv().unwrap_or_default())).unwrap();
    let reader = queue.clone();
    let reading = std::thread::spawn(move || told.send(reader.activity(0, 9).unwrap().len()));
    let read = tell.recv_timeout(Duration::from_secs(30));
    drop(let_go);
    reading.join().unwrap().unwrap();
    assert_eq!(read, Ok(2), "the read must not wait for the writer");
}
