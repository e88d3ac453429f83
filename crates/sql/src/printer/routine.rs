//! Procedures, functions, triggers, packages, external functions.

use super::Printer;
use crate::ast::{
    AlterRoutineOptions, DatabaseEvent, DeclareExternalFunction, DefaultValue, DefineFunction, DefinePackage,
    DefinePackageBody, DefineProcedure, DefineTrigger, ExternalArgument, ExternalBody, ExternalMechanism,
    ExternalResult, FunctionSignature, PackageBodyItem, PackageItem, ParameterDeclaration,
    ProcedureSignature, RoutineDefinition, SqlSecurity, SqlSecurityChange, TriggerAction, TriggerEvent,
};

impl Printer {
    pub(super) fn procedure_signature(&mut self, signature: &ProcedureSignature) {
        self.name(&signature.name).parameters(&signature.parameters);
        self.returns(&signature.returns);
        self.sql_security(signature.sql_security);
    }

    pub(super) fn function_signature(&mut self, signature: &FunctionSignature) {
        self.name(&signature.name).parameters(&signature.parameters);
        self.word("RETURNS").data_type(&signature.returns.data_type);
        self.word_if(signature.returns.not_null, "NOT NULL")
            .name_after("COLLATE", signature.returns.collation.as_ref())
            .word_if(signature.deterministic, "DETERMINISTIC")
            .sql_security(signature.sql_security);
    }

    fn parameters(&mut self, parameters: &[ParameterDeclaration]) {
        if !parameters.is_empty() {
            self.parentheses(parameters, Self::parameter);
        }
    }

    fn parameter(&mut self, declaration: &ParameterDeclaration) {
        self.typed_name(&declaration.parameter);
        self.default_value(declaration.default.as_ref());
    }

    pub(super) fn default_value(&mut self, default: Option<&DefaultValue>) {
        self.expression_after("DEFAULT", default.map(|default| &default.value));
    }

    /// RETURNS of a procedure or block.
    pub(super) fn returns(&mut self, returns: &[ParameterDeclaration]) {
        if !returns.is_empty() {
            self.word("RETURNS").parentheses(returns, Self::parameter);
        }
    }

    pub(super) fn sql_security(&mut self, security: Option<SqlSecurity>) -> &mut Self {
        match security {
            Some(SqlSecurity::Definer) => self.word("SQL SECURITY DEFINER"),
            Some(SqlSecurity::Invoker) => self.word("SQL SECURITY INVOKER"),
            None => self,
        }
    }

    pub(super) fn sql_security_change(&mut self, change: Option<SqlSecurityChange>) -> &mut Self {
        match change {
            Some(SqlSecurityChange::Set(security)) => self.sql_security(Some(security)),
            Some(SqlSecurityChange::Drop) => self.word("DROP SQL SECURITY"),
            None => self,
        }
    }

    fn definition(&mut self, definition: &RoutineDefinition) {
        match definition {
            RoutineDefinition::Body(body) => self.word("AS").line().routine_body(body),
            RoutineDefinition::External(body) => self.external_body(body),
        }
    }

    fn external_body(&mut self, body: &ExternalBody) {
        self.word("EXTERNAL").quoted_after("NAME", body.entry_point.as_ref());
        self.word("ENGINE").name(&body.engine).quoted_after("AS", body.text.as_ref());
    }

    pub(super) fn define_procedure(&mut self, define: &DefineProcedure) {
        self.mode(define.mode).word("PROCEDURE").procedure_signature(&define.signature);
        self.definition(&define.definition);
    }

    pub(super) fn define_function(&mut self, define: &DefineFunction) {
        self.mode(define.mode).word("FUNCTION").function_signature(&define.signature);
        self.definition(&define.definition);
    }

    pub(super) fn alter_routine_options(&mut self, options: &AlterRoutineOptions) {
        self.word("ALTER").word(if options.function { "FUNCTION" } else { "PROCEDURE" }).name(&options.name);
        match options.deterministic {
            Some(true) => {
                self.word("DETERMINISTIC");
            }
            Some(false) => {
                self.word("NOT DETERMINISTIC");
            }
            None => {}
        }
        self.sql_security_change(options.sql_security);
    }

    // Triggers.

