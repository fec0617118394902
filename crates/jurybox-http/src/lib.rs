//! The HTTP server of Jurybox: the API under `/v1`, HTML pages, keys, limits, metrics and webhooks.
//!
//! # Design
//!
//! [`jurybox_server::Service`] implements queues and knows nothing of HTTP. This crate knows HTTP
//! and leaves queues to the service.
//!
//! - Every API route is an entry of one table (`routes.rs`) with method, path, role and schemas.
//!   The router, access control and the OpenAPI document read this table.
//! - A request passes `observe` (id, log line, metrics, headers), a handler for panics, `guard`
//!   (authentication, rate limit, roles), and its handler.
//! - Bodies are read by `body` and by `item_stream` within limits of size and time.
//! - A request that changes a queue's items or settings goes to the queue's worker without blocking
//!   a thread. Reads run on threads that may block.
//! - Handlers answer every error as a [`Problem`].
#![forbid(unsafe_code)]

mod app;
mod body;
mod connection_limit;
mod demo;
mod export;
mod guard;
mod handlers;
mod listen;
mod log_writer;
mod metrics;
mod observe;
mod openapi;
mod origin;
mod pages;
mod problem;
mod process_metrics;
mod rate_limit;
mod routes;
mod settings;
mod time;
mod tls;
mod unread_body;
mod webhooks;
mod wire;
mod write_timeout;

pub use app::App;
pub use demo::DemoControl;
pub use export::{columns as export_columns, pages as export_pages};
pub use listen::{Listening, listen};
pub use problem::Problem;
pub use settings::{Limits, LogFormat, Proxy, Settings, Tls, Webhooks};
pub use tls::TlsCertificate;
pub use wire::report_document;
