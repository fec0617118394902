//! Standard output: documents for machines and tables for people, written in one place.

use crate::messages::warned;
use jurybox_files::plain;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// The version of the documents. Fields may be added under one version; it rises when one is taken away or changes.
const VERSION: u32 = 2;

/// A document that says what it is: `format` is `jurybox-` and the command's name.
#[derive(Serialize)]
struct Versioned<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    body: T,
}

/// Writes one JSON document with its format and version.
pub(crate) fn versioned(command: &str, body: impl Serialize) -> anyhow::Result<()> {
    document(&Versioned { format: format!("jurybox-{command}"), version: VERSION, body })
}

/// Writes one JSON document that knows its version, with its format.
pub(crate) fn named(command: &str, body: impl Serialize) -> anyhow::Result<()> {
    document(&Named { format: format!("jurybox-{command}"), body })
}

#[derive(Serialize)]
struct Named<T> {
    format: String,
    #[serde(flatten)]
    body: T,
}

/// Whether a file that was asked for is standard output, and no place for anything else then. Two documents on it are refused.
pub(crate) fn is_given_away<'a>(
    files: impl IntoIterator<Item = &'a PathBuf>,
    json: bool,
) -> anyhow::Result<bool> {
    const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    let files = files.into_iter().filter(|file| STDOUT.iter().any(|name| file.as_os_str() == *name)).count();
    anyhow::ensure!(
        files + usize::from(json) < 2,
        "standard output has room for one document; write the others to files"
    );
    Ok(files > 0)
}

/// A document, and at its end what the person was warned of, where that was anything.
#[derive(Serialize)]
struct Whole<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    table_warnings: Vec<String>,
}

/// Writes one JSON document.
pub(crate) fn document(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(&Whole { value, table_warnings: warned() })?;
    text.push('\n');
    text_to_stdout(&text)
}

/// Writes text: as it is to a file or a pipe, without what a terminal would act on to a terminal.
pub(crate) fn text_to_stdout(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { plain(text, true) } else { text.into() };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Whether an error means that nobody reads our output any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
