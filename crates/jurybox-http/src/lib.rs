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

mod connection_limit;
mod app;
mod body;
mod rate_limit;
mod demo;
mod export;
mod guard;
mod handlers;
mod webhooks;
mod listen;
mod log_writer;
mod metrics;
mod observe;
mod openapi;
mod origin;
mod pages;
mod write_timeout;
mod problem;
mod process_metrics;
mod unread_body;
mod routes;
mod settings;
mod time;
mod tls;
mod wire;

pub use app::App;
pub use demo::DemoControl;
pub use export::{columns as export_columns, pages as export_pages};
pub use listen::{Listening, listen};
pub use problem::Problem;
pub use settings::{Limits, LogFormat, Proxy, Settings, Tls, Webhooks};
pub use tls::TlsCertificate;
pub use wire::report_document;
