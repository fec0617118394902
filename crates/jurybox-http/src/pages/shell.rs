//! What is around every page: its head, its ways, its headers, and what it says when something is wrong.

use super::assets::FOLDER;
use super::format::in_address;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use jurybox_server::Role;
use maud::{DOCTYPE, Markup, html};

/// What a page may do: load its own style, scripts and panels, show pictures that are within it, and frame nothing but text of its own.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page.
pub(super) struct Page(Markup);

impl Page {
    pub(super) fn new(title: &str, body: &Markup) -> Self {
        Page(frame(title, body))
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        Html(self.0.into_string()).into_response()
    }
}

/// The document around a body.
pub(super) fn frame(title: &str, body: &Markup) -> Markup {
    let folder = FOLDER.as_str();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href={ (folder) "/page.css" };
                link rel="icon" href="data:,";
                script type="module" src={ (folder) "/live.js" } {}
            }
            body { (body) }
        }
    }
}

/// The line at the top of every page but the desk: where one is, where one can go, and how fresh it is.
pub(super) fn ways(caller: &Caller, queue: Option<&str>, here: &str) -> Markup {
    let way = |path: String, name: &str| {
        html! { a href=(path) aria-current=[(name == here).then_some("page")] { (name) } }
    };
    html! {
        header class="top" {
            a class="brand" href="/" { "Jurybox" }
            nav aria-label="Pages" {
                @match queue {
                    Some(queue) => {
                        span class="where" { (queue) }
                        (way(format!("/q/{queue}"), "Queue"))
                        (way(format!("/q/{queue}/reviewers"), "Reviewers"))
                        @if caller.may(Role::Review) { (way(format!("/q/{queue}/desk"), "Desk")) }
                    }
                    None => {
                        (way("/".into(), "Queues"))
                        a href="/api" { "API" }
                    }
                }
            }
            span class="fresh" { span #fresh { "as of now" } " " i #pulse aria-hidden="true" {} }
            @if caller.has_session() {
                form class="leave" method="post" action="/logout" { button { "Log out" } }
            }
        }
    }
}

/// Every page has its own policy; who may not see it is shown the door, and what is wrong is said in a page.
pub(super) async fn dressed(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (person, asked) = (accepts.contains("text/html"), request.method() == Method::GET);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_string();
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions().get::<Problem>().cloned()
        && person
    {
        if response.status() == StatusCode::UNAUTHORIZED && asked {
            response = Redirect::to(&format!("/login?next={}", in_address(&path))).into_response();
        } else {
            let status = response.status();
            response = (status, Page::new("Something is in the way", &wrong(&problem))).into_response();
            // For the log.
            response.extensions_mut().insert(problem);
        }
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Without any, a browser would not say either where a form comes from.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// What is wrong, in words.
fn wrong(problem: &Problem) -> Markup {
    html! {
        main class="door" {
            h1 { "Something is in the way" }
            p { (problem.detail()) }
            p class="small" { (problem.advice()) }
            p { a href="/" { "All queues" } }
        }
    }
}
