//! What both ends of a farlink say of a link to Prometheus.

use farbird_farlink::link::Health;
use farbird_status::metrics::Metrics;

/// What both ends say of a link.
pub(super) fn link(metrics: &mut Metrics, health: &Health) {
    metrics.gauge("link_up", "Whether the link is up.", f64::from(u8::from(health.is_established)));
    if let Some(trip) = health.round_trip {
        let help = "The last measured round trip.";
        metrics.gauge("link_round_trip_seconds", help, trip.as_secs_f64());
    }
    let both = |(sent, received): (u64, u64)| (sent as f64, received as f64);
    for (name, help, (sent, received)) in [
        ("link_bytes_total", "Bytes of the link, as they travelled inside of TLS.", both(health.wire_bytes)),
        ("link_plain_bytes_total", "Bytes of the link before compression.", both(health.plain_bytes)),
        ("link_messages_total", "Messages of the link.", both(health.messages)),
    ] {
        let samples: [(&[(&str, &str)], f64); 2] =
            [(&[("direction", "sent")], sent), (&[("direction", "received")], received)];
        metrics.family(name, "counter", help, &samples);
    }
    metrics.counter(
        "link_resumed_total",
        "Times that a session went on after a lost connection.",
        health.resumed,
    );
    let help = "Bytes of messages that may be under way to the other end.";
    metrics.gauge("link_window_bytes", help, health.window_bytes as f64);
    let help = "Bytes of messages that are under way to the other end.";
    metrics.gauge("link_under_way_bytes", help, health.under_way_bytes as f64);
    metrics.gauge("link_queued_bytes", "Bytes of messages that wait to be sent.", health.queued_bytes as f64);
}
