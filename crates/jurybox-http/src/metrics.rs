//! What is counted, as Prometheus reads it.

use jurybox_server::Standing;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Named {
    queue: String,
}

type PerQueue = Family<Named, Gauge>;

/// What is counted.
pub(crate) struct Metrics {
    registry: Registry,
    answered: Family<Answered, Counter>,
    seconds: Family<Route, Histogram>,
    items: PerQueue,
    pending: PerQueue,
    leased: PerQueue,
    closed: PerQueue,
    verdicts: PerQueue,
    head: PerQueue,
    lag: PerQueue,
    rankings: PerQueue,
    mismatches: PerQueue,
    dropped: Gauge,
    /// One text at a time: each is of the queues that its reader may look at.
    writing: Mutex<()>,
}

/// From a millisecond to half a minute.
const STEPS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("jurybox");
        let answered = Family::<Answered, Counter>::default();
        registry.register("requests", "Requests answered", answered.clone());
        let seconds = Family::<Route, Histogram>::new_with_constructor(|| Histogram::new(STEPS));
        registry.register("request_seconds", "How long answers took", seconds.clone());
        let mut gauge = |name: &str, help: &str| {
            let gauge = PerQueue::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let items = gauge("queue_items", "Items that ever came in");
        let pending = gauge("queue_pending", "Open items in nobody's hands");
        let leased = gauge("queue_leased", "Open items in somebody's hands");
        let closed = gauge("queue_closed", "Closed items");
        let verdicts = gauge("queue_verdicts", "Verdicts that stand");
        let head = gauge("queue_head", "The last entry of the log");
        let lag = gauge("queue_model_lag", "Entries of the log that the model which ranks has not seen");
        let rankings = gauge("queue_rankings", "Orders made since the queue was opened");
        let mismatches = gauge("queue_mismatches", "Checkpoints found to differ: an alarm");
        let dropped = Gauge::default();
        registry.register("log_lines_dropped", "Lines of the log that nobody took in time", dropped.clone());
        Metrics {
            dropped,
            writing: Mutex::default(),
            registry,
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
        let (route, method) = (route.to_string(), method.to_string());
        // Clients can invent methods: they are counted together.
        let method = if method.len() > 7 { "OTHER".into() } else { method };
        self.answered.get_or_create(&Answered { method, route: route.clone(), status }).inc();
        self.seconds.get_or_create(&Route { route }).observe(took.as_secs_f64());
    }

    /// All of it as text, with these queues as they stand.
    pub(crate) fn text(&self, queues: &[(String, Standing)], dropped: u64) -> String {
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
        // Queues that are gone are not told of.
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
                family.get_or_create(&Named { queue: queue.clone() }).set(whole(value));
            }
        }
        self.dropped.set(whole(dropped));
        let mut text = String::new();
        let _ = encode(&mut text, &self.registry);
        text
    }
}
