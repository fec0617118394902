//! The frame of every page: its head, navigation and headers, and the error page.

use super::assets::FOLDER;
use super::format::{clock, in_address, now};
use crate::guard::Caller;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use jurybox_draw::prose;
use jurybox_server::Role;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The content security policy of pages: styles, scripts, requests, frames and forms of this server
/// only, and pictures within the page (`data:`).
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A millisecond in microseconds.
const MILLISECOND: i64 = 1000;

/// A panel alone, with a header that says when its data was read.
pub(super) fn panel_response(inner: &Markup, read: i64) -> Response {
    let headers = [("Jurybox-As-Of", (read / MILLISECOND).to_string())];
    (headers, Html(inner.0.clone())).into_response()
}

/// A whole page.
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

/// The HTML document around a body.
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

/// The header of every page that belongs to a queue or lists queues: the links, with the current
/// one marked, and the age of the data. The desk has a header of its own.
pub(super) fn navigation(caller: &Caller, queue: Option<&str>, here: &str, read: Option<i64>) -> Markup {
    let link = |path: String, name: &str| {
        html! { a href=(path) aria-current=[(name == here).then_some("page")] { (name) } }
    };
    html! {
        header class="top" {
            a class="brand" href="/" { "Jurybox" }
            nav aria-label="Pages" {
                @match queue {
                    Some(queue) => {
                        span class="where" { (queue) }
                        (link(format!("/q/{queue}"), "Queue"))
                        (link(format!("/q/{queue}/reviewers"), "Reviewers"))
                        (link(format!("/q/{queue}/activity"), "Activity"))
                        @if caller.may(Role::Review) { (link(format!("/q/{queue}/desk"), "Desk")) }
                    }
                    None => {
                        (link("/".into(), "Queues"))
                        a href="/api" { "API" }
                    }
                }
            }
            a class="go" href=(super::destinations::address(queue)) title="Type a few letters to go to a page: / or Ctrl-K" { "Go to " kbd { "/" } }
            @if let Some(read) = read {
                span class="fresh" {
                    span #fresh data-at=(read / MILLISECOND) data-age=((now() - read) / MILLISECOND) { "as of " (clock(read)) " UTC" }
                    " " i #pulse aria-hidden="true" {}
                }
            }
            @if caller.has_session() {
                form class="leave" method="post" action="/logout" { button { "Log out" } }
            }
        }
    }
}

/// Whether the client is a browser that wants HTML, by the `Accept` header.
pub(crate) fn is_person(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accepts.contains("text/html") && !accepts.contains("json")
}

/// Middleware: sets the headers of pages. A browser that would get the status 401 is redirected to
/// the login page instead.
pub(super) async fn page_headers(request: Request, next: Next) -> Response {
    let asked = is_person(request.headers()) && request.method() == Method::GET;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_string();
    let mut response = next.run(request).await;
    if asked
        && response.status() == StatusCode::UNAUTHORIZED
        && response.extensions().get::<Problem>().is_some()
    {
        response = Redirect::to(&format!("/login?next={}", in_address(&path))).into_response();
    }
    set_page_headers(response.headers_mut());
    response
}

/// Sets the security headers of a page.
fn set_page_headers(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // With `no-referrer`, browsers send `Origin: null` with forms, which the origin check refuses.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}

/// Replaces the body of a problem by a page for people. Status and code stay.
pub(crate) fn explain(response: &mut Response, problem: &Problem, id: &str, path: &str) {
    let page = frame("Jurybox", &error_page(problem, id, path)).into_string();
    *response.body_mut() = Body::from(page);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    set_page_headers(headers);
}

/// The body of the error page: the problem, the advice, and links to go on.
fn error_page(problem: &Problem, id: &str, path: &str) -> Markup {
    let title = match problem.status() {
        401 => "A key is needed",
        403 => "You may not see this",
        404 => "Not found",
        409 => "Something has changed in the meantime",
        429 | 503 => "Please try again later",
        500.. => "Something went wrong",
        _ => "This is not possible",
    };
    let queue = path.strip_prefix("/q/").and_then(|rest| rest.split('/').next());
    let queue = queue.filter(|_| problem.code() != "no_queue" && problem.status() != 403);
    let at_desk = queue.filter(|queue| path[3 + queue.len()..].starts_with("/desk"));
    html! {
        main class="door" {
            h1 { (title) }
            p { (PreEscaped(prose(&sentence(problem.detail())))) }
            p class="small" { (PreEscaped(prose(problem.advice()))) }
            @if let Some(seconds) = problem.seconds() { p class="small" { "Try again in " (seconds) " s." } }
            p class="ways-on" {
                @if let Some(queue) = at_desk { a href={ "/q/" (queue) "/desk" } { "Back to the desk" } }
                @else if let Some(queue) = queue { a href={ "/q/" (queue) } { "Queue " (queue) } }
                a href="/" { "All queues" }
                @if problem.status() == 401 { a href="/login" { "Log in" } }
            }
            p class="small" { (problem.status()) " " code { (problem.code()) } " · request " code { (id) } }
        }
    }
}

/// A message as a sentence: with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
