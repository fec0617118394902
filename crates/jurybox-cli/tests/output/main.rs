//! What comes out of the command, and where: results and messages, documents and their schemas, pages, a terminal.

mod concerns;
#[path = "../folder/mod.rs"]
mod folder;
mod habits;
mod schemas;
mod support;
#[cfg(unix)]
mod terminal;
