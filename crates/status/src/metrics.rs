//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! Promises: each family once, with its HELP and TYPE before its samples; counters end in `_total`; label values are escaped. Names are
//! in the documents, and tests compare them (`testing`).

use std::fmt::Write;

/// Labels of a sample: names and values.
pub type Labels<'l> = &'l [(&'l str, &'l str)];

/// Collects families of metrics whose names begin alike.
#[derive(Debug)]
pub struct Metrics {
    prefix: &'static str,
    out: String,
}

/// A histogram's sample.
#[derive(Debug, Clone)]
pub struct Histogram<'h> {
    /// What tells it from others of its family.
    pub labels: Vec<(&'h str, &'h str)>,
    /// Upper bounds of its classes in ascending order, in seconds.
    pub bounds: &'h [f64],
    /// How many values fell into each class; the last one, one more than there are bounds, is beyond all of them.
    pub counts: &'h [u64],
    /// All values together, in seconds.
    pub sum: f64,
}

impl Metrics {
    /// None yet; all names begin with `prefix` and an underscore.
    pub fn new(prefix: &'static str) -> Metrics {
        Metrics { prefix, out: String::new() }
    }

    /// Something that is counted from the start of the process.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help, &[(&[], value as f64)]);
    }

    /// Something that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help, &[(&[], value)]);
    }

    /// Several samples that labels tell apart; nothing, if there are none.
    pub fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        if samples.is_empty() {
            return;
        }
        // A counter of seconds ends in _total too, and so on: the caller says the whole name.
        self.head(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, labels, *value);
        }
    }

    /// Several histograms that labels tell apart; nothing, if there are none.
    pub fn histograms(&mut self, name: &str, help: &str, samples: &[Histogram<'_>]) {
        if samples.is_empty() {
            return;
        }
        self.head(name, "histogram", help);
        let (bucket, sum, count) = (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
        for histogram in samples {
            let mut below = 0;
            for (bound, values) in histogram.bounds.iter().zip(histogram.counts) {
                below += values;
                let bound = bound.to_string();
                let labels: Vec<_> =
                    histogram.labels.iter().copied().chain([("le", bound.as_str())]).collect();
                self.sample(&bucket, &labels, below as f64);
            }
            let all: u64 = histogram.counts.iter().sum();
            let labels: Vec<_> = histogram.labels.iter().copied().chain([("le", "+Inf")]).collect();
            self.sample(&bucket, &labels, all as f64);
            self.sample(&sum, &histogram.labels, histogram.sum);
            self.sample(&count, &histogram.labels, all as f64);
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let Metrics { prefix, out } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {prefix}_{name} {}", help.replace('\\', "\\\\").replace('\n', "\\n"));
        let _ = writeln!(out, "# TYPE {prefix}_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.out, "{}_{name}{labels} {value}", self.prefix);
    }

    /// All of it.
    pub fn text(self) -> String {
        self.out
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::checked;

    #[test]
    fn counters_gauges_and_histograms_are_written_as_prometheus_reads_them() {
        let mut metrics = Metrics::new("x");
        metrics.counter("a_total", "Things.", 3);
        metrics.family("b", "gauge", "Of each.", &[(&[("of", "a\"b\\c\nd")], 1.5)]);
        metrics.histograms(
            "c_seconds",
            "Times.",
            &[Histogram {
                labels: vec![("of", "one")],
                bounds: &[0.001, 0.01],
                counts: &[1, 2, 3],
                sum: 4.5,
            }],
        );
        let text = metrics.text();
        let kinds = checked(&text);
        assert_eq!(kinds.get("x_c_seconds").map(String::as_str), Some("histogram"), "{text}");
        for line in [
            "x_a_total 3",
            "x_b{of=\"a\\\"b\\\\c\\nd\"} 1.5",
            "x_c_seconds_bucket{of=\"one\",le=\"0.001\"} 1",
            "x_c_seconds_bucket{of=\"one\",le=\"0.01\"} 3",
            "x_c_seconds_bucket{of=\"one\",le=\"+Inf\"} 6",
            "x_c_seconds_sum{of=\"one\"} 4.5",
            "x_c_seconds_count{of=\"one\"} 6",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
