//! Queues over HTTP: `/v1`, keys, limits, metrics, and the document that describes it.
//!
//! # The design in six sentences
//!
//! [`jurybox_server::Service`] knows everything about queues and nothing of HTTP; this crate is the other way round. Every route is one
//! line of a table (`routes.rs`), which says its method, path, role and schemas: the router, the check of keys and the OpenAPI document are
//! all made of that table, so that they cannot disagree. A request passes, from the outside in: `observe` (an id, a line in the log,
//! metrics, headers), a net for panics, `guard` (who asks, and may they; how often), and its handler. Bodies are read by `body` alone,
//! within limits of size and time. Requests that change a queue go to its clerk without holding a thread; what looks at a queue waits
//! on a thread for that. Every error is a [`Problem`].
#![forbid(unsafe_code)]

mod addresses;
mod app;
mod body;
mod buckets;
mod demo;
mod export;
mod guard;
mod handlers;
mod hooks;
mod listen;
mod log;
mod metrics;
mod observe;
mod openapi;
mod origin;
mod pages;
mod patient;
mod problem;
mod process;
mod rest;
mod routes;
mod settings;
mod time;
mod tls;
mod wire;

pub use app::App;
pub use demo::Demo;
pub use export::{columns as export_columns, pages as export_pages};
pub use listen::{Listening, listen};
pub use problem::Problem;
pub use settings::{Limits, Log, Proxy, Settings, Tls, Webhooks};
pub use tls::Certificate;
pub use wire::report_document;
