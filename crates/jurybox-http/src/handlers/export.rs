//! The handler for exports: a table is sent while its rows are still being read.

use super::{QueryParams, QueuePath};
use crate::app::App;
use crate::export::{columns, pages};
use crate::problem::Problem;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header};
use hyper::body::Frame;
use jurybox_files::{Format, OutputLayout, RecordTable};
use jurybox_server::{Error, ExportedItem, Queue};
use serde::Deserialize;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The media types of JSON lines, CSV and Parquet.
pub(crate) const KINDS: &[&str] =
    &["application/x-ndjson", "text/csv; charset=utf-8; header=present", "application/vnd.apache.parquet"];

/// The most chunks that wait to be sent to the client.
const AHEAD: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    #[serde(default)]
    format: ExportFormat,
    #[serde(default)]
    random_checks_only: bool,
    #[serde(default = "safe")]
    safe_csv: bool,
}

/// The default of `safe_csv` is true: a spreadsheet must not run text from outside as formulas.
fn safe() -> bool {
    true
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ExportFormat {
    Csv,
    #[default]
    Jsonl,
    Parquet,
}

impl ExportFormat {
    fn about(self) -> (Format, &'static str, &'static str) {
        match self {
            ExportFormat::Jsonl => (Format::JsonLines, KINDS[0], "jsonl"),
            ExportFormat::Csv => (Format::Csv, KINDS[1], "csv"),
            ExportFormat::Parquet => (Format::Parquet, KINDS[2], "parquet"),
        }
    }
}

pub(crate) async fn export(
    State(app): State<App>,
    QueuePath(name): QueuePath,
    QueryParams(ExportQuery { format, random_checks_only, safe_csv }): QueryParams<ExportQuery>,
) -> Result<Response<Body>, Problem> {
    let Ok(room) = app.0.exports.clone().try_acquire_owned() else {
        let detail = "too many exports are running; each takes as long as its client reads";
        let advice = "Try again after the time in Retry-After.";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail, advice).retry_after(5));
    };
    let queue = app.queue(&name).await?;
    let (format, kind, ending) = format.about();
    let layout = OutputLayout { format, safe_csv };
    // An error of this first read is answered as a problem, before any byte of the table is sent.
    let asked = queue.clone();
    let tags = app.read(move || asked.tag_names()).await?;
    let (pieces, received) = channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let failed = pieces.clone();
        if let Err(error) = send(&queue, (&tags, random_checks_only), layout, ChunkWriter(pieces)) {
            // An error in the table breaks off the response, so that no client takes it for
            // complete.
            let _ = failed.blocking_send(Err(io::Error::other(error.to_string())));
        }
        drop(room);
    });
    let mut response = Response::new(Body::new(ExportBody(received)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Names of queues contain no character that must be escaped in a header.
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.{ending}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// Why an export ended early.
#[derive(Debug)]
enum ExportError {
    Queue(Error),
    Writing(jurybox_files::Error),
}

impl From<Error> for ExportError {
    fn from(error: Error) -> Self {
        ExportError::Queue(error)
    }
}

impl From<jurybox_files::Error> for ExportError {
    fn from(error: jurybox_files::Error) -> Self {
        ExportError::Writing(error)
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Queue(error) => error.fmt(f),
            ExportError::Writing(error) => error.fmt(f),
        }
    }
}

fn send(
    queue: &Queue,
    (tags, random_checks_only): (&[String], bool),
    layout: OutputLayout,
    out: ChunkWriter,
) -> Result<(), ExportError> {
    let (mut sheet, mut out): (Option<RecordTable<ExportedItem>>, _) = (None, Some(out));
    pages(
        |after, many| queue.export_page(after, many),
        |page| -> Result<(), ExportError> {
            if let Some(out) = out.take() {
                sheet = Some(RecordTable::to_stream(
                    Box::new(out),
                    layout,
                    columns(&page.evaluators, tags, random_checks_only),
                )?);
            }
            Ok(sheet.as_mut().map_or(Ok(()), |sheet| sheet.write(&page.items))?)
        },
    )?;
    Ok(sheet.map_or(Ok(()), RecordTable::finish)?)
}

/// A writer that sends chunks to the response.
struct ChunkWriter(Sender<io::Result<Bytes>>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has disconnected")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The response's body: chunks from a channel.
struct ExportBody(Receiver<io::Result<Bytes>>);

impl HttpBody for ExportBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
