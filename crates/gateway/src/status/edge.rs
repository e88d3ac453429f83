//! What an edge's status page says.

use std::cmp::Reverse;
use std::time::Duration;

use farbird_farlink::edge::{Counters, Entry, Limits, Memory, Saved, Standing, Sums};
use farbird_farlink::link::Health;
use farbird_farlink::speculation::{Loop, Tally};
use farbird_status::metrics::Metrics;
use serde::Serialize;
use serde_json::{Value, json};

use super::link_metrics;
use crate::link_state::LinkState;

/// Statements and loops shown: those that matter most.
const TEXTS_SHOWN: usize = 100;
/// Longest text of a statement shown, in characters.
const TEXT_CHARACTERS_MAX: usize = 600;
/// Programs shown: the newest.
const PROGRAMS_SHOWN: usize = 500;

/// How an edge is.
pub(crate) struct EdgeFacts {
    pub(crate) name: String,
    pub(crate) origin: String,
    pub(crate) server: String,
    pub(crate) is_farbird: Option<bool>,
    pub(crate) now: Duration,
    pub(crate) health: Health,
    pub(crate) link: LinkState,
    pub(crate) channel_window: u32,
    pub(crate) counters: Counters,
    pub(crate) memory: Memory,
    pub(crate) limits: Limits,
    /// Whether there may be a file of rows and BLOBs.
    pub(crate) spills: bool,
    pub(crate) programs_max: usize,
    pub(crate) programs: Vec<ProgramFacts>,
    pub(crate) gone: Vec<GoneFacts>,
    /// Rules learned, and those that are asked by.
    pub(crate) rules: (usize, usize),
    /// What was run ahead, in all.
    pub(crate) ahead: Tally,
    pub(crate) loops: Vec<LoopFacts>,
}

/// A program that is connected.
#[derive(Serialize)]
pub(crate) struct ProgramFacts {
    pub(crate) id: u32,
    pub(crate) peer: String,
    pub(crate) since_us: u64,
    #[serde(flatten)]
    pub(crate) standing: Standing,
    #[serde(flatten)]
    pub(crate) sums: Sums,
    /// What it did last.
    pub(crate) latest: Option<Entry>,
}

/// A program that was connected.
#[derive(Serialize)]
pub(crate) struct GoneFacts {
    pub(crate) id: u32,
    pub(crate) peer: String,
    pub(crate) since_us: u64,
    pub(crate) until_us: u64,
    pub(crate) database: String,
    pub(crate) process: String,
    pub(crate) user: String,
    #[serde(flatten)]
    pub(crate) sums: Sums,
}

/// A loop.
#[derive(Serialize)]
pub(crate) struct LoopFacts {
    database: String,
    outer: Option<String>,
    inner: String,
    is_active: bool,
    hits: u32,
    needed: u32,
    window: u32,
    guessed: u64,
    used: u64,
    wasted: u64,
    missed: u64,
    saved: u64,
}

impl LoopFacts {
    pub(crate) fn of(learned: Loop) -> LoopFacts {
        let Tally { guessed, used, wasted, missed, trips_saved } = learned.tally;
        LoopFacts {
            database: learned.database,
            outer: learned.outer.map(|text| shortened(&text)),
            inner: shortened(&learned.inner),
            is_active: learned.is_active,
            hits: learned.hits,
            needed: learned.needed,
            window: learned.window,
            guessed,
            used,
            wasted,
            missed,
            saved: trips_saved,
        }
    }
}

fn shortened(text: &str) -> String {
    text.trim().chars().take(TEXT_CHARACTERS_MAX).collect()
}

impl EdgeFacts {
    /// Seconds that were not waited for, as far as the last measured round trip says.
    fn seconds_saved(&self) -> Option<f64> {
        Some(self.counters.saved_in_all() as f64 * self.health.round_trip?.as_secs_f64())
    }

