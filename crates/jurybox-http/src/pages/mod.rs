//! The pages: a desk to review at, and what there is to see of the queues. Made on the server, alive without a script, livelier with one.
//!
//! A page is a handler that returns [`shell::Page`]. `live.rs` says over a stream which queue has changed, and the page's script asks for the
//! panels of that queue again: each is a part of the same page, by its name (`?panel=`). Nothing is loaded from elsewhere, nothing inline
//! runs, and what comes from outside passes `maud`, which escapes it, or one of the renderers of `payload/`, which let through nothing else
//! than they make.

mod alike;
mod assets;
mod desk;
mod events;
mod figures;
mod format;
mod go;
mod item;
mod live;
mod login;
mod overview;
mod packed;
mod payload;
mod posted;
mod queue;
mod reviewers;
mod session;
mod shell;
#[cfg(test)]
mod weight;

pub(crate) use live::{Watch, watch};
pub(crate) use session::Sessions;
pub(crate) use shell::{explain, is_person};

use crate::app::App;
use crate::guard::{Need, guard};
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
        ("/go", &[Read, Review], get(go::page)),
        ("/login", &[], get(login::page).post(login::enter)),
        ("/logout", &[], post(login::leave)),
        ("/assets/{version}/{name}", &[], get(assets::asset)),
        ("/q/{queue}", &[Read], get(queue::page)),
        ("/q/{queue}/audit", &[Read], get(events::page)),
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
        let need = Need { app: app.clone(), roles: roles.to_vec(), page: true };
        // The last one is the outermost.
        let guarded = handler
            .route_layer(from_fn(note_caller))
            .route_layer(from_fn_with_state(need, guard))
            .route_layer(from_fn(shell::dressed))
            .route_layer(from_fn(packed::packed));
        router = router.route(path, guarded);
    }
    router
}