    pub(super) fn define_trigger(&mut self, define: &DefineTrigger) {
        self.mode(define.mode).word("TRIGGER").name(&define.name);
        self.word_if(define.active == Some(true), "ACTIVE");
        self.word_if(define.active == Some(false), "INACTIVE");
        match &define.event {
            None => {
                self.number_after("POSITION", define.order);
            }
            Some(TriggerEvent::Relation { after, actions, relation }) => {
                self.before_or_after(*after);
                for (index, action) in actions.iter().enumerate() {
                    self.word_if(index > 0, "OR").word(match action {
                        TriggerAction::Insert => "INSERT",
                        TriggerAction::Update => "UPDATE",
                        TriggerAction::Delete => "DELETE",
                    });
                }
                self.number_after("POSITION", define.order).name_after("ON", relation.as_ref());
            }
            Some(TriggerEvent::Database(event)) => {
                self.word(database_event(*event)).number_after("POSITION", define.order);
            }
            Some(TriggerEvent::Ddl { after, events }) => {
                self.before_or_after(*after).word(&events.to_string());
                self.number_after("POSITION", define.order);
            }
        }
        self.sql_security_change(define.sql_security);
        if let Some(definition) = &define.definition {
            self.definition(definition);
        }
    }

    fn before_or_after(&mut self, after: bool) -> &mut Self {
        self.word(if after { "AFTER" } else { "BEFORE" })
    }

    // Packages.

    pub(super) fn define_package(&mut self, define: &DefinePackage) {
        self.mode(define.mode).word("PACKAGE").name(&define.name).sql_security(define.sql_security);
        self.word("AS").line().word("BEGIN");
        self.level += 1;
        for item in &define.items {
            self.line();
            match item {
                PackageItem::Procedure(signature) => self.word("PROCEDURE").procedure_signature(signature),
                PackageItem::Function(signature) => self.word("FUNCTION").function_signature(signature),
            }
            self.tight(";");
        }
        self.level -= 1;
        self.line().word("END");
    }

    pub(super) fn define_package_body(&mut self, define: &DefinePackageBody) {
        self.mode(define.mode).word("PACKAGE BODY").name(&define.name);
        self.word("AS").line().word("BEGIN");
        self.level += 1;
        for item in &define.items {
            self.line();
            let definition = match item {
                PackageBodyItem::Procedure { signature, definition } => {
                    self.word("PROCEDURE").procedure_signature(signature);
                    definition
                }
                PackageBodyItem::Function { signature, definition } => {
                    self.word("FUNCTION").function_signature(signature);
                    definition
                }
            };
            if let Some(definition) = definition {
                self.definition(definition);
            }
            if !matches!(definition, Some(RoutineDefinition::Body(_))) {
                self.tight(";");
            }
        }
        self.level -= 1;
        self.line().word("END");
    }

    // External functions of old.

    pub(super) fn declare_external_function(&mut self, declare: &DeclareExternalFunction) {
        self.word("DECLARE EXTERNAL FUNCTION").name(&declare.name);
        self.list(&declare.arguments, Self::external_argument).word("RETURNS");
        match &declare.returns {
            ExternalResult::Value(argument) => self.external_argument(argument),
            ExternalResult::Parameter(number) => {
                self.word("PARAMETER").number(number);
            }
        }
        self.word_if(declare.free_it, "FREE_IT");
        self.word("ENTRY_POINT").quoted(&declare.entry_point);
        self.word("MODULE_NAME").quoted(&declare.module_name);
    }

    fn external_argument(&mut self, argument: &ExternalArgument) {
        self.data_type(&argument.data_type);
        match argument.mechanism {
            ExternalMechanism::Reference => self,
            ExternalMechanism::Value => self.word("BY VALUE"),
            ExternalMechanism::Descriptor => self.word("BY DESCRIPTOR"),
            ExternalMechanism::ScalarArray => self.word("BY SCALAR_ARRAY"),
            ExternalMechanism::ReferenceWithNull => self.word("NULL"),
        };
    }
}

fn database_event(event: DatabaseEvent) -> &'static str {
    match event {
        DatabaseEvent::Connect => "ON CONNECT",
        DatabaseEvent::Disconnect => "ON DISCONNECT",
        DatabaseEvent::TransactionStart => "ON TRANSACTION START",
        DatabaseEvent::TransactionCommit => "ON TRANSACTION COMMIT",
        DatabaseEvent::TransactionRollback => "ON TRANSACTION ROLLBACK",
    }
}