    pub(crate) fn state(mut self) -> Value {
        let seconds_saved = self.seconds_saved();
        let EdgeFacts { counters, memory, limits, ahead, .. } = &self;
        let saved: Vec<Value> = Saved::ALL
            .iter()
            .map(|kind| json!({ "by": kind.name(), "trips": counters.saved(*kind) }))
            .collect();
        let mut statements: Vec<_> = counters.texts().collect();
        statements.sort_by_key(|(text, counts)| (Reverse(counts.executions), *text));
        let statements: Vec<Value> = statements
            .into_iter()
            .take(TEXTS_SHOWN)
            .map(|(text, counts)| {
                json!({
                    "text": shortened(text), "executions": counts.executions, "rows": counts.rows, "saved": counts.saved,
                })
            })
            .collect();
        let sums = json!({
            "programs": counters.programs, "requests": counters.requests, "trips": counters.trips,
            "saved": counters.saved_in_all(), "seconds_saved": seconds_saved, "rows": counters.rows,
            "received_bytes": counters.received_bytes, "sent_bytes": counters.sent_bytes, "lost": counters.lost,
            "optimistic_failed": counters.optimistic_failed, "optimistic_waited": counters.optimistic_waited,
        });
        let cache = json!({
            "hits": counters.statement_hits, "misses": counters.statement_misses,
            "deferred": counters.statements_deferred, "evicted": counters.statements_evicted, "invalidated": counters.statements_invalidated,
            "statements": memory.statement_count,
        });
        let mut kept = vec![
            json!({ "of": "descriptions of statements", "bytes": memory.statements, "max": limits.statement_bytes }),
            json!({ "of": "rows on their way", "bytes": memory.rows, "max": limits.edge_row_bytes }),
            json!({ "of": "BLOBs", "bytes": memory.blobs, "max": limits.edge_blob_bytes }),
        ];
        if self.spills {
            let bytes = memory.spilled.rows + memory.spilled.blobs;
            kept.push(json!({ "of": "rows and BLOBs in a file", "bytes": bytes, "max": limits.spill_bytes }));
        }
        if limits.optimistic_writes {
            let max = limits.optimistic_bytes * self.programs.len().max(1);
            kept.push(json!({ "of": "writes answered and not done", "bytes": memory.writes, "max": max }));
        }
        let ahead = json!({
            "guessed": ahead.guessed, "used": ahead.used, "wasted": ahead.wasted, "missed": ahead.missed,
            "saved": ahead.trips_saved, "rules": self.rules.0, "active": self.rules.1, "is_on": limits.speculates,
        });
        self.loops.sort_by(|one, other| {
            (other.is_active, other.saved, other.hits, &one.inner).cmp(&(
                one.is_active,
                one.saved,
                one.hits,
                &other.inner,
            ))
        });
        self.loops.truncate(TEXTS_SHOWN);
        self.programs.sort_by_key(|program| Reverse(program.id));
        let connected = self.programs.len();
        self.programs.truncate(PROGRAMS_SHOWN);
        json!({
            "end": "edge",
            "name": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "now_us": micros(self.now),
            "origin": self.origin,
            "server": self.server,
            "is_farbird": self.is_farbird,
            "link": link(&self.health, &self.link, self.channel_window),
            "sums": sums,
            "saved": saved,
            "cache": cache,
            "ahead": ahead,
            "memory": kept,
            "connected": connected,
            "programs_max": self.programs_max,
            "programs": self.programs,
            "gone": self.gone,
            "loops": self.loops,
            "statements": statements,
        })
    }

