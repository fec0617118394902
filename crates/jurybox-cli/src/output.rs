//! Standard output: JSON documents for programs, tables for people.

use crate::messages::warnings;
use jurybox_files::plain;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The version of the JSON documents. It rises when a field is removed or changes, not when one is
/// added.
const VERSION: u32 = 2;

/// A document with its format and version. The format is `jurybox-` and the name of the command.
#[derive(Serialize)]
struct VersionedDocument<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    body: T,
}

/// Writes a JSON document with its format and version.
pub(crate) fn versioned(command: &str, body: impl Serialize) -> anyhow::Result<()> {
    document(&VersionedDocument { format: format!("jurybox-{command}"), version: VERSION, body })
}

/// Writes a JSON document with its format. The `version` is a field of `body`.
pub(crate) fn named(command: &str, body: impl Serialize) -> anyhow::Result<()> {
    document(&NamedDocument { format: format!("jurybox-{command}"), body })
}

#[derive(Serialize)]
struct NamedDocument<T> {
    format: String,
    #[serde(flatten)]
    body: T,
}

/// A value as JSON, with some of its top-level fields renamed. `names` has pairs of the stored name
/// and the name in documents.
pub(crate) fn renamed(value: impl Serialize, names: &[(&str, &str)]) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    if let Value::Object(fields) = &mut value {
        let renamed = |name: String| {
            names.iter().find(|(stored, _)| *stored == name).map_or(name, |(_, shown)| (*shown).into())
        };
        *fields = std::mem::take(fields).into_iter().map(|(name, field)| (renamed(name), field)).collect();
    }
    Ok(value)
}

/// Whether a file is standard output by another name.
pub(crate) fn is_stdout(file: &Path) -> bool {
    const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    STDOUT.iter().any(|name| file.as_os_str() == *name)
}

/// Whether one of these output files is standard output. Then nothing else may be printed there.
///
/// # Errors
///
/// If more than one output goes to standard output. The document of `--json` counts as one.
pub(crate) fn uses_stdout<'a>(
    files: impl IntoIterator<Item = &'a PathBuf>,
    json: bool,
) -> anyhow::Result<bool> {
    let files = files.into_iter().filter(|file| is_stdout(file)).count();
    anyhow::ensure!(
        files + usize::from(json) < 2,
        "standard output has room for one document; write the others to files"
    );
    Ok(files > 0)
}

/// A document with the warnings of this run at its end, if there are any.
#[derive(Serialize)]
struct WarnedDocument<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    table_warnings: Vec<String>,
}

/// Prints a JSON document on standard output, with the warnings of this run at its end.
pub(crate) fn document(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(&WarnedDocument { value, table_warnings: warnings() })?;
    text.push('\n');
    text_to_stdout(&text)
}

/// Prints text on standard output. On a terminal, control characters other than line ends are
/// escaped; files and pipes get the text unchanged.
pub(crate) fn text_to_stdout(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { plain(text, true) } else { text.into() };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Whether an error is a broken pipe: the reader of the output has left, as `| head` does.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
