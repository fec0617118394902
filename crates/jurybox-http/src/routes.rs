//! The table of API routes, from which access control and the OpenAPI document are made; and the
//! router of all requests.

use crate::app::App;
use crate::guard::{RouteAccess, guard};
use crate::handlers::{claims, demo, export, health, items, queues, reads, verdicts, webhooks};
use crate::observe::{note_caller, observe, panicked};
use crate::openapi::{self, BodySchema, QueryParam, schema_of};
use crate::pages;
use crate::problem::Problem;
use crate::wire;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use jurybox_server::Role;
use tower_http::catch_panic::CatchPanicLayer;

/// A route of the API.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The role that the caller needs; None for a public route.
    pub(crate) role: Option<Role>,
    /// The operation id in the OpenAPI document.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [QueryParam],
    /// The schema of the body, and whether the route also accepts JSON lines. None without a body.
    pub(crate) takes: Option<(BodySchema, bool)>,
    /// The statuses of success, each with the schema of its body.
    pub(crate) gives: Vec<(u16, Option<BodySchema>)>,
    /// Error statuses for the OpenAPI document, besides those that follow from the other fields.
    pub(crate) also: &'static [u16],
    handler: MethodRouter<App>,
}

impl Route {
    fn new(
        method: &'static str,
        path: &'static str,
        role: Option<Role>,
        id: &'static str,
        summary: &'static str,
        handler: MethodRouter<App>,
    ) -> Route {
        let (takes, gives) = (None, Vec::new());
        Route { method, path, role, id, summary, query: &[], takes, gives, also: &[], handler }
    }

    fn takes(mut self, shape: BodySchema) -> Route {
        self.takes = Some((shape, false));
        self
    }

    fn gives(mut self, status: u16, shape: BodySchema) -> Route {
        self.gives.push((status, Some(shape)));
        self
    }

    fn asks(mut self, query: &'static [QueryParam]) -> Route {
        self.query = query;
        self
    }

    fn also(mut self, statuses: &'static [u16]) -> Route {
        self.also = statuses;
        self
    }
}

const REVIEWER: &[QueryParam] = &[QueryParam::required(
    "reviewer",
    "The reviewer's name",
    r#"{"type": "string", "minLength": 1, "maxLength": 512}"#,
)];

const AFTER: &str = r#"{"type": "integer", "minimum": 0, "maximum": 9007199254740991, "default": 0}"#;
const LIMIT: &str = r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}"#;
const ITEMS: &[QueryParam] = &[
    QueryParam::optional(
        "order",
        "The order: by rank or by arrival",
        r#"{"type": "string", "enum": ["rank", "arrival"], "default": "rank"}"#,
    ),
    QueryParam::optional("after", "The field `next` of the previous page", AFTER),
    QueryParam::optional("limit", "The most items of the page", LIMIT),
];
const EXPLAIN: &[QueryParam] = &[QueryParam::optional(
    "explain",
    "Whether to include contributions and prediction",
    r#"{"type": "boolean", "default": false}"#,
)];
const EXPORT: &[QueryParam] = &[
    QueryParam::optional(
        "format",
        "The format of the table",
        r#"{"type": "string", "enum": ["csv", "jsonl", "parquet"], "default": "jsonl"}"#,
    ),
    QueryParam::optional(
        "random_checks_only",
        "Whether only random checks have a reward, with the probability of the check. Such rewards can be weighted by it without bias",
        r#"{"type": "boolean", "default": false}"#,
    ),
    QueryParam::optional(
        "safe_csv",
        "Whether CSV text that a spreadsheet would run as a formula gets an apostrophe in front",
        r#"{"type": "boolean", "default": true}"#,
    ),
];
const EVENTS: &[QueryParam] = &[
    QueryParam::optional("after", "The number of the last entry already read", AFTER),
    QueryParam::optional("limit", "The most entries of the page", LIMIT),
];