    pub(crate) fn metrics(&self) -> String {
        let EdgeFacts { health, counters, memory, ahead, .. } = self;
        let mut metrics = Metrics::new("farbird_edge");
        metrics.gauge("programs", "Programs that are connected.", self.programs.len() as f64);
        let open = |count: fn(&Standing) -> usize| {
            self.programs.iter().map(|one| count(&one.standing)).sum::<usize>() as f64
        };
        metrics.gauge(
            "transactions",
            "Transactions that programs have open.",
            open(|standing| standing.transactions),
        );
        metrics.gauge("cursors", "Cursors that programs have open.", open(|standing| standing.cursors));
        metrics.counter("programs_total", "Programs that have connected.", counters.programs);
        metrics.counter(
            "programs_lost_total",
            "Programs that lost their connection with the link.",
            counters.lost,
        );
        metrics.counter(
            "programs_attached_again_total",
            "Times that a program went on in another session with the origin.",
            counters.attached_again,
        );
        metrics.counter("requests_total", "Requests of programs.", counters.requests);
        metrics.counter("trips_total", "Times that a program waited for the origin.", counters.trips);
        let by: Vec<[(&str, &str); 1]> = Saved::ALL.iter().map(|kind| [("by", kind.name())]).collect();
        let saved: Vec<(&[(&str, &str)], f64)> = by
            .iter()
            .zip(Saved::ALL)
            .map(|(label, kind)| (label.as_slice(), counters.saved(kind) as f64))
            .collect();
        metrics.family("saved_trips_total", "counter", "Round trips that programs did not make.", &saved);
        metrics.counter("rows_total", "Rows given to programs.", counters.rows);
        let both: [(&[(&str, &str)], f64); 2] = [
            (&[("direction", "received")], counters.received_bytes as f64),
            (&[("direction", "sent")], counters.sent_bytes as f64),
        ];
        metrics.family("program_bytes_total", "counter", "Bytes between the edge and its programs.", &both);
        metrics.counter(
            "statement_hits_total",
            "Descriptions of statements found in the cache.",
            counters.statement_hits,
        );
        metrics.counter(
            "statement_misses_total",
            "Descriptions not found in the cache.",
            counters.statement_misses,
        );
        let help = "Of them, statements that were described from their texts alone.";
        metrics.counter("statements_deferred_total", help, counters.statements_deferred);
        let help = "Descriptions dropped from the cache for want of room.";
        metrics.counter("statements_evicted_total", help, counters.statements_evicted);
        let help = "Descriptions dropped because definitions changed.";
        metrics.counter("statements_invalidated_total", help, counters.statements_invalidated);
        metrics.counter("blobs_evicted_total", "BLOBs dropped for want of room.", counters.blobs_evicted);
        metrics.gauge("statements", "Statements whose descriptions are kept.", memory.statement_count as f64);
        let help = "Writes that were answered as done and have failed since, or were not done for that.";
        metrics.counter("optimistic_failed_total", help, counters.optimistic_failed);
        let help = "Writes that were waited for since too many before them were not done.";
        metrics.counter("optimistic_waited_total", help, counters.optimistic_waited);
        let held: [(&[(&str, &str)], f64); 4] = [
            (&[("of", "statements")], memory.statements as f64),
            (&[("of", "rows")], memory.rows as f64),
            (&[("of", "blobs")], memory.blobs as f64),
            (&[("of", "writes")], memory.writes as f64),
        ];
        metrics.family("memory_bytes", "gauge", "What is kept for programs.", &held);
        let spilled = memory.spilled;
        let outside: [(&[(&str, &str)], f64); 2] =
            [(&[("of", "rows")], spilled.rows as f64), (&[("of", "blobs")], spilled.blobs as f64)];
        metrics.family("spill_bytes", "gauge", "What is kept in a file, without room in memory.", &outside);
        metrics.counter("spilled_bytes_total", "What was put there, in all.", spilled.in_all);
        metrics.counter(
            "spill_failures_total",
            "Times that the file could not be written.",
            spilled.failures,
        );
        metrics.counter("ahead_guessed_total", "Statements that were run ahead.", ahead.guessed);
        metrics.counter("ahead_used_total", "Of them, those whose results answered a program.", ahead.used);
        metrics.counter(
            "ahead_wasted_total",
            "Of them, those whose results were dropped unused.",
            ahead.wasted,
        );
        let help = "Executions for which no result was there although they have a rule.";
        metrics.counter("ahead_missed_total", help, ahead.missed);
        metrics.gauge("rules", "Rules that were learned.", self.rules.0 as f64);
        metrics.gauge("rules_active", "Rules by which statements are run ahead.", self.rules.1 as f64);
        link_metrics::link(&mut metrics, health);
        metrics.counter("link_connections_total", "Connections with the origin.", self.link.connections);
        let help = "Attempts to reach the origin that failed.";
        metrics.counter("link_failures_total", help, self.link.failures);
        metrics.text()
    }
}

