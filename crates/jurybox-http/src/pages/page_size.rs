//! Tests that pages stay small for queues with many evaluators, many items and a long history.

use crate::{App, Settings};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use jurybox_server::{
    Answer, Call, Config, EvaluatorInfluence, Filter, Keyring, NewItem, NewKey, NewVerdict, Queue,
    Request as Asked, Role, Service, VerdictScale,
};
use std::time::Duration;
use tower::ServiceExt;

/// The most bytes of a page with the assets that it loads at once: plain, and compressed. The goal
/// is 150 kB plain; 8 kB are reserved for each of two charts over time, which a new queue lacks.
const HEAVIEST: (usize, usize) = (150_000 - 2 * 8000, 50_000);

fn chance(what: u64) -> f64 {
    hash_number(3, what) as f64 / 2_f64.powi(64)
}

/// A queue with `many` evaluators and 3,000 items, many of them random checks with a verdict.
fn worked_on(service: &Service, many: usize) -> Queue {
    let names: Vec<String> = (0..many).map(|at| format!("evaluator number {at}, strict")).collect();
    let labels = [("fine".to_string(), 0.0), ("harmful".to_string(), 1.0)].into();
    let config = Config {
        policy: "adaptive(forget=true)".parse().unwrap(),
        random_check_rate: 0.2,
        random_check_share: 0.5,
        undo_seconds: 0,
        k: 20,
        reward: Some(VerdictScale { lowest: 0.0, highest: 1.0, labels }),
        ..Config::new(Evaluators::new(names.iter().map(String::as_str)).unwrap())
    };
    let queue = service.create("posts", &config).unwrap();
    let worth = |n: u64| f64::from(u8::from(n.is_multiple_of(5)));
    let item = |n: u64| NewItem {
        id: format!("post-{n:020}-of-a-system-with-long-ids-{n:020}"),
        scores: (0..)
            .zip(&names)
            .map(|(at, name)| (name.clone(), Some(worth(n) + 2.0 * chance(n * 997 + at))))
            .collect(),
        ..NewItem::default()
    };
    for first in (0..3000).step_by(500) {
        queue.ask(Call::new("intake", Asked::Items((first..first + 500).map(item).collect()))).unwrap();
    }
    for turn in 0..40 {
        let reviewer = ["ann", "bob", "chloé"][turn % 3].to_string();
        let claim = Asked::Claim { reviewer: reviewer.clone(), k: Some(20), filter: Filter::default() };
        let Ok(Answer::Claims { claims, .. }) = queue.ask(Call::new("desk", claim)) else { panic!() };
        let verdict = |item: String, token: u64| NewVerdict {
            id: format!("{turn}/{item}"),
            reward: worth(item[5..25].parse().unwrap()),
            item,
            reviewer: reviewer.clone(),
            token: Some(token),
            ..NewVerdict::default()
        };
        let verdicts = claims.into_iter().map(|claim| verdict(claim.item, claim.token)).collect();
        queue.ask(Call::new("desk", Asked::Verdicts(verdicts))).unwrap();
    }
    queue
}

#[tokio::test]
async fn no_page_grows_with_its_queue() {
    for many in [6, 20, 50] {
        let folder = tempfile::tempdir().unwrap();
        let key = NewKey { name: "own".into(), roles: vec![Role::Admin], ..NewKey::default() };
        let secret = Keyring::open(folder.path()).unwrap().add(key).unwrap();
        let service = Service::open(folder.path(), Duration::ZERO).unwrap();
        let queue = worked_on(&service, many);
        let app = App::new(service, Settings { log: crate::LogFormat::Off, ..Settings::default() });
        app.load().unwrap();
        // The longest history of influence that is kept, with random values, so that charts cannot
        // simplify its lines.
        let names: Vec<String> =
            queue.status().unwrap().config.evaluators.names().map(String::from).collect();
        let moment = |at: u64| EvaluatorInfluence {
            at: super::format::now() - (240 - at.cast_signed()) * 60_000_000,
            pulls: names.iter().cloned().zip((0..).map(|j| chance(at * 997 + j))).collect(),
        };
        app.0.watch.remember("posts", (0..240).map(moment).collect());
        let router = app.router();
        let ask = async |path: &str, packed: bool| {
            let mut request =
                Request::builder().uri(path).header("authorization", format!("Bearer {secret}"));
            if packed {
                request = request.header(header::ACCEPT_ENCODING, "gzip, deflate, br");
            }
            let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            let is_packed = answer.headers().contains_key(header::CONTENT_ENCODING);
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            // Short bodies are not compressed.
            assert_eq!(is_packed, packed && (is_packed || body.len() >= 2048), "{path}");
            body
        };
        for path in ["/", "/q/posts", "/q/posts/reviewers", "/q/posts/activity"] {
            let (plain, packed) = (ask(path, false).await, ask(path, true).await);
            let (mut read, mut sent) = (plain.len(), packed.len());
            let folder = super::assets::FOLDER.as_str();
            for asset in ["page.css", "live.js", "charts.js", "times.js"] {
                let path = format!("{folder}/{asset}");
                (read, sent) = (read + ask(&path, false).await.len(), sent + ask(&path, true).await.len());
            }
            assert!(read < HEAVIEST.0 && sent < HEAVIEST.1, "{path} with {many}: {read} bytes, {sent} sent");
            if packed.starts_with(&[0x1f, 0x8b]) {
                let mut unpacked = Vec::new();
                std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked)
                    .unwrap();
                assert!(unpacked.starts_with(b"<!DOCTYPE html>") && unpacked.ends_with(b"</html>"), "{path}");
            }
        }
    }
}
