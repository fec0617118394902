//! The OpenAPI 3.1 document, made from the table of routes, and an HTML page that shows it.

use crate::problem::ProblemBody;
use crate::routes::{Route, table};
use crate::wire;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{Html, Response};
use jurybox_server::MOST_AT_ONCE;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::OnceLock;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

const JSON: &[&str] = &["application/json"];

type Schemas = Vec<(String, RefOr<Schema>)>;

/// The schema of a request's or an answer's body.
#[derive(Clone)]
pub(crate) struct BodySchema {
    name: Cow<'static, str>,
    /// The media types of the body. If `name` is empty, the body is a string.
    kinds: &'static [&'static str],
    collect: fn(&mut Schemas),
}

impl BodySchema {
    /// A JSON schema that [`complete_schemas`] puts together under this name.
    pub(crate) fn named(name: &'static str) -> BodySchema {
        BodySchema { name: name.into(), kinds: JSON, collect: |_| {} }
    }

    /// Text or bytes of these media types.
    pub(crate) fn texts(kinds: &'static [&'static str]) -> BodySchema {
        BodySchema { name: "".into(), kinds, collect: |_| {} }
    }

    fn content(&self) -> Value {
        let schema = if self.name.is_empty() { json!({ "type": "string" }) } else { reference(&self.name) };
        self.kinds
            .iter()
            .map(|kind| ((*kind).to_string(), json!({ "schema": schema })))
            .collect::<Map<_, _>>()
            .into()
    }
}

/// The JSON schema of a type.
pub(crate) fn schema_of<T: ToSchema>() -> BodySchema {
    let collect = |schemas: &mut Schemas| {
        T::schemas(schemas);
        schemas.push((T::name().into(), T::schema()));
    };
    BodySchema { name: T::name(), kinds: JSON, collect }
}

/// A query parameter.
pub(crate) struct QueryParam {
    name: &'static str,
    about: &'static str,
    schema: &'static str,
    required: bool,
}

impl QueryParam {
    pub(crate) const fn required(
        name: &'static str,
        about: &'static str,
        schema: &'static str,
    ) -> QueryParam {
        QueryParam { name, about, schema, required: true }
    }

    pub(crate) const fn optional(
        name: &'static str,
        about: &'static str,
        schema: &'static str,
    ) -> QueryParam {
        QueryParam { name, about, schema, required: false }
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Serves the OpenAPI document.
pub(crate) async fn document() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi_document().to_string());
    let mut response = Response::new(Body::from(text.as_str()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Serves the OpenAPI document as an HTML page.
pub(crate) async fn page() -> Html<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    Html(TEXT.get_or_init(|| page_of(&openapi_document())))
}

fn openapi_document() -> Value {
    let (mut paths, mut schemas): (Map<String, Value>, Schemas) = (Map::new(), Vec::new());
    for route in table() {
        let operation = operation(&route, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation;
    }
    (schema_of::<ProblemBody>().collect)(&mut schemas);
    (schema_of::<wire::QueueProgress>().collect)(&mut schemas);
    let mut named: Map<String, Value> =
        schemas.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    complete_schemas(&mut named);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Jurybox",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Systems send items with scores, reviewers claim the best ones and send verdicts, and the ranking learns which evaluators to trust. Every POST may have an `Idempotency-Key`: repeated with the same key, it takes effect once and gets the same answer. Every error is `application/problem+json` with a stable `code`.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": named,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer", "description": "A key made by `jurybox server key add`. While there are no keys, only requests from the same machine are answered." } },
        },
        "security": [{ "key": [] }],
    })
}

/// Fields of a queue's state that are left out while they are empty or not set.
const MAY_BE_ABSENT: [&str; 6] = ["payload_days", "reward", "muted", "weights", "columns", "warnings"];

/// Completes the schemas: adds limits, and merges the settings and the state of a queue.
fn complete_schemas(named: &mut Map<String, Value>) {
    named["ItemBody"]["properties"]["tags"]["maxProperties"] = json!(32);
    for (of, list) in [("SeveralItems", "items"), ("RankBody", "items"), ("VerdictsBody", "verdicts")] {
        named[of]["properties"][list]["maxItems"] = json!(MOST_AT_ONCE);
    }
    named["FileColumnRoles"]["properties"]["tags"]["maxProperties"] = json!(16_384);
    named["RankBody"]["properties"]["k"]["maximum"] = json!(MOST_AT_ONCE);
    let change = named.get("QueueChange").cloned().unwrap_or_default();
    let mut settings = change.clone();
    settings["description"] = json!("The settings of a queue. Settings that are left out get their default.");
    settings["required"] = json!(["evaluators"]);
    named.insert("QueueSettings".into(), settings);
    let Some(mut state) = named.remove("QueueProgress") else { return };
    let (Some(fields), Some(own)) =
        (change["properties"].as_object().cloned(), state["properties"].as_object_mut())
    else {
        return;
    };
    let required: Vec<String> = own
        .keys()
        .chain(fields.keys())
        .filter(|name| !MAY_BE_ABSENT.contains(&name.as_str()))
        .cloned()
        .collect();
    own.extend(fields);
    state["required"] = json!(required);
    state["description"] = json!("The settings and the state of a queue.");
    named.insert("QueueState".into(), state);
}

