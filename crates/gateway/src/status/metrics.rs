//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! Promises: each family once, with its HELP and TYPE before its samples; counters end in `_total`; label values are escaped. The
//! names are in docs/farlink.md, and a test compares them.

use std::fmt::Write;

use farbird_farlink::link::Health;

/// Collects families of metrics whose names begin alike.
pub(crate) struct Metrics {
    prefix: &'static str,
    out: String,
}

impl Metrics {
    pub(crate) fn new(prefix: &'static str) -> Metrics {
        Metrics { prefix, out: String::new() }
    }

    /// Something that is counted from the start of the process.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help, &[(&[], value as f64)]);
    }

    /// Something that goes up and down.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help, &[(&[], value)]);
    }

    /// Several samples that labels tell apart.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(&[(&str, &str)], f64)]) {
        // A counter of seconds ends in _total too, and so on: the caller says the whole name.
        let Metrics { prefix, out } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {prefix}_{name} {}", help.replace('\\', "\\\\").replace('\n', "\\n"));
        let _ = writeln!(out, "# TYPE {prefix}_{name} {kind}");
        for (labels, value) in samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{prefix}_{name}{labels} {value}");
        }
    }

    /// What both ends say of a link.
    pub(crate) fn link(&mut self, health: &Health) {
        self.gauge("link_up", "Whether the link is up.", f64::from(u8::from(health.is_established)));
        if let Some(trip) = health.round_trip {
            let help = "The last measured round trip.";
            self.gauge("link_round_trip_seconds", help, trip.as_secs_f64());
        }
        let both = |(sent, received): (u64, u64)| (sent as f64, received as f64);
        for (name, help, (sent, received)) in [
            (
                "link_bytes_total",
                "Bytes of the link, as they travelled inside of TLS.",
                both(health.wire_bytes),
            ),
            ("link_plain_bytes_total", "Bytes of the link before compression.", both(health.plain_bytes)),
            ("link_messages_total", "Messages of the link.", both(health.messages)),
        ] {
            let samples: [(&[(&str, &str)], f64); 2] =
                [(&[("direction", "sent")], sent), (&[("direction", "received")], received)];
            self.family(name, "counter", help, &samples);
        }
        self.counter(
            "link_resumed_total",
            "Times that a session went on after a lost connection.",
            health.resumed,
        );
        let help = "Bytes of messages that may be under way to the other end.";
        self.gauge("link_window_bytes", help, health.window_bytes as f64);
        let help = "Bytes of messages that are under way to the other end.";
        self.gauge("link_under_way_bytes", help, health.under_way_bytes as f64);
        self.gauge(
            "link_queued_bytes",
            "Bytes of messages that wait to be sent.",
            health.queued_bytes as f64,
        );
    }

    pub(crate) fn text(self) -> String {
        self.out
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// What `promtool check metrics` would look at; the names of the families, with their kinds.
#[cfg(test)]
pub(crate) fn checked(text: &str) -> std::collections::BTreeMap<String, String> {
    use std::collections::{BTreeMap, HashSet};
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut kinds, mut helped, mut series) = (BTreeMap::new(), HashSet::new(), HashSet::new());
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty() && helped.insert(name.to_owned()), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helped.contains(name) && ["counter", "gauge"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} stands twice");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            for part in ["milliseconds", "_ms", "kilobytes", "_kb", "_count", "_sum", "_bucket"] {
                assert!(!name.contains(part), "{name}: base units, no reserved endings");
            }
            current = name.to_owned();
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
        assert!(series.insert(key.to_owned()), "{key} stands twice");
        let (name, labels) = key.split_once('{').unwrap_or((key, "}"));
        assert_eq!(name, current, "samples follow their TYPE");
        let labels = labels.strip_suffix('}').unwrap();
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once('=').unwrap();
            assert!(is_name(label) && value.starts_with('"') && value.ends_with('"'), "{line}");
        }
    }
    for name in kinds.keys() {
        assert!(series.iter().any(|key| key.split('{').next() == Some(name)), "{name} has no sample");
    }
    kinds
}

/// The documented metrics that begin with this, and their kinds.
#[cfg(test)]
pub(crate) fn documented(prefix: &str) -> std::collections::BTreeMap<String, String> {
    let page = include_str!("../../../../docs/farlink.md");
    let begins = format!("| `{prefix}_");
    let rows = page.lines().filter(|line| line.starts_with(&begins));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').split('{').next().unwrap_or_default();
        (name.to_owned(), cells[2].to_owned())
    })
    .collect()
}
