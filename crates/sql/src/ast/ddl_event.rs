//! Which definitions a DDL trigger watches, and how RDB$TRIGGER_TYPE says it.
//!
//! RDB$TRIGGER_TYPE of a DDL trigger has bit 14 set, bit 0 if it fires AFTER, and a bit for each event. Source: Firebird 5 language
//! reference, "DDL triggers", and the numbers that Firebird 5 stores.

use std::fmt::{self, Display};

/// Which DDL statements a trigger watches.
#[derive(Debug, Clone, PartialEq)]
pub enum DdlEvents {
    /// ANY DDL STATEMENT
    Any,
    /// CREATE TABLE OR ALTER TABLE ...
    List(Vec<DdlEvent>),
}

/// A kind of DDL statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DdlEvent {
    /// CREATE, ALTER or DROP.
    pub action: DdlAction,
    /// Of what.
    pub object: DdlEventObject,
}

/// What a DDL statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DdlAction {
    /// CREATE
    Create,
    /// ALTER
    Alter,
    /// DROP
    Drop,
}

/// What DDL triggers can watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum DdlEventObject {
    Table,
    Procedure,
    Function,
    Trigger,
    Exception,
    View,
    Domain,
    Role,
    Sequence,
    User,
    Index,
    Collation,
    CharacterSet,
    Package,
    PackageBody,
    Mapping,
}

/// What RDB$TRIGGER_TYPE of a DDL trigger has.
const DDL_TRIGGER: u64 = 1 << 14;
/// The bits that tell kinds of triggers apart: no event has them.
const KINDS: u64 = 3 << 13;
/// AFTER.
const AFTER: u64 = 1;
/// The bits of all events, of those too that are yet to come.
const ANY: u64 = 0x7FFF_FFFF_FFFF_FFFF & !KINDS & !AFTER;

impl DdlAction {
    const ALL: [DdlAction; 3] = [DdlAction::Create, DdlAction::Alter, DdlAction::Drop];

    /// Its keyword: EVENT_TYPE of the namespace DDL_TRIGGER.
    pub fn word(self) -> &'static str {
        match self {
            DdlAction::Create => "CREATE",
            DdlAction::Alter => "ALTER",
            DdlAction::Drop => "DROP",
        }
    }
}

impl DdlEventObject {
    const ALL: [DdlEventObject; 16] = [
        DdlEventObject::Table,
        DdlEventObject::Procedure,
        DdlEventObject::Function,
        DdlEventObject::Trigger,
        DdlEventObject::Exception,
        DdlEventObject::View,
        DdlEventObject::Domain,
        DdlEventObject::Role,
        DdlEventObject::Index,
        DdlEventObject::Sequence,
        DdlEventObject::User,
        DdlEventObject::Collation,
        DdlEventObject::CharacterSet,
        DdlEventObject::Package,
        DdlEventObject::PackageBody,
        DdlEventObject::Mapping,
    ];

    /// Its keywords: OBJECT_TYPE of the namespace DDL_TRIGGER.
    pub fn words(self) -> &'static str {
        match self {
            DdlEventObject::Table => "TABLE",
            DdlEventObject::Procedure => "PROCEDURE",
            DdlEventObject::Function => "FUNCTION",
            DdlEventObject::Trigger => "TRIGGER",
            DdlEventObject::Exception => "EXCEPTION",
            DdlEventObject::View => "VIEW",
            DdlEventObject::Domain => "DOMAIN",
            DdlEventObject::Role => "ROLE",
            DdlEventObject::Sequence => "SEQUENCE",
            DdlEventObject::User => "USER",
            DdlEventObject::Index => "INDEX",
            DdlEventObject::Collation => "COLLATION",
            DdlEventObject::CharacterSet => "CHARACTER SET",
            DdlEventObject::Package => "PACKAGE",
            DdlEventObject::PackageBody => "PACKAGE BODY",
            DdlEventObject::Mapping => "MAPPING",
        }
    }
}

