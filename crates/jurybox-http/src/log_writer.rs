//! The log's way out. Whoever reads standard error may be slow, or have stopped: answers do not wait for that. A thread of its own
//! writes; what does not fit between is counted and left out.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Lines that wait for whoever reads them.
const WAITING: usize = 8192;
/// How long the last lines may take once the server ends.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where lines are put that are to be written.
pub(crate) struct LogWriter {
    lines: Option<SyncSender<String>>,
    dropped: Arc<AtomicU64>,
    ended: Mutex<Receiver<()>>,
}

impl LogWriter {
    /// Writes to standard error.
    pub(crate) fn new() -> Self {
        LogWriter::to(std::io::stderr(), WAITING)
    }

    fn to(mut out: impl Write + Send + 'static, waiting: usize) -> Self {
        let (lines, inbox) = sync_channel::<String>(waiting);
        let (end, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = dropped.clone();
        std::thread::spawn(move || {
            let mut told = 0;
            for line in inbox {
                // That nobody reads it is no reason to stop.
                let _ = writeln!(out, "{line}");
                let missing = counted.load(Ordering::Relaxed);
                if missing > told {
                    let _ = writeln!(out, "{{\"level\":\"warn\",\"log_lines_dropped\":{}}}", missing - told);
                    told = missing;
                }
            }
            let _ = end.send(());
        });
        LogWriter { lines: Some(lines), dropped, ended: Mutex::new(ended) }
    }

    /// Has a line written, and does not wait for it.
    pub(crate) fn line(&self, line: String) {
        let sent = self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok());
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were left out.
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

    /// Takes nothing before it is let go.
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
        // One may be on its way out, four wait.
        let dropped = writer.dropped();
        assert!((15..=16).contains(&dropped), "{dropped}");
        drop(stopped);
        drop(writer);
        let text = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("line 0\n"), "{text}");
        assert!(text.contains(&format!("\"log_lines_dropped\":{dropped}")), "{text}");
    }
}
