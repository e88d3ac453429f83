//! Triggers.

use crate::ast::{
    DatabaseEvent, DdlAction, DdlEvent, DdlEventObject, DdlEvents, DdlStatement, DefineMode, DefineTrigger,
    Name, RoutineDefinition, Source, TriggerAction, TriggerEvent,
};
use crate::parser::cursor::Parser;
use farbird_types::Result;

/// What is written between a trigger's name and its body.
struct Header {
    active: Option<bool>,
    event: Option<TriggerEvent>,
    order: Option<i16>,
}

impl Parser<'_> {
    /// `TRIGGER name ...`.
    pub(super) fn define_trigger(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let header =
            if mode == DefineMode::Alter { self.altered_trigger_header()? } else { self.trigger_header()? };
        let sql_security = self.sql_security_change()?;
        let (definition, source) = self.trigger_definition(mode)?;
        Ok(DdlStatement::DefineTrigger(DefineTrigger {
            mode,
            name,
            active: header.active,
            event: header.event,
            order: header.order,
            sql_security,
            definition,
            source,
        }))
    }

    /// Either form: `FOR table [ACTIVE] AFTER INSERT [POSITION n]`, `[ACTIVE] AFTER INSERT [POSITION n] ON table`.
    fn trigger_header(&mut self) -> Result<Header> {
        let mut relation = if self.eat_keyword("FOR") { Some(self.name()?) } else { None };
        let active = self.trigger_active();
        if relation.is_none() && self.eat_keyword("ON") {
            let event = TriggerEvent::Database(self.database_event()?);
            return Ok(Header { active, event: Some(event), order: self.trigger_order()? });
        }
        let after = self.before_or_after()?;
        if relation.is_none() && self.at_any_keyword(&["ANY", "CREATE", "ALTER", "DROP"]) {
            let event = TriggerEvent::Ddl { after, events: self.ddl_events()? };
            return Ok(Header { active, event: Some(event), order: self.trigger_order()? });
        }
        let actions = self.trigger_actions()?;
        let mut order = self.trigger_order()?;
        if relation.is_none() {
            self.expect_keyword("ON")?;
            relation = Some(self.name()?);
            if order.is_none() {
                order = self.trigger_order()?;
            }
        }
        Ok(Header { active, event: Some(TriggerEvent::Relation { after, actions, relation }), order })
    }

    /// `[ACTIVE | INACTIVE] [BEFORE | AFTER actions] [POSITION n]`.
    fn altered_trigger_header(&mut self) -> Result<Header> {
        let active = self.trigger_active();
        let event = if self.at_any_keyword(&["BEFORE", "AFTER"]) {
            let after = self.before_or_after()?;
            let actions = self.trigger_actions()?;
            Some(TriggerEvent::Relation { after, actions, relation: None::<Name> })
        } else {
            None
        };
        Ok(Header { active, event, order: self.trigger_order()? })
    }

    fn trigger_active(&mut self) -> Option<bool> {
        if self.eat_keyword("ACTIVE") {
            Some(true)
        } else if self.eat_keyword("INACTIVE") {
            Some(false)
        } else {
            None
        }
    }

    /// `BEFORE | AFTER`: whether AFTER.
    fn before_or_after(&mut self) -> Result<bool> {
        if self.eat_keyword("BEFORE") {
            return Ok(false);
        }
        self.expect_keyword("AFTER")?;
        Ok(true)
    }

    /// `[POSITION n]`.
    fn trigger_order(&mut self) -> Result<Option<i16>> {
        if self.eat_keyword("POSITION") { self.short().map(Some) } else { Ok(None) }
    }

    /// `INSERT OR UPDATE ...`: each at most once.
    fn trigger_actions(&mut self) -> Result<Vec<TriggerAction>> {
        let mut actions = Vec::new();
        loop {
            let action = match self.keyword().unwrap_or_default() {
                "INSERT" => TriggerAction::Insert,
                "UPDATE" => TriggerAction::Update,
                "DELETE" => TriggerAction::Delete,
                _ => return Err(self.unexpected()),
            };
            if actions.contains(&action) {
                return Err(self.unexpected());
            }
            self.take();
            actions.push(action);
            if !self.eat_keyword("OR") {
                return Ok(actions);
            }
        }
    }

    fn database_event(&mut self) -> Result<DatabaseEvent> {
        if self.eat_keyword("CONNECT") {
            return Ok(DatabaseEvent::Connect);
        }
        if self.eat_keyword("DISCONNECT") {
            return Ok(DatabaseEvent::Disconnect);
        }
        self.expect_keyword("TRANSACTION")?;
        if self.eat_keyword("START") {
            return Ok(DatabaseEvent::TransactionStart);
        }
        if self.eat_keyword("COMMIT") {
            return Ok(DatabaseEvent::TransactionCommit);
        }
        self.expect_keyword("ROLLBACK")?;
        Ok(DatabaseEvent::TransactionRollback)
    }

    /// `ANY DDL STATEMENT | event [OR ...]`; Firebird takes ANY among events, too, and events twice.
    fn ddl_events(&mut self) -> Result<DdlEvents> {
        let (mut any, mut events) = (false, Vec::new());
        loop {
            if self.eat_keyword("ANY") {
                self.expect_keywords(&["DDL", "STATEMENT"])?;
                any = true;
            } else {
                let event = self.ddl_event()?;
                if !events.contains(&event) {
                    events.push(event);
                }
            }
            if !self.eat_keyword("OR") {
                return Ok(if any { DdlEvents::Any } else { DdlEvents::List(events) });
            }
        }
    }

    fn ddl_event(&mut self) -> Result<DdlEvent> {
        let action = match self.keyword().unwrap_or_default() {
            "CREATE" => DdlAction::Create,
            "ALTER" => DdlAction::Alter,
            "DROP" => DdlAction::Drop,
            _ => return Err(self.unexpected()),
        };
        self.take();
        let object = match self.keyword().unwrap_or_default() {
            "TABLE" => DdlEventObject::Table,
            "PROCEDURE" => DdlEventObject::Procedure,
            "FUNCTION" => DdlEventObject::Function,
            "TRIGGER" => DdlEventObject::Trigger,
            "EXCEPTION" => DdlEventObject::Exception,
            "VIEW" => DdlEventObject::View,
            "DOMAIN" => DdlEventObject::Domain,
            "ROLE" => DdlEventObject::Role,
            "SEQUENCE" => DdlEventObject::Sequence,
            "USER" => DdlEventObject::User,
            "INDEX" => DdlEventObject::Index,
            "COLLATION" if action != DdlAction::Alter => DdlEventObject::Collation,
            "CHARACTER" if action == DdlAction::Alter && self.keyword_ahead(1, "SET") => {
                self.take();
                DdlEventObject::CharacterSet
            }
            "PACKAGE" if action != DdlAction::Alter && self.keyword_ahead(1, "BODY") => {
                self.take();
                DdlEventObject::PackageBody
            }
            "PACKAGE" => DdlEventObject::Package,
            "MAPPING" => DdlEventObject::Mapping,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(DdlEvent { action, object })
    }

    fn trigger_definition(&mut self, mode: DefineMode) -> Result<(Option<RoutineDefinition>, Source)> {
        if mode == DefineMode::Alter && !self.at_any_keyword(&["AS", "EXTERNAL"]) {
            return Ok((None, Source::default()));
        }
        let start = self.source_start();
        let definition = self.routine_definition()?;
        Ok((Some(definition), self.source_since(start)))
    }
}