/// A link, as the page shows it.
pub(super) fn link(health: &Health, state: &LinkState, channel_window: u32) -> Value {
    json!({
        "is_up": health.is_established,
        "round_trip_us": health.round_trip.map(micros),
        "transport": state.transport,
        "address": state.address,
        "since_us": state.since.map(micros),
        "connections": state.connections,
        "failures": state.failures,
        "error": state.error,
        "resumed": health.resumed,
        "wire_bytes": health.wire_bytes,
        "plain_bytes": health.plain_bytes,
        "messages": health.messages,
        "window_bytes": health.window_bytes,
        "under_way_bytes": health.under_way_bytes,
        "queued_bytes": health.queued_bytes,
        "program_window_bytes": channel_window,
    })
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_status::testing::{checked, documented};

    fn facts() -> EdgeFacts {
        let program = ProgramFacts {
            id: 1,
            peer: "10.0.0.1:5".to_owned(),
            since_us: 0,
            standing: Standing { database: "<script>".to_owned(), transactions: 2, ..Standing::default() },
            sums: Sums::default(),
            latest: None,
        };
        let mut counters = Counters::default();
        (counters.statement_hits, counters.statement_misses) = (3, 1);
        let learned = |is_active, trips_saved| Loop {
            database: "app.fdb".to_owned(),
            outer: Some("select a".to_owned()),
            inner: "x".repeat(10_000),
            is_active,
            hits: 2,
            needed: 2,
            window: 64,
            tally: Tally { trips_saved, ..Tally::default() },
        };
        EdgeFacts {
            name: "london".to_owned(),
            origin: "db.example.com:3052".to_owned(),
            server: "Farbird".to_owned(),
            is_farbird: Some(true),
            now: Duration::from_secs(5),
            health: Health { round_trip: Some(Duration::from_millis(200)), ..Health::default() },
            link: LinkState::default(),
            channel_window: 1,
            counters,
            memory: Memory::default(),
            limits: Limits::default(),
            spills: true,
            programs_max: 10,
            programs: vec![program],
            gone: Vec::new(),
            rules: (4, 2),
            ahead: Tally { guessed: 10, used: 9, ..Tally::default() },
            loops: [(false, 9), (true, 1), (true, 5)]
                .map(|(is_active, saved)| LoopFacts::of(learned(is_active, saved)))
                .into(),
        }
    }

    #[test]
    fn metrics_are_valid_and_documented() {
        let metrics = facts().metrics();
        let families = checked(&metrics);
        let page = include_str!("../../../../docs/farlink.md");
        assert_eq!(families, documented(page, "farbird_edge"), "left: /metrics, right: docs/farlink.md");
        assert!(metrics.contains("farbird_edge_link_round_trip_seconds 0.2\n"), "{metrics}");
        assert!(metrics.contains("farbird_edge_transactions 2\n"), "{metrics}");
    }

    #[test]
    fn loops_that_save_most_come_first_and_texts_are_bounded() {
        let state = facts().state();
        let saved: Vec<_> =
            state["loops"].as_array().unwrap().iter().map(|one| one["saved"].clone()).collect();
        assert_eq!(saved, [5, 1, 9]);
        assert_eq!(state["loops"][0]["inner"].as_str().unwrap().len(), TEXT_CHARACTERS_MAX);
        assert_eq!((&state["cache"]["hits"], &state["programs"][0]["transactions"]), (&json!(3), &json!(2)));
    }
}
