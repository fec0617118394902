//! The HTML pages, rendered on the server: overview, queue, desk, item, reviewers, activity, login.
//!
//! Pages work without scripts. With scripts, `live.rs` streams which queue has changed, and the
//! page fetches the panels of that queue again, each by its id (`?panel=`). Pages load nothing from
//! elsewhere and run nothing inline. Text from outside passes `maud`, which escapes it, or a
//! renderer of `payload/`, which emits only its own tags.

mod activity;
mod assets;
mod desk;
mod destinations;
mod error_correlation;
mod form;
mod format;
mod gzip;
mod item;
mod layout;
mod live;
mod login;
mod overview;
#[cfg(test)]
mod page_size;
mod payload;
mod queue;
mod reviewers;
mod session;
mod snapshot;
mod wording;

pub(crate) use layout::{explain, is_person};
pub(crate) use live::{LiveUpdates, watch};
pub(crate) use session::Sessions;

use crate::app::App;
use crate::guard::{RouteAccess, guard};
use crate::handlers::export;
use crate::observe::note_caller;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use jurybox_server::Role;

/// The routes of the pages: path, roles, handler. Any one of the roles gives access; without roles
/// everybody has access.
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
        ("/q/{queue}/activity", &[Read], get(activity::page)),
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

/// The router of the pages, with access checks, page headers and compression.
pub(crate) fn router(app: &App) -> Router<App> {
    let mut router = Router::new();
    for (path, roles, handler) in table() {
        let need = RouteAccess { app: app.clone(), roles: roles.to_vec(), page: true };
        // The layer added last runs first.
        let guarded = handler
            .route_layer(from_fn(note_caller))
            .route_layer(from_fn_with_state(need, guard))
            .route_layer(from_fn(layout::page_headers))
            .route_layer(from_fn(gzip::gzip));
        router = router.route(path, guarded);
    }
    router
}
