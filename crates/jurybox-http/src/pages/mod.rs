//! The pages: a desk to review at, and what there is to see of the queues. Made on the server, alive without a script, livelier with one.
//!
//! A page is a handler that returns [`layout::Page`]. `live.rs` says over a stream which queue has changed, and the page's script asks for the
//! panels of that queue again: each is a part of the same page, by its name (`?panel=`). Nothing is loaded from elsewhere, nothing inline
//! runs, and what comes from outside passes `maud`, which escapes it, or one of the renderers of `payload/`, which let through nothing else
//! than they make.

mod error_correlation;
mod assets;
mod desk;
mod activity;
mod snapshot;
mod format;
mod destinations;
mod item;
mod live;
mod login;
mod overview;
mod gzip;
mod payload;
mod form;
mod queue;
mod reviewers;
mod session;
mod layout;
#[cfg(test)]
mod page_size;

pub(crate) use live::{LiveUpdates, watch};
pub(crate) use session::Sessions;
pub(crate) use layout::{explain, is_person};

use crate::app::App;
use crate::guard::{RouteAccess, guard};
use crate::handlers::export;
use crate::observe::note_caller;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use jurybox_server::Role;

/// The pages, who may see them, and what is done there. None: anybody.
#[rustfmt::skip]
pub(crate) fn table() -> Vec<(&'static str, &'static [Role], MethodRouter<App>)> {
    use Role::{Admin, Read, Review};
    vec![
        ("/", &[Read, Review], get(overview::page)),
        ("/live", &[Read], get(live::stream)),
        ("/go", &[Read, Review], get(destinations::page)),
        ("/login", &[], get(login::page).post(login::enter)),
        ("/logout", &[], post(login::leave)),
        ("/assets/{version}/{name}", &[], get(assets::asset)),
        ("/q/{queue}", &[Read], get(queue::page)),
        ("/q/{queue}/audit", &[Read], get(activity::page)),
        ("/q/{queue}/export", &[Read], get(export::export)),
        ("/q/{queue}/items/{item}", &[Read], get(item::page)),
        ("/q/{queue}/reviewers", &[Read], get(reviewers::page)),
        ("/q/{queue}/mute", &[Read], get(queue::mute::preview)),
        ("/q/{queue}/mute/now", &[Admin], post(queue::mute::now)),
        ("/q/{queue}/desk", &[Review], get(desk::page)),
        ("/q/{queue}/desk/who", &[Review], post(desk::who)),
        ("/q/{queue}/desk/next", &[Review], post(desk::next)),
        ("/q/{queue}/desk/verdict", &[Review], post(desk::verdict)),
        ("/q/{queue}/desk/skip", &[Review], post(desk::skip)),
        ("/q/{queue}/desk/undo", &[Review], post(desk::undo)),
        ("/q/{queue}/desk/keep", &[Review], post(desk::keep)),
        ("/q/{queue}/desk/leave", &[Review], post(desk::leave)),
    ]
}

/// All pages, guarded as the rest, with the headers and the words of pages.
pub(crate) fn router(app: &App) -> Router<App> {
    let mut router = Router::new();
    for (path, roles, handler) in table() {
        let need = RouteAccess { app: app.clone(), roles: roles.to_vec(), page: true };
        // The last one is the outermost.
        let guarded = handler
            .route_layer(from_fn(note_caller))
            .route_layer(from_fn_with_state(need, guard))
            .route_layer(from_fn(layout::page_headers))
            .route_layer(from_fn(gzip::gzip));
        router = router.route(path, guarded);
    }
    router
}
