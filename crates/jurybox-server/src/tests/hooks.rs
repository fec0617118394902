//! Tests of stored webhooks: one node sends at a time, and a node that has lost a webhook cannot
//! record outcomes.

use super::fixture::{Home, Kind, on_both};
use crate::{Call, Config, ConfigChange, DeliveryOutcome, Error, PendingDelivery, Request, Secret, Service};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(
    one_node_at_a_time_sends_and_what_arrived_is_kept,
    a_page_that_is_tried_again_is_the_same_page,
    a_webhook_goes_with_its_queue
);

fn service(home: &Home) -> Service {
    Service::open(home.place.clone(), Duration::from_secs(5)).unwrap()
}

fn made(service: &Service) {
    service.create("q", &Config::new(Evaluators::new(["a"]).unwrap())).unwrap();
    service.put_webhook("q", "h", "https://example.org/", Some(Secret::of(vec![7; 24])), Some(0)).unwrap();
}

fn one_node_at_a_time_sends_and_what_arrived_is_kept(kind: Kind) {
    let home = Home::new(kind);
    {
        let service = service(&home);
        made(&service);
        let hook = service.webhooks(None).unwrap().remove(0);
        assert_eq!((hook.seen, hook.head, hook.queue.as_str()), (0, 1, "q"));
        let sending = PendingDelivery { secret: Secret::of(vec![7; 24]), until: 1 };
        assert_eq!(service.take_webhook(&hook, 1).unwrap(), Some(sending));
        assert_eq!(service.take_webhook(&hook, 2).unwrap(), None, "another node has it");
        assert!(service.take_webhook(&hook, 1).unwrap().is_some(), "the same node may take it again");
        let failed = DeliveryOutcome::Failed { at: 5, next_try: 9, why: "no".into(), off: false };
        assert!(!service.note_webhook(&hook, 2, &DeliveryOutcome::Delivered { seen: 1 }).unwrap());
        assert!(service.note_webhook(&hook, 1, &failed).unwrap());
        let hook = service.webhooks(Some("q")).unwrap().remove(0);
        assert_eq!((hook.failures, hook.failing_since, hook.next_try), (1, Some(5), 9));
        assert!(service.note_webhook(&hook, 1, &DeliveryOutcome::Delivered { seen: 1 }).unwrap());
        assert!(
            !service.note_webhook(&hook, 1, &DeliveryOutcome::Delivered { seen: 1 }).unwrap(),
            "a delivery is recorded once"
        );
    }
    let service = service(&home);
    let hook = service.webhooks(None).unwrap().remove(0);
    assert_eq!((hook.seen, hook.failures, hook.failing_since), (1, 0, None));
    let off = DeliveryOutcome::Failed { at: 5, next_try: 9, why: "no".into(), off: true };
    assert!(service.note_webhook(&hook, 1, &off).unwrap());
    assert_eq!(service.take_webhook(&hook, 1).unwrap(), None, "it is switched off");
    // A changed webhook keeps its secret and its progress, and is tried again. The node that was
    // sending has lost it.
    assert!(!service.put_webhook("q", "h", "https://example.org/2", None, None).unwrap());
    assert!(!service.note_webhook(&hook, 1, &off).unwrap());
    let hook = service.webhooks(None).unwrap().remove(0);
    assert_eq!((hook.seen, hook.off, hook.url.as_str()), (1, false, "https://example.org/2"));
    assert_eq!(service.take_webhook(&hook, 2).unwrap().unwrap().secret, Secret::of(vec![7; 24]));
    // A node that ends gives back its own webhooks only.
    service.give_back_webhooks(1).unwrap();
    assert_eq!(service.take_webhook(&hook, 1).unwrap(), None, "another node has it");
    service.give_back_webhooks(2).unwrap();
    assert!(service.take_webhook(&hook, 1).unwrap().is_some());
    let refused = service.put_webhook("q", "h", "https://example.org/", None, Some(9)).unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
}

