//! Metrics in the OpenMetrics text format, for Prometheus.

use crate::process_metrics::Process;
use jurybox_server::{QueueStatus, Webhook};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabel {
    queue: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WebhookLabels {
    queue: String,
    webhook: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DeliveryLabels {
    arrived: &'static str,
}

type PerQueue = Family<QueueLabel, Gauge>;

/// The methods that are counted by name.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The label of a method. Unknown methods share the label `OTHER`, because clients could invent any
/// number of methods.
fn known(method: &str) -> &'static str {
    METHODS.into_iter().find(|known| *known == method).unwrap_or("OTHER")
}

/// All metrics of the server.
pub(crate) struct Metrics {
    registry: Registry,
    answered: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabel, Histogram>,
    items: PerQueue,
    pending: PerQueue,
    leased: PerQueue,
    closed: PerQueue,
    verdicts: PerQueue,
    head: PerQueue,
    lag: PerQueue,
    rankings: PerQueue,
    mismatches: PerQueue,
    behind: Family<WebhookLabels, Gauge>,
    failures: Family<WebhookLabels, Gauge>,
    off: Family<WebhookLabels, Gauge>,
    deliveries: Family<DeliveryLabels, Counter>,
    /// The number of stopped webhooks at the last check.
    webhooks_off: AtomicUsize,
    dropped: Counter,
    up: Gauge,
    disk_full: Gauge,
    /// Held while the metrics are written as text, because the gauges are set anew for every
    /// reader, to the queues that they may see.
    writing: Mutex<()>,
}

/// The buckets of response times, in seconds.
const STEPS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(Process));
        let registry = all.sub_registry_with_prefix("jurybox");
        let built = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of the program", built);
        let answered = Family::<RequestLabels, Counter>::default();
        registry.register("requests", "Requests answered", answered.clone());
        let seconds = Family::<RouteLabel, Histogram>::new_with_constructor(|| Histogram::new(STEPS));
        registry.register("request_seconds", "Response times", seconds.clone());
        let mut gauge = |name: &str, help: &str| {
            let gauge = PerQueue::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let items = gauge("queue_items", "Items that ever arrived");
        let pending = gauge("queue_pending", "Open items that no reviewer holds");
        let leased = gauge("queue_leased", "Open items that a reviewer holds");
        let closed = gauge("queue_closed", "Closed items");
        let verdicts = gauge("queue_verdicts", "Current verdicts");
        let head = gauge("queue_head", "Number of the last log entry");
        let lag = gauge("queue_model_lag", "Log entries that the ranking model has not learnt from");
        let rankings = gauge("queue_rankings", "Rankings made since the queue was opened");
        let mismatches = gauge("queue_mismatches", "Checkpoints found to differ between servers: an alarm");
        let mut of_hooks = |name: &str, help: &str| {
            let gauge = Family::<WebhookLabels, Gauge>::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let behind = of_hooks("webhook_behind", "Log entries still to be delivered to a webhook");
        let failures = of_hooks("webhook_failures", "Failed deliveries to a webhook since the last success");
        let off = of_hooks("webhook_off", "Whether a webhook was stopped after too many failures: an alarm");
        let deliveries = Family::<DeliveryLabels, Counter>::default();
        registry.register("webhook_deliveries", "Deliveries to webhooks", deliveries.clone());
        let dropped = Counter::default();
        registry.register(
            "log_lines_dropped",
            "Log lines dropped because the reader was too slow",
            dropped.clone(),
        );
        let up = Gauge::default();
        registry.register("database_up", "Whether the database answers", up.clone());
        let disk_full = Gauge::default();
        let help = "Whether the database's disk was full at the last write: an alarm";
        registry.register("disk_full", help, disk_full.clone());
        Metrics {
            disk_full,
            behind,
            failures,
            off,
            deliveries,
            webhooks_off: AtomicUsize::new(0),
            dropped,
            up,
            writing: Mutex::default(),
            registry: all,
            answered,
            seconds,
            items,
            pending,
            leased,
            closed,
            verdicts,
            head,
            lag,
            rankings,
            mismatches,
        }
    }

    pub(crate) fn note(&self, route: &str, method: &str, status: u16, took: Duration) {
        let (route, method) = (route.to_string(), known(method));
        self.answered.get_or_create(&RequestLabels { method, route: route.clone(), status }).inc();
        self.seconds.get_or_create(&RouteLabel { route }).observe(took.as_secs_f64());
    }

    /// Counts a delivery to a webhook, successful or not.
    pub(crate) fn note_delivery(&self, arrived: bool) {
        self.deliveries.get_or_create(&DeliveryLabels { arrived: if arrived { "yes" } else { "no" } }).inc();
    }

    /// Records whether the database's disk is full.
    pub(crate) fn note_disk_full(&self, full: bool) {
        self.disk_full.set(i64::from(full));
    }

    pub(crate) fn note_webhooks_off(&self, many: usize) {
        self.webhooks_off.store(many, Ordering::Relaxed);
    }

    /// The number of stopped webhooks at the last check.
    pub(crate) fn webhooks_off(&self) -> usize {
        self.webhooks_off.load(Ordering::Relaxed)
    }

    /// All metrics as text, with the current numbers of the given queues and webhooks only.
    pub(crate) fn text(
        &self,
        queues: &[(String, QueueStatus)],
        hooks: &[Webhook],
        dropped: u64,
        up: bool,
    ) -> String {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let all = [
            &self.items,
            &self.pending,
            &self.leased,
            &self.closed,
            &self.verdicts,
            &self.head,
            &self.lag,
            &self.rankings,
            &self.mismatches,
        ];
        // Deleted queues must not remain.
        all.iter().for_each(|family| family.clear());
        for (queue, standing) in queues {
            let counts = standing.counts;
            let values = [
                counts.items,
                counts.pending,
                counts.leased,
                counts.closed,
                counts.verdicts,
                standing.head,
                standing.head.saturating_sub(standing.model),
                standing.rankings,
                standing.mismatches,
            ];
            for (family, value) in all.iter().zip(values) {
                family.get_or_create(&QueueLabel { queue: queue.clone() }).set(whole(value));
            }
        }
        [&self.behind, &self.failures, &self.off].iter().for_each(|family| family.clear());
        for hook in hooks {
            let label = WebhookLabels { queue: hook.queue.clone(), webhook: hook.name.clone() };
            self.behind.get_or_create(&label).set(whole(hook.head.saturating_sub(hook.seen)));
            self.failures.get_or_create(&label).set(whole(hook.failures));
            self.off.get_or_create(&label).set(i64::from(hook.off));
        }
        // Sets the counter to the count of the log writer, which only grows.
        self.dropped.inner().store(dropped, Ordering::Relaxed);
        self.up.set(i64::from(up));
        let mut text = String::new();
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::{App, Settings};
    use axum::body::Body;
    use axum::extract::Request;
    use std::time::Duration;
    use tower::ServiceExt;

    /// Counters end in `_total`, and process metrics have Prometheus's standard names.
    #[test]
    fn program_and_process_are_told_by_their_usual_names() {
        let text = super::Metrics::new().text(&[], &[], 7, true);
        for line in [
            "# TYPE jurybox_log_lines_dropped counter",
            "jurybox_log_lines_dropped_total 7",
            concat!("jurybox_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "jurybox_database_up 1",
        ] {
            assert!(text.lines().any(|has| has == line), "{line}: {text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
        if cfg!(target_os = "linux") {
            let value = |name: &str| -> f64 {
                let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
                line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
            };
            assert!(value("process_cpu_seconds_total") >= 0.0);
            assert!(
                value("process_open_fds") >= 3.0 && value("process_open_fds") <= value("process_max_fds")
            );
            let (resident, all) =
                (value("process_resident_memory_bytes"), value("process_virtual_memory_bytes"));
            assert!(resident > 1e6 && resident < all, "{resident} {all}");
            assert!(value("process_start_time_seconds") > 1.7e9);
        }
    }

    /// Invented methods and paths share their labels, so the number of series is bounded.
    #[tokio::test]
    async fn nobody_can_make_what_is_counted_grow() {
        let folder = tempfile::tempdir().unwrap();
        let service = jurybox_server::Service::open(folder.path(), Duration::ZERO).unwrap();
        let app = App::new(service, Settings { log: crate::LogFormat::Off, ..Settings::default() });
        let router = app.router();
        for at in 0..200 {
            let (word, method) = (format!("x{at}"), format!("X{at}"));
            for (method, path) in [
                (method.as_str(), "/healthz".to_string()),
                (method.as_str(), format!("/{word}")),
                ("GET", format!("/{word}")),
                ("GET", format!("/assets/{word}/{word}")),
                ("PUT", format!("/v1/queues/{word}/items/{word}")),
                ("get", format!("/q/{word}/desk?{word}")),
            ] {
                let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
                router.clone().oneshot(request).await.unwrap();
            }
        }
        let text = app.0.metrics.text(&[], &[], 0, true);
        let counted: Vec<&str> =
            text.lines().filter(|line| line.starts_with("jurybox_requests_total{")).collect();
        assert_eq!(counted.len(), 6, "{counted:#?}");
        assert!(!text.contains("X1") && !text.contains("x1"), "{text}");
        assert!(counted.iter().filter(|line| line.contains("\"OTHER\"")).count() == 3, "{counted:#?}");
    }
}
