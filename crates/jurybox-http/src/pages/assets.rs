//! The style sheet and the scripts, embedded in the program. Their URL contains a hash of them.

use super::format::hex;
use crate::handlers::no_asset;
use crate::problem::Problem;
use axum::extract::RawPathParams;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The scripts: file name and text.
const SCRIPTS: [(&str, &str); 12] = [
    ("live.js", include_str!("assets/live.js")),
    ("charts.js", include_str!("assets/charts.js")),
    ("palette.js", include_str!("assets/palette.js")),
    ("times.js", include_str!("assets/times.js")),
    ("desk.js", include_str!("assets/desk.js")),
    ("bar.js", include_str!("assets/bar.js")),
    ("drafts.js", include_str!("assets/drafts.js")),
    ("outbox.js", include_str!("assets/outbox.js")),
    ("undoable.js", include_str!("assets/undoable.js")),
    ("skips.js", include_str!("assets/skips.js")),
    ("tabs.js", include_str!("assets/tabs.js")),
    ("undo.js", include_str!("assets/undo.js")),
];

/// A script without indentation, empty lines and lines of comments. This is safe because no string
/// in the scripts spans lines.
fn minified(script: &str) -> String {
    let lines =
        script.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.fold(String::with_capacity(script.len()), |text, line| text + line + "\n")
}

/// The style sheet: the rules of all charts, then those of the pages.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    jurybox_draw::style() + include_str!("assets/page.css") + include_str!("assets/desk.css")
});

/// The URL path of the assets, with a hash of their content.
pub(super) static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    hash.update(STYLE.as_str());
    for (_, script) in SCRIPTS {
        hash.update(script);
    }
    format!("/assets/{}", hex(&hash.finalize()[..6]))
});

/// Browsers may keep an asset for a year, because changed content has another URL.
const KEPT: &str = "public, max-age=31536000, immutable";

pub(super) async fn asset(params: RawPathParams) -> Result<Response, Problem> {
    let name = params.iter().find(|(name, _)| *name == "name").map(|(_, value)| value.to_string());
    let (kind, text) = match name.as_deref() {
        Some("page.css") => ("text/css; charset=utf-8", STYLE.clone()),
        name => {
            let script = SCRIPTS.iter().find(|(script, _)| Some(*script) == name).ok_or_else(no_asset)?;
            ("text/javascript; charset=utf-8", minified(script.1))
        }
    };
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, KEPT)], text).into_response())
}
