//! Which triggers of a relation fire, and when.

use std::sync::Arc;

use farbird_sql::ast::TriggerAction;

use crate::{Catalog, Trigger};

/// When a trigger of a relation fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerMoment {
    /// BEFORE: may change NEW.
    Before,
    /// AFTER.
    After,
}

/// Bits of RDB$TRIGGER_TYPE that tell relation triggers from others.
const TRIGGER_TYPE_MASK: u64 = 0x6000;

/// Most actions of one trigger: INSERT OR UPDATE OR DELETE.
const ACTIONS_MAX: u32 = 3;

/// Whether a trigger fires at a moment: RDB$TRIGGER_TYPE + 1 holds BEFORE or AFTER in its lowest bit, then two bits for
/// each action.
fn fires(trigger: &Trigger, moment: TriggerMoment, action: TriggerAction) -> bool {
    if trigger.inactive || trigger.trigger_type & TRIGGER_TYPE_MASK != 0 {
        return false;
    }
    let is_before = (trigger.trigger_type + 1) & 1 == 0;
    is_before == (moment == TriggerMoment::Before) && fires_for(trigger.trigger_type, action)
}

/// Whether an action is among those of a relation trigger's type.
pub fn fires_for(trigger_type: u64, action: TriggerAction) -> bool {
    let wanted = match action {
        TriggerAction::Insert => 1,
        TriggerAction::Update => 2,
        TriggerAction::Delete => 3,
    };
    (0..ACTIONS_MAX).any(|slot| (trigger_type.saturating_add(1) >> (1 + slot * 2)) & 3 == wanted)
}

/// The triggers of a relation that fire at a moment.
pub fn triggers_at<'c>(
    catalog: &'c Catalog,
    relation: &'c str,
    moment: TriggerMoment,
    action: TriggerAction,
) -> impl Iterator<Item = &'c Arc<Trigger>> {
    catalog.triggers_of(Some(relation)).filter(move |trigger| fires(trigger, moment, action))
}

/// Whether a relation has triggers for a moment: asked once, when a statement is bound.
pub fn has_triggers(catalog: &Catalog, relation: &str, moment: TriggerMoment, action: TriggerAction) -> bool {
    triggers_at(catalog, relation, moment, action).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(trigger_type: u64) -> Trigger {
        Trigger {
            name: "T".to_owned(),
            relation: Some("R".to_owned()),
            trigger_type,
            position: 0,
            inactive: false,
            source: String::new(),
            source_start: Default::default(),
            source_hidden: false,
            sql_security_definer: None,
            description: None,
        }
    }

    #[test]
    fn trigger_types_name_moments_and_actions() {
        use TriggerAction::{Delete, Insert, Update};
        use TriggerMoment::{After, Before};
        assert!(fires(&trigger(1), Before, Insert));
        assert!(!fires(&trigger(1), After, Insert));
        assert!(!fires(&trigger(1), Before, Update));
        assert!(fires(&trigger(6), After, Delete));
        // BEFORE INSERT OR UPDATE is 17, AFTER INSERT OR UPDATE OR DELETE 114.
        assert!(fires(&trigger(17), Before, Insert) && fires(&trigger(17), Before, Update));
        assert!(!fires(&trigger(17), Before, Delete));
        assert!([Insert, Update, Delete].into_iter().all(|action| fires(&trigger(114), After, action)));
    }
}