/// The description of a status in the document.
fn status_text(status: u16) -> &'static str {
    match status {
        200 => "Success.",
        201 => "Created.",
        204 => "Deleted.",
        400 => "The request cannot be parsed.",
        401 => "The key is missing or not valid.",
        403 => "The key lacks the role, or access to the queue.",
        404 => "There is no such queue or item.",
        408 => "The body did not arrive in time.",
        409 => "The request conflicts with the current state.",
        413 => "The body is too large.",
        415 => "The media type is not supported.",
        421 => "Without keys, only requests to localhost are answered.",
        422 => "A value of the request is not valid.",
        429 => "Too many requests with this key; Retry-After says when to try again.",
        503 => {
            "The server is overloaded, or its database is unreachable; Retry-After says when to try again."
        }
        _ => "See the problem.",
    }
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let mut statuses: Vec<u16> = route.also.to_vec();
    let mut parameters: Vec<Value> = Vec::new();
    if route.role.is_some() {
        statuses.extend([401, 403, 421, 429]);
    }
    statuses.push(503);
    if route.path.contains("{queue}") {
        statuses.extend([400, 404]);
        parameters.push(json!({
            "name": "queue", "in": "path", "required": true, "description": "The queue's name",
            "schema": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]{1,64}$" },
        }));
    }
    if route.path.contains("{item}") {
        parameters.push(json!({
            "name": "item", "in": "path", "required": true, "description": "The item's id, percent-encoded",
            "schema": { "type": "string", "minLength": 1, "maxLength": 512 },
        }));
    }
    if route.path.contains("{webhook}") {
        parameters.push(json!({
            "name": "webhook", "in": "path", "required": true, "description": "The webhook's name",
            "schema": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]{1,64}$" },
        }));
    }
    for QueryParam { name, about, schema, required } in route.query {
        statuses.push(422);
        parameters.push(json!({
            "name": name, "in": "query", "required": required, "description": about,
            "schema": serde_json::from_str::<Value>(schema).unwrap_or_default(),
        }));
    }
    let mut operation = json!({ "operationId": route.id, "summary": route.summary, "responses": {} });
    if let Some((shape, lines)) = &route.takes {
        statuses.extend([400, 408, 413, 415, 422]);
        (shape.collect)(schemas);
        let mut content = shape.content();
        if *lines {
            content["application/x-ndjson"] = json!({ "schema": { "type": "string", "description": "One item per line. Refused lines are listed in `rejected`." } });
        }
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    if route.method == "POST" {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Any unique text. A repeated request with the same key takes effect once.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" },
        }));
        statuses.push(400);
    }
    match route.role {
        Some(role) => operation["x-role"] = json!(role.name()),
        None => operation["security"] = json!([]),
    }
    operation["parameters"] = json!(parameters);
    for (status, shape) in &route.gives {
        let mut response = json!({ "description": status_text(*status) });
        if let Some(shape) = shape {
            (shape.collect)(schemas);
            response["content"] = shape.content();
        }
        operation["responses"][status.to_string()] = response;
    }
    for status in statuses {
        operation["responses"][status.to_string()] = json!({
            "description": status_text(status),
            "content": { "application/problem+json": { "schema": reference("Problem") } },
        });
    }
    operation
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The OpenAPI document as an HTML page without scripts.
fn page_of(document: &Value) -> String {
    let mut page = String::from(include_str!("openapi.html"));
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let shown = |value: &Value| escaped(&serde_json::to_string_pretty(value).unwrap_or_default());
    let none = Map::new();
    for (path, operations) in document["paths"].as_object().unwrap_or(&none) {
        for (method, operation) in operations.as_object().unwrap_or(&none) {
            let (id, method) = (text(&operation["operationId"]), method.to_ascii_uppercase());
            let _ = write!(
                page,
                "<section id=\"{id}\"><h2><code>{method} {}</code></h2><p>{}.</p>",
                escaped(path),
                text(&operation["summary"])
            );
            if operation["x-role"].is_string() {
                let _ = write!(page, "<p>Role: <code>{}</code></p>", text(&operation["x-role"]));
            }
            for parameter in operation["parameters"].as_array().unwrap_or(&Vec::new()) {
                let _ = write!(
                    page,
                    "<p><code>{}</code> ({}): {}</p>",
                    text(&parameter["name"]),
                    text(&parameter["in"]),
                    text(&parameter["description"])
                );
            }
            for (title, value) in
                [("Body", &operation["requestBody"]["content"]), ("Answers", &operation["responses"])]
            {
                if !value.is_null() {
                    let _ = write!(
                        page,
                        "<details><summary>{title}</summary><pre>{}</pre></details>",
                        shown(value)
                    );
                }
            }
            page.push_str("</section>");
        }
    }
    page.push_str("<h1>Schemas</h1>");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap_or(&none) {
        let name = escaped(name);
        let _ = write!(
            page,
            "<details id=\"schema-{name}\"><summary>{name}</summary><pre>{}</pre></details>",
            shown(schema)
        );
    }
    page.push_str("</html>\n");
    page
}
