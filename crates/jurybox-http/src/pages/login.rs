//! The login page: a key is entered once, and a session cookie stands for it.

use super::form::{FormOrJson, redirect};
use super::layout::{Page, frame};
use super::session::{COOKIE, LASTS, set_cookie};
use crate::app::App;
use crate::guard::{Peer, refresh_keys, verify_secret};
use crate::handlers::QueryParams;
use crate::origin::same_origin;
use crate::problem::Problem;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

/// The query: the page to go to after the login.
#[derive(Deserialize)]
pub(super) struct LoginQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(super) struct LoginForm {
    key: String,
    #[serde(default)]
    next: String,
}

/// The path to redirect to. `/` if `next` could lead to another server.
fn own_path(next: &str) -> &str {
    let plain = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    let clean = plain && next.bytes().all(|byte| byte.is_ascii_graphic());
    if clean { next } else { "/" }
}

fn form(next: &str, wrong: bool) -> Markup {
    html! {
        main class="door" {
            h1 { "Jurybox" }
            form method="post" action="/login" {
                input type="hidden" name="next" value=(next);
                label for="key" { "Your key" }
                input #key type="password" name="key" required autofocus autocomplete="current-password"
                    aria-describedby="about";
                @if wrong { p class="bad" role="alert" { "This key is not valid here. It may have been revoked." } }
                button class="main" { "Log in" }
                p #about class="small" {
                    "The administrator of this server makes keys: " code { "jurybox server key add NAME --role review" }
                    ". You stay logged in for twelve hours. The key itself is not stored in the browser."
                }
            }
        }
    }
}

pub(super) async fn page(State(app): State<App>, QueryParams(wanted): QueryParams<LoginQuery>) -> Response {
    refresh_keys(&app).await;
    if app.is_open() {
        return redirect("/");
    }
    Page::new("Log in · Jurybox", &form(own_path(&wanted.next), false)).into_response()
}

/// Begins a session for a valid key, and sets its cookie.
pub(super) async fn enter(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    FormOrJson { body: said, .. }: FormOrJson<LoginForm>,
) -> Result<Response, Problem> {
    same_origin(&app, &Method::POST, &headers, peer.map(|peer| peer.0.0.ip()), true)?;
    let next = own_path(&said.next);
    let word = verify_secret(&app, said.key.trim()).await.and_then(|key| app.0.sessions.begin(key));
    let Some(word) = word else {
        let page = frame("Log in · Jurybox", &form(next, true));
        return Ok((StatusCode::UNAUTHORIZED, axum::response::Html(page.into_string())).into_response());
    };
    let cookie = set_cookie(&app, &headers, (COOKIE, &word), LASTS.as_secs());
    Ok(([(header::SET_COOKIE, cookie)], redirect(next)).into_response())
}

/// Ends the session.
pub(super) async fn leave(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    same_origin(&app, &Method::POST, &headers, peer.map(|peer| peer.0.0.ip()), true)?;
    app.0.sessions.end(&headers);
    Ok(([(header::SET_COOKIE, set_cookie(&app, &headers, (COOKIE, ""), 0))], redirect("/login"))
        .into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_redirects_within_the_server_only() {
        assert_eq!(own_path("/q/posts?panel=top"), "/q/posts?panel=top");
        for elsewhere in
            ["", "https://evil.test/", "//evil.test", "/\\evil.test", "/a\r\nset-cookie: b", "javascript:x"]
        {
            assert_eq!(own_path(elsewhere), "/", "{elsewhere}");
        }
    }
}
