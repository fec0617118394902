//! A writer for log lines that never blocks a request. A thread writes to standard error; lines
//! that do not fit into its buffer are counted and dropped.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most lines that wait to be written.
const WAITING: usize = 8192;
/// How long dropping the writer waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The sending side of the log. Dropping it waits up to a second for the waiting lines.
pub(crate) struct LogWriter {
    lines: Option<SyncSender<String>>,
    dropped: Arc<AtomicU64>,
    ended: Mutex<Receiver<()>>,
}

impl LogWriter {
    /// A writer to standard error.
    pub(crate) fn new() -> Self {
        LogWriter::to(std::io::stderr(), WAITING)
    }

    fn to(mut out: impl Write + Send + 'static, waiting: usize) -> Self {
        let (lines, inbox) = sync_channel::<String>(waiting);
        let (end, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = dropped.clone();
        std::thread::spawn(move || {
            let mut reported = 0;
            for line in inbox {
                // A closed standard error is no reason to stop.
                let _ = writeln!(out, "{line}");
                let missing = counted.load(Ordering::Relaxed);
                if missing > reported {
                    let _ =
                        writeln!(out, "{{\"level\":\"warn\",\"log_lines_dropped\":{}}}", missing - reported);
                    reported = missing;
                }
            }
            let _ = end.send(());
        });
        LogWriter { lines: Some(lines), dropped, ended: Mutex::new(ended) }
    }

    /// Passes a line to the writing thread without waiting. A line is dropped if the buffer is
    /// full.
    pub(crate) fn line(&self, line: String) {
        let sent = self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok());
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of dropped lines.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Ok(ended) = self.ended.get_mut() {
            let _ = ended.recv_timeout(LAST_LINES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that blocks while its lock is held.
    struct BlockedWriter(Arc<Mutex<Vec<u8>>>);

    impl Write for BlockedWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_stopped_stops_nobody() {
        let read = Arc::new(Mutex::new(Vec::new()));
        let writer = LogWriter::to(BlockedWriter(read.clone()), 4);
        let stopped = read.lock().unwrap();
        for at in 0..20 {
            writer.line(format!("line {at}"));
        }
        // Of 20 lines, at most one is being written and four are in the buffer.
        let dropped = writer.dropped();
        assert!((15..=16).contains(&dropped), "{dropped}");
        drop(stopped);
        drop(writer);
        let text = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("line 0\n"), "{text}");
        assert!(text.contains(&format!("\"log_lines_dropped\":{dropped}")), "{text}");
    }
}
