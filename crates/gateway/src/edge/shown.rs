//! What an edge shows on its status page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use farbird_farlink::edge::Entry;
use farbird_farlink::message::Channel;
use serde_json::json;

use super::shared::{Gone, Known, Shared};
use crate::status::{EdgeFacts, GoneFacts, LoopFacts, ProgramFacts, Shown, micros};

/// An edge for its status page.
pub(super) struct EdgeShown(pub(super) Arc<Shared>);

impl Shown for EdgeShown {
    fn state(&self) -> String {
        self.facts().state().to_string()
    }

    fn trips(&self, program: u32) -> Option<String> {
        let channel = Channel(program);
        let record = self.0.programs.lock().get(&channel).map(|known| known.record.clone());
        let record = record.or_else(|| {
            let gone = self.0.gone.lock();
            gone.iter().find(|gone| gone.channel == channel).map(|gone| gone.record.clone())
        })?;
        let entries: Vec<Entry> = record.entries();
        Some(json!({ "now_us": micros(self.0.hub.now()), "entries": entries }).to_string())
    }

    fn metrics(&self) -> String {
        self.facts().metrics()
    }
}

impl EdgeShown {
    fn facts(&self) -> EdgeFacts {
        let Shared { hub, site, options, .. } = &*self.0;
        let (loops, rules, ahead) = {
            let rules = site.rules();
            let loops = rules.loops().into_iter().map(LoopFacts::of).collect();
            (loops, (rules.len(), rules.active()), rules.total())
        };
        EdgeFacts {
            name: options.keys.name().to_owned(),
            origin: options.origin.clone(),
            server: site.server(),
            is_farbird: site.is_farbird(),
            now: hub.now(),
            health: hub.health(),
            link: self.0.link.borrow().clone(),
            channel_window: options.link.channel_window,
            counters: site.counters(),
            memory: site.memory(),
            limits: site.limits(),
            spills: options.spill_folder.is_some(),
            programs_max: self.0.programs_max.load(Ordering::Relaxed),
            programs: self.0.programs.lock().iter().map(|(channel, known)| shown(*channel, known)).collect(),
            gone: self.0.gone.lock().iter().rev().map(gone).collect(),
            rules,
            ahead,
            loops,
        }
    }
}

fn shown(channel: Channel, known: &Known) -> ProgramFacts {
    ProgramFacts {
        id: channel.0,
        peer: known.peer.clone(),
        since_us: micros(known.since),
        standing: known.standing.lock().clone(),
        sums: known.record.sums(),
        latest: known.record.latest(),
    }
}

fn gone(gone: &Gone) -> GoneFacts {
    GoneFacts {
        id: gone.channel.0,
        peer: gone.peer.clone(),
        since_us: micros(gone.since),
        until_us: micros(gone.until),
        database: gone.standing.database.clone(),
        process: gone.standing.process.clone(),
        user: gone.standing.user.clone(),
        sums: gone.record.sums(),
    }
}