fn a_page_that_is_tried_again_is_the_same_page(kind: Kind) {
    let home = Home::new(kind);
    let service = service(&home);
    made(&service);
    let hook = || service.webhooks(None).unwrap().remove(0);
    let page = |holder| service.take_webhook(&hook(), holder).unwrap().map(|sending| sending.until);
    let queue = service.queue("q").unwrap();
    let mut k = 0;
    let mut grow = |by: u32| {
        for _ in 0..by {
            k += 1;
            let change = ConfigChange { k: Some(k), ..ConfigChange::default() };
            queue.ask(Call::new("ann", Request::Configure(change))).unwrap();
        }
    };
    assert_eq!(page(1), Some(1));
    grow(130);
    let failed = DeliveryOutcome::Failed { at: 5, next_try: 0, why: "no".into(), off: false };
    assert!(service.note_webhook(&hook(), 1, &failed).unwrap());
    assert_eq!(page(1), Some(1), "tried again, though there are 131 entries by now");
    assert!(service.note_webhook(&hook(), 1, &DeliveryOutcome::Delivered { seen: 1 }).unwrap());
    assert_eq!(page(1), Some(101));
    // If only a part of a page is delivered, the page still ends at the same entry.
    assert!(service.note_webhook(&hook(), 1, &DeliveryOutcome::Delivered { seen: 60 }).unwrap());
    assert_eq!(page(1), Some(101));
    assert!(service.note_webhook(&hook(), 1, &DeliveryOutcome::Delivered { seen: 101 }).unwrap());
    assert_eq!(page(1), Some(131));
    grow(1);
    assert!(!service.put_webhook("q", "h", "https://example.org/", None, None).unwrap());
    assert_eq!(page(2), Some(132), "a changed webhook gets a new page");
}

fn a_webhook_goes_with_its_queue(kind: Kind) {
    let home = Home::new(kind);
    let service = service(&home);
    made(&service);
    service.delete("q").unwrap();
    assert!(service.webhooks(None).unwrap().is_empty());
    service.create("q", &Config::new(Evaluators::new(["a"]).unwrap())).unwrap();
    assert!(service.webhooks(Some("q")).unwrap().is_empty());
    assert!(!service.drop_webhook("q", "h").unwrap());
    for name in 0..16 {
        let secret = Some(Secret::of(vec![7; 24]));
        assert!(service.put_webhook("q", &name.to_string(), "https://example.org/", secret, None).unwrap());
    }
    let secret = Some(Secret::of(vec![7; 24]));
    let full = service.put_webhook("q", "more", "https://example.org/", secret, None).unwrap_err();
    assert!(matches!(full, Error::Conflict(_)), "{full}");
}

/// A copy and its original may both be served, but only one of them may send.
#[test]
fn webhooks_of_a_copy_rest_unless_it_takes_the_place_of_the_original() {
    let home = Home::new(Kind::Sqlite);
    {
        let service = service(&home);
        made(&service);
    }
    let aside = tempfile::tempdir().unwrap();
    let copy = aside.path().join("copy.sqlite");
    crate::backup(home.folder(), &copy).unwrap();
    for goes_on in [false, true] {
        let folder = aside.path().join(format!("goes on {goes_on}"));
        assert_eq!(crate::restore(&copy, &folder, goes_on).unwrap(), usize::from(!goes_on));
        let service = Service::open(&folder, Duration::ZERO).unwrap();
        let hook = service.webhooks(None).unwrap().remove(0);
        assert_eq!(hook.off, !goes_on);
        assert_eq!(service.take_webhook(&hook, 1).unwrap().is_some(), goes_on);
    }
}

/// The webhooks are off before a rename makes the copy usable, so a kill cannot leave them on.
#[test]
fn webhooks_of_a_copy_rest_before_it_is_a_desk() {
    let home = Home::new(Kind::Sqlite);
    made(&service(&home));
    let aside = tempfile::tempdir().unwrap();
    let (copy, folder) = (aside.path().join("copy.sqlite"), aside.path().join("desk"));
    crate::backup(home.folder(), &copy).unwrap();
    let ready = folder.join("restoring");
    std::fs::create_dir_all(&ready).unwrap();
    // A killed restore may leave a journal.
    std::fs::write(ready.join("jurybox.sqlite-wal"), "a part of another journal").unwrap();
    let mut bytes = std::fs::File::open(&copy).unwrap();
    assert_eq!(crate::maintenance::restore_into(&mut bytes, &ready, false).unwrap(), 1);
    let file = rusqlite::Connection::open(ready.join("jurybox.sqlite")).unwrap();
    assert_eq!(file.query_row("SELECT SUM(off) FROM webhooks", [], |row| row.get::<_, i64>(0)), Ok(1));
    assert_eq!(crate::restore(&copy, &folder, false).unwrap(), 1);
    let mut left: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["jurybox.lock", "jurybox.sqlite"]);
}
