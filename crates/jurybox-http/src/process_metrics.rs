//! Metrics of this process under Prometheus's standard names: CPU time, memory, open files and
//! start time. They are read from `/proc`; systems without it have none.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// Linux's clock ticks per second (`USER_HZ`), on every platform that Jurybox is built for.
const TICKS: f64 = 100.0;

/// A collector that reads the metrics whenever they are requested.
#[derive(Debug)]
pub(crate) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        let (stat, status) = (read("self/stat"), read("self/status"));
        let seconds = |field: usize| Some(field_of(&stat, field)? / TICKS);
        let kibibytes = |name: &str| Some(number_after(&status, name)? * 1024.0);
        let cpu = seconds(14).zip(seconds(15)).map(|(user, system)| user + system);
        if let Some(cpu) = cpu {
            let counter = ConstCounter::new(cpu);
            let help = "CPU time of this process, user and system, in seconds";
            counter.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        let open = std::fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
        let booted = number_after(&read("stat"), "btime");
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory of this process", kibibytes("VmRSS:")),
            ("process_virtual_memory_bytes", "Virtual memory of this process", kibibytes("VmSize:")),
            ("process_open_fds", "Open files, sockets and pipes of this process", open),
            (
                "process_max_fds",
                "The most files that may be open",
                number_after(&read("self/limits"), "Max open files"),
            ),
            (
                "process_start_time_seconds",
                "Start time of this process, in seconds since 1970",
                booted.zip(seconds(22)).map(|(booted, since)| booted + since),
            ),
        ] {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

/// The number in a field of `/proc/self/stat`, counted from 1. None for the first two fields. The
/// second, the program's name in brackets, may contain spaces and brackets.
fn field_of(stat: &str, field: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(field.checked_sub(3)?)?.parse().ok()
}

/// The number after `word`, in the first line that begins with `word`.
fn number_after(text: &str, word: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 1 0 12345 4096 1";
        assert_eq!([14, 15, 22].map(|field| field_of(stat, field)), [250.0, 50.0, 12345.0].map(Some));
        assert_eq!((field_of("", 14), field_of(stat, 2), field_of(stat, 99)), (None, None, None));
        assert_eq!(number_after("VmSize:\t 12 kB\nVmRSS:\t  8 kB\n", "VmRSS:"), Some(8.0));
        assert_eq!(number_after("Max open files  unlimited  unlimited files\n", "Max open files"), None);
    }
}
