//! The output of commands: messages, documents and their schemas, pages, terminals.

mod conventions;
mod fit_warnings;
#[path = "../folder/mod.rs"]
mod folder;
mod schemas;
mod support;
#[cfg(unix)]
mod terminal;
