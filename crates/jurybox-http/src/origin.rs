//! Protection against cross-site requests (CSRF): a page of another site cannot change anything
//! here.

use crate::app::App;
use crate::problem::Problem;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use std::net::IpAddr;

/// Refuses a request from a page of another site by the `Origin` header, which browsers send with
/// every form. GET and HEAD pass, and so do requests without the header that are not `by_browser`.
///
/// Host and port of the origin must equal the request's `Host`, or the `X-Forwarded-Host` that a
/// trusted proxy sends.
pub(crate) fn same_origin(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    by_browser: bool,
) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let value_of = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if !headers.contains_key(header::ORIGIN) && !by_browser {
        return Ok(());
    }
    let origin = value_of(header::ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, name)| name);
    let host = value_of(header::HOST);
    let proxy = app.0.settings.proxy.as_ref().filter(|proxy| proxy.is_at(peer));
    let forwarded = proxy.and_then(|_| value_of(HeaderName::from_static("x-forwarded-host")));
    if origin.is_some() && (origin == host || origin == forwarded) {
        return Ok(());
    }
    let detail = match (origin, host) {
        (Some(origin), Some(host)) => format!(
            "the request comes from a page of another site: the page is at {origin:?}, and the request is to {host:?}"
        ),
        _ => "the request comes from a page of another site".into(),
    };
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "cross_origin",
        detail,
        "Use a page of this server, or a program. Behind a proxy, make it pass on the Host header; for nginx: proxy_set_header Host $http_host.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Proxy, Settings};

    #[test]
    fn a_page_is_from_where_the_server_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let service = jurybox_server::Service::open(folder.path(), std::time::Duration::ZERO).unwrap();
        let from = vec!["10.0.0.5".parse().unwrap()];
        let proxy = Proxy { header: "x-user".into(), from, roles: Vec::new() };
        let app = App::new(service, Settings { proxy: Some(proxy), ..Settings::default() });
        let ask = |headers: &[(&'static str, &str)], peer: &str| {
            let all = headers.iter().map(|(name, value)| {
                (HeaderName::from_static(name), value.parse::<axum::http::HeaderValue>().unwrap())
            });
            same_origin(&app, &Method::POST, &all.collect(), peer.parse().ok(), true)
        };
        let page = ("origin", "https://desk.example:8443");
        assert!(ask(&[page, ("host", "desk.example:8443")], "1.2.3.4").is_ok());
        let refused = ask(&[page, ("host", "127.0.0.1:8686")], "10.0.0.5").unwrap_err();
        assert_eq!((refused.status(), refused.code()), (403, "cross_origin"));
        assert!(
            refused.detail().contains("desk.example:8443") && refused.detail().contains("127.0.0.1:8686")
        );
        assert!(refused.advice().contains("proxy_set_header Host"), "the advice names the setting");
        // Only a trusted proxy may send the host in `X-Forwarded-Host`.
        let forwarded = [page, ("host", "127.0.0.1:8686"), ("x-forwarded-host", "desk.example:8443")];
        assert!(ask(&forwarded, "10.0.0.5").is_ok());
        assert!(ask(&forwarded, "10.0.0.6").is_err());
        for origin in ["null", "https://evil.example", ""] {
            assert!(ask(&[("origin", origin), forwarded[1], forwarded[2]], "10.0.0.5").is_err(), "{origin}");
        }
        assert!(
            ask(&[("host", "desk.example")], "10.0.0.5").is_err(),
            "a browser always sends `Origin` with a form"
        );
    }
}