impl DdlEvent {
    /// Its bit in RDB$TRIGGER_TYPE; `None` for what is not watched (ALTER COLLATION).
    fn number(self) -> Option<u8> {
        use DdlAction::{Alter, Create, Drop};
        let first = match (self.object, self.action) {
            (DdlEventObject::Collation, Create) => return Some(37),
            (DdlEventObject::Collation, Drop) => return Some(38),
            (DdlEventObject::CharacterSet, Alter) => return Some(39),
            (DdlEventObject::PackageBody, Create) => return Some(43),
            (DdlEventObject::PackageBody, Drop) => return Some(44),
            (DdlEventObject::Collation | DdlEventObject::CharacterSet | DdlEventObject::PackageBody, _) => {
                return None;
            }
            (DdlEventObject::Table, _) => 1,
            (DdlEventObject::Procedure, _) => 4,
            (DdlEventObject::Function, _) => 7,
            (DdlEventObject::Trigger, _) => 10,
            (DdlEventObject::Exception, _) => 16,
            (DdlEventObject::View, _) => 19,
            (DdlEventObject::Domain, _) => 22,
            (DdlEventObject::Role, _) => 25,
            (DdlEventObject::Index, _) => 28,
            (DdlEventObject::Sequence, _) => 31,
            (DdlEventObject::User, _) => 34,
            (DdlEventObject::Package, _) => 40,
            (DdlEventObject::Mapping, _) => 45,
        };
        Some(match self.action {
            Create => first,
            Alter => first + 1,
            Drop => first + 2,
        })
    }

    fn bit(self) -> u64 {
        self.number().map_or(0, |number| 1 << number)
    }

    /// Every event, in the order of the bits.
    fn all() -> Vec<DdlEvent> {
        let mut events: Vec<DdlEvent> = DdlEventObject::ALL
            .into_iter()
            .flat_map(|object| DdlAction::ALL.map(|action| DdlEvent { action, object }))
            .filter(|event| event.number().is_some())
            .collect();
        events.sort_by_key(|event| event.number());
        events
    }

    /// Whether a trigger of a type fires at this moment of the event.
    pub fn fires(self, trigger_type: u64, after: bool) -> bool {
        trigger_type & KINDS == DDL_TRIGGER
            && (trigger_type & AFTER != 0) == after
            && trigger_type & self.bit() != 0
    }
}

impl DdlEvents {
    /// RDB$TRIGGER_TYPE of a trigger that watches them.
    pub fn trigger_type(&self, after: bool) -> u64 {
        let events = match self {
            DdlEvents::Any => ANY,
            DdlEvents::List(events) => events.iter().fold(0, |bits, event| bits | event.bit()),
        };
        events | DDL_TRIGGER | u64::from(after)
    }

    /// What a trigger of a type watches, and whether it fires AFTER; `None` for a type of other triggers.
    pub fn of_trigger_type(trigger_type: u64) -> Option<(bool, DdlEvents)> {
        if trigger_type & KINDS != DDL_TRIGGER {
            return None;
        }
        let events = match trigger_type & ANY {
            ANY => DdlEvents::Any,
            _ => DdlEvents::List(
                DdlEvent::all().into_iter().filter(|event| trigger_type & event.bit() != 0).collect(),
            ),
        };
        Some((trigger_type & AFTER != 0, events))
    }
}

impl Display for DdlEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.action.word(), self.object.words())
    }
}

impl Display for DdlEvents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DdlEvents::List(events) = self else { return formatter.write_str("ANY DDL STATEMENT") };
        for (index, event) in events.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" OR ")?;
            }
            event.fmt(formatter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_firebirds() {
        let table = |action| DdlEvent { action, object: DdlEventObject::Table };
        let listed = DdlEvents::List(vec![table(DdlAction::Create), table(DdlAction::Drop)]);
        assert_eq!(listed.trigger_type(false), 16_394);
        assert_eq!(DdlEvents::Any.trigger_type(false), 9_223_372_036_854_767_614);
        assert_eq!(DdlEvents::Any.trigger_type(true), 9_223_372_036_854_767_615);
    }

    #[test]
    fn what_a_type_says_is_what_it_was_made_of() {
        let all = DdlEvent::all();
        assert_eq!(all.len(), 44);
        for event in all {
            let listed = DdlEvents::List(vec![event]);
            let trigger_type = listed.trigger_type(true);
            assert_eq!(DdlEvents::of_trigger_type(trigger_type), Some((true, listed)), "{event}");
            assert!(event.fires(trigger_type, true) && !event.fires(trigger_type, false));
        }
        assert_eq!(
            DdlEvents::of_trigger_type(DdlEvents::Any.trigger_type(false)),
            Some((false, DdlEvents::Any))
        );
        // ON CONNECT, BEFORE INSERT.
        assert_eq!(DdlEvents::of_trigger_type(8_192), None);
        assert_eq!(DdlEvents::of_trigger_type(1), None);
    }
}