/// The path of an item. An item with the id `close` is at `%63lose`, because [`CLOSE`] matches
/// first.
const ITEM: &str = "/v1/queues/{queue}/items/{item}";
const CLOSE: &str = "/v1/queues/{queue}/items/close";

/// All routes that the OpenAPI document describes.
#[rustfmt::skip]
pub(crate) fn table() -> Vec<Route> {
    use Role::{Admin, Read, Review, Write};
    const QUEUE: &str = "/v1/queues/{queue}";
    let route = Route::new;
    let mut table = vec![
        route("GET", "/v1/queues", Some(Read), "listQueues", "List the queues", get(queues::list))
            .gives(200, schema_of::<wire::QueueList>()),
        route("PUT", QUEUE, Some(Admin), "putQueue", "Create a queue, or replace its settings", put(queues::put))
            .takes(BodySchema::named("QueueSettings")).gives(200, BodySchema::named("QueueState")).gives(201, BodySchema::named("QueueState")).also(&[409]),
        route("PATCH", QUEUE, Some(Admin), "patchQueue", "Change some settings of a queue", patch(queues::patch))
            .takes(schema_of::<wire::QueueChange>()).gives(200, BodySchema::named("QueueState")).also(&[409]),
        route("GET", QUEUE, Some(Read), "getQueue", "Show the settings and the state of a queue", get(queues::get))
            .gives(200, BodySchema::named("QueueState")),
        Route { gives: vec![(204, None)], ..route("DELETE", QUEUE, Some(Admin), "deleteQueue", "Delete a queue with everything in it", delete(queues::delete)) },

        Route { takes: Some((schema_of::<wire::ItemsBody>(), true)), ..route("POST", "/v1/queues/{queue}/items", Some(Write), "postItems", "Add items: one, several, or a stream of JSON lines. Known items get new scores and payloads", post(items::post)) }
            .gives(200, schema_of::<wire::ItemsAnswer>()),
        route("POST", CLOSE, Some(Admin), "closeItems", "Close items without a verdict", post(items::close))
            .takes(schema_of::<wire::CloseBody>()).gives(200, schema_of::<wire::ChangedCount>()),
        Route { gives: vec![(204, None)], ..route("DELETE", ITEM, Some(Admin), "eraseItem", "Erase an item: its id, scores, tags and payload, and what was learnt from it", delete(items::erase)) },
        route("PATCH", "/v1/queues/{queue}/items/{item}/scores", Some(Write), "patchScores", "Add scores to an item", patch(items::patch_scores))
            .takes(schema_of::<wire::ScoresBody>()).gives(200, schema_of::<wire::ItemsAnswer>()).also(&[409]),

        route("POST", "/v1/queues/{queue}/claims", Some(Review), "claim", "Claim the best items for a reviewer", post(claims::post))
            .takes(schema_of::<wire::ClaimBody>()).gives(200, schema_of::<wire::ClaimAnswer>()).also(&[409]),
        route("GET", "/v1/queues/{queue}/claims", Some(Review), "listClaims", "List the items that a reviewer holds", get(claims::held))
            .asks(REVIEWER).gives(200, schema_of::<wire::HeldItems>()),
        route("POST", "/v1/queues/{queue}/claims/extend", Some(Review), "extendClaims", "Extend a reviewer's leases", post(claims::extend))
            .takes(schema_of::<wire::LeasesBody>()).gives(200, schema_of::<wire::ChangedCount>()),
        route("POST", "/v1/queues/{queue}/claims/release", Some(Review), "releaseClaims", "Release items to the queue", post(claims::release))
            .takes(schema_of::<wire::LeasesBody>()).gives(200, schema_of::<wire::ChangedCount>()),
        route("POST", "/v1/queues/{queue}/claims/skip", Some(Review), "skipClaim", "Skip an item: release it, and do not hand it to this reviewer again", post(claims::skip))
            .takes(schema_of::<wire::SkipBody>()).gives(200, schema_of::<wire::ChangedCount>()).also(&[409]),

        route("POST", "/v1/queues/{queue}/verdicts", Some(Review), "postVerdicts", "Record verdicts; one that names another in `revises` replaces it", post(verdicts::post))
            .takes(schema_of::<wire::VerdictsBody>()).gives(200, schema_of::<wire::VerdictsAnswer>()),
        route("POST", "/v1/queues/{queue}/verdicts/undo", Some(Review), "undoVerdict", "Undo a recent verdict: the item is handed to the reviewer again", post(verdicts::undo))
            .takes(schema_of::<wire::UndoBody>()).gives(200, schema_of::<wire::UndoAnswer>()).also(&[409]),
    ];
    table.extend([
        route("GET", "/v1/queues/{queue}/items", Some(Read), "listItems", "List items by rank (claimable ones) or by arrival (all)", get(reads::items))
            .asks(ITEMS).gives(200, schema_of::<wire::ItemPage>()),
        route("GET", ITEM, Some(Read), "getItem", "Show an item in detail", get(reads::item))
            .asks(EXPLAIN).gives(200, schema_of::<wire::ItemDetail>()),
        route("POST", "/v1/queues/{queue}/rank", Some(Read), "rank", "Rank items by the queue's model without storing them", post(reads::rank))
            .takes(schema_of::<wire::RankBody>()).gives(200, schema_of::<wire::RankedItems>()).also(&[409]),
        route("GET", "/v1/queues/{queue}/evaluators", Some(Read), "listEvaluators", "Show what was learnt about each evaluator", get(reads::evaluators))
            .gives(200, schema_of::<wire::EvaluatorList>()).also(&[409]),
        route("POST", "/v1/queues/{queue}/preview", Some(Read), "preview", "Preview which items would enter and leave the best K after a change of settings", post(reads::preview))
            .takes(schema_of::<wire::PreviewBody>()).gives(200, schema_of::<wire::PreviewAnswer>()).also(&[409]),
        route("GET", "/v1/queues/{queue}/report", Some(Read), "report", "Report what was found, compared with a random order and a plain average, and what was missed", get(reads::report))
            .gives(200, schema_of::<wire::ReportAnswer>()),
        route("GET", "/v1/queues/{queue}/export", Some(Read), "export", "Export all items as a table with scores, tags, payloads and verdicts", get(export::export))
            .asks(EXPORT).gives(200, BodySchema::texts(export::KINDS)),
        route("GET", "/v1/queues/{queue}/events", Some(Read), "listEvents", "List entries of the activity log", get(reads::events))
            .asks(EVENTS).gives(200, schema_of::<wire::EventPage>()),
        route("GET", "/v1/queues/{queue}/webhooks", Some(Admin), "listWebhooks", "List the webhooks that receive the queue's activity log, with their state", get(webhooks::list))
            .gives(200, schema_of::<wire::WebhookList>()),
        route("PUT", "/v1/queues/{queue}/webhooks/{webhook}", Some(Admin), "putWebhook", "Create, change or resume a webhook that receives the queue's activity log", put(webhooks::put))
            .takes(schema_of::<wire::WebhookBody>()).gives(200, schema_of::<wire::WebhookState>()).gives(201, schema_of::<wire::WebhookState>()).also(&[409]),
        Route { gives: vec![(204, None)], ..route("DELETE", "/v1/queues/{queue}/webhooks/{webhook}", Some(Admin), "deleteWebhook", "Delete a webhook", delete(webhooks::delete)) },
        route("GET", "/healthz", None, "health", "Whether the program runs", get(health::healthy)).gives(200, schema_of::<health::HealthStatus>()),
        route("GET", "/readyz", None, "readiness", "Whether all queues are loaded and the database answers", get(health::ready)).gives(200, schema_of::<health::HealthStatus>()),
        route("GET", "/metrics", Some(Read), "metrics", "Metrics in the OpenMetrics format of Prometheus", get(health::metrics)).gives(200, BodySchema::texts(&["application/openmetrics-text; version=1.0.0; charset=utf-8"])),
    ]);
    table
}

/// All routes of the server, with their middleware.
pub(crate) fn router(app: &App) -> Router {
    let mut router = Router::new();
    for Route { path, role, handler, .. } in table() {
        let need = RouteAccess { app: app.clone(), roles: role.into_iter().collect(), page: false };
        // The layer added last runs first: the guard, then `note_caller`.
        let guarded = handler.route_layer(from_fn(note_caller)).route_layer(from_fn_with_state(need, guard));
        router = router.route(path, guarded);
    }
    if app.demo().is_some() {
        let need = RouteAccess { app: app.clone(), roles: vec![Role::Admin], page: true };
        router = router.route("/demo/swap", post(demo::swap).route_layer(from_fn_with_state(need, guard)));
    }
    router
        .merge(pages::router(app))
        .route("/openapi.json", get(openapi::document))
        .route("/api", get(openapi::page))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), observe))
        .with_state(app.clone())
}

pub(crate) async fn not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_route", "there is nothing at this path", "/api lists all paths.")
}

async fn not_allowed(request: Request) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("this path has no method {}", request.method()),
        "The Allow header lists its methods; /api describes them.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use axum::body::Body;
    use tower::ServiceExt;

    /// A key for the queue `own` is refused on every route of another queue, however the name is
    /// encoded. Of the routes without a queue, only those listed at the end accept the key.
    #[tokio::test]
    async fn a_key_for_one_queue_opens_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut keys = jurybox_server::Keyring::open(folder.path()).unwrap();
        let own = || "own".to_string();
        let key = jurybox_server::NewKey {
            name: own(),
            roles: vec![Role::Admin],
            queues: vec![own()],
            ..Default::default()
        };
        let secret = keys.add(key).unwrap();
        drop(keys);
        let service = jurybox_server::Service::open(folder.path(), std::time::Duration::ZERO).unwrap();
        let demo = Some(crate::DemoControl::new("other", ["a", "b"]));
        let app = App::new(service, Settings { log: crate::LogFormat::Off, demo, ..Settings::default() });
        app.load().unwrap();
        let router = app.router();
        let ask = async |method: &str, path: String| {
            let request = Request::builder().method(method).uri(path);
            let request = request.header("authorization", format!("Bearer {secret}"));
            router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
        };
        let api = table().into_iter().map(|route| (route.path, route.role.is_none()));
        let pages = pages::table().into_iter().map(|(path, roles, _)| (path, roles.is_empty()));
        let (mut of_queues, mut others) = (0, Vec::new());
        for (path, anybody) in api.chain(pages) {
            let as_named = |queue: &str| path.replace("{queue}", queue).replace(['{', '}'], "");
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let own = ask(method, as_named("own")).await;
                if own == StatusCode::METHOD_NOT_ALLOWED || anybody {
                    continue;
                }
                assert_ne!(own, StatusCode::FORBIDDEN, "{method} {path}");
                if !path.contains("{queue}") {
                    others.push(path);
                    continue;
                }
                of_queues += 1;
                for name in ["other", "%6Fther", "own%2Fother", "%FF", "OWN", "own%00"] {
                    let status = ask(method, as_named(name)).await;
                    assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path} {name}");
                }
                assert_eq!(ask(method, as_named("%6Fwn")).await, own, "{method} {path}");
            }
        }
        others.sort_unstable();
        assert_eq!(others, ["/", "/go", "/live", "/metrics", "/v1/queues"]);
        assert!(of_queues > 30, "{of_queues}");
        assert_eq!(ask("POST", "/demo/swap".into()).await, StatusCode::FORBIDDEN);
    }
}
