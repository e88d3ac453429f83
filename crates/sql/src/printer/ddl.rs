//! Definitions, routines and security apart.

use super::Printer;
use crate::ast::{
    Check, CollationBase, ColumnChange, ColumnConstraint, ColumnConstraintKind, ColumnDefinition,
    ColumnGeneration, Comment, CommentKind, CommentTarget, Computed, ConnectionsPoolChange, ConstraintIndex,
    CreateCollation, CreateDatabase, CreateDomain, CreateIndex, CreateShadow, CreateTable, DatabaseChange,
    DatabaseFile, DdlStatement, DeclareFilter, DefineMode, DefineSequence, DefineView, DomainChange,
    DropKind, DropObject, Identity, IdentityChange, IndexKey, Literal, ParameterKind, References,
    ReferentialAction, Restart, Storage, TableChange, TableConstraint, TableConstraintKind, TableElement,
    TemporaryRows,
};

impl Printer {
    pub(super) fn ddl(&mut self, statement: &DdlStatement) {
        match statement {
            DdlStatement::CreateTable(table) => self.create_table(table),
            DdlStatement::AlterTable(alter) => {
                self.word("ALTER TABLE").name(&alter.name).list(&alter.changes, Self::table_change);
            }
            DdlStatement::DefineView(view) => self.define_view(view),
            DdlStatement::CreateIndex(index) => self.create_index(index),
            DdlStatement::AlterIndex { name, active } => {
                self.word("ALTER INDEX").name(name).word(if *active { "ACTIVE" } else { "INACTIVE" });
            }
            DdlStatement::SetStatistics(name) => {
                self.word("SET STATISTICS INDEX").name(name);
            }
            DdlStatement::CreateDomain(domain) => self.create_domain(domain),
            DdlStatement::AlterDomain(alter) => {
                self.word("ALTER DOMAIN").name(&alter.name);
                for change in &alter.changes {
                    self.domain_change(change);
                }
            }
            DdlStatement::DefineSequence(sequence) => self.define_sequence(sequence),
            DdlStatement::DefineException(exception) => {
                self.mode(exception.mode).word("EXCEPTION").name(&exception.name).quoted(&exception.message);
            }
            DdlStatement::DefineProcedure(define) => self.define_procedure(define),
            DdlStatement::DefineFunction(define) => self.define_function(define),
            DdlStatement::AlterRoutineOptions(options) => self.alter_routine_options(options),
            DdlStatement::DefineTrigger(define) => self.define_trigger(define),
            DdlStatement::DefinePackage(define) => self.define_package(define),
            DdlStatement::DefinePackageBody(define) => self.define_package_body(define),
            DdlStatement::DefineRole(role) => self.define_role(role),
            DdlStatement::DefineUser(user) => self.define_user(user),
            DdlStatement::DefineMapping(mapping) => self.define_mapping(mapping),
            DdlStatement::Grant(grant) => self.grant(grant),
            DdlStatement::Comment(comment) => self.comment(comment),
            DdlStatement::Drop(drop) => self.drop_object(drop),
            _ => self.database_ddl(statement),
        }
    }

    /// Statements about what belongs to the database as a whole.
    fn database_ddl(&mut self, statement: &DdlStatement) {
        match statement {
            DdlStatement::CreateDatabase(database) => self.create_database(database),
            DdlStatement::AlterDatabase(changes) => {
                self.word("ALTER DATABASE");
                for change in changes {
                    self.database_change(change);
                }
            }
            DdlStatement::DropDatabase => {
                self.word("DROP DATABASE");
            }
            DdlStatement::DeclareExternalFunction(declare) => self.declare_external_function(declare),
            DdlStatement::AlterExternalFunction { name, entry_point, module_name } => {
                self.word("ALTER EXTERNAL FUNCTION").name(name);
                self.quoted_after("ENTRY_POINT", entry_point.as_ref());
                self.quoted_after("MODULE_NAME", module_name.as_ref());
            }
            DdlStatement::DeclareFilter(filter) => self.declare_filter(filter),
            DdlStatement::CreateCollation(collation) => self.create_collation(collation),
            DdlStatement::AlterCharacterSet { name, collation } => {
                self.word("ALTER CHARACTER SET").name(name).word("SET DEFAULT COLLATION").name(collation);
            }
            DdlStatement::CreateShadow(shadow) => self.create_shadow(shadow),
            DdlStatement::AlterConnectionsPool(change) => self.connections_pool_change(change),
            // The statements that the method above prints.
            _ => {}
        }
    }

    pub(super) fn mode(&mut self, mode: DefineMode) -> &mut Self {
        self.word(match mode {
            DefineMode::Create => "CREATE",
            DefineMode::CreateOrAlter => "CREATE OR ALTER",
            DefineMode::Recreate => "RECREATE",
            DefineMode::Alter => "ALTER",
        })
    }

    // Tables.

    fn create_table(&mut self, table: &CreateTable) {
        self.mode(table.mode).word_if(table.temporary.is_some(), "GLOBAL TEMPORARY").word("TABLE");
        self.name(&table.name).quoted_after("EXTERNAL FILE", table.external_file.as_ref());
        self.parentheses(&table.elements, |printer, element| match element {
            TableElement::Column(column) => printer.column_definition(column),
            TableElement::Constraint(constraint) => printer.table_constraint(constraint),
        });
        match table.temporary {
            Some(TemporaryRows::DeleteOnCommit) => {
                self.word("ON COMMIT DELETE ROWS").word_if(table.sql_security.is_some(), ",");
            }
            Some(TemporaryRows::PreserveOnCommit) => {
                self.word("ON COMMIT PRESERVE ROWS").word_if(table.sql_security.is_some(), ",");
            }
            None => {}
        }
        self.sql_security(table.sql_security).publication(table.publication);
        if let Some(storage) = &table.storage {
            self.storage(storage);
        }
    }

    fn storage(&mut self, storage: &Storage) {
        match storage {
            Storage::Codec(name) => self.word("STORAGE CODEC").quoted(name),
            Storage::Default => self.word("STORAGE DEFAULT"),
        };
    }

    fn publication(&mut self, enabled: Option<bool>) {
        self.word_if(enabled == Some(true), "ENABLE PUBLICATION");
        self.word_if(enabled == Some(false), "DISABLE PUBLICATION");
    }

    fn column_definition(&mut self, column: &ColumnDefinition) {
        self.name(&column.name);
        if let Some(data_type) = &column.data_type {
            self.data_type(data_type);
        }
        match &column.generation {
            ColumnGeneration::Stored { default } => self.default_value(default.as_ref()),
            ColumnGeneration::Identity(identity) => self.identity(identity),
            ColumnGeneration::Computed(computed) => self.computed(computed),
        }
        for constraint in &column.constraints {
            self.column_constraint(constraint);
        }
        self.name_after("COLLATE", column.collation.as_ref());
    }

    fn identity(&mut self, identity: &Identity) {
        self.word("GENERATED").word(if identity.always { "ALWAYS" } else { "BY DEFAULT" });
        self.word("AS IDENTITY");
        if identity.start.is_some() || identity.increment.is_some() {
            self.word("(").number_after("START WITH", identity.start);
            self.number_after("INCREMENT BY", identity.increment).tight(")");
        }
    }

    fn computed(&mut self, computed: &Computed) {
        self.word("COMPUTED BY (").expression(&computed.value);
        self.tight(")");
    }

    fn check(&mut self, check: &Check) {
        self.word("CHECK (").expression(&check.condition);
        self.tight(")");
    }

    fn column_constraint(&mut self, constraint: &ColumnConstraint) {
        self.name_after("CONSTRAINT", constraint.name.as_ref());
        match &constraint.kind {
            ColumnConstraintKind::NotNull => {
                self.word("NOT NULL");
            }
            ColumnConstraintKind::PrimaryKey(index) => self.word("PRIMARY KEY").constraint_index(index),
            ColumnConstraintKind::Unique(index) => self.word("UNIQUE").constraint_index(index),
            ColumnConstraintKind::References(references) => self.references(references),
            ColumnConstraintKind::Check(check) => self.check(check),
        }
    }

    fn table_constraint(&mut self, constraint: &TableConstraint) {
        self.name_after("CONSTRAINT", constraint.name.as_ref());
        match &constraint.kind {
            TableConstraintKind::PrimaryKey { columns, index } => {
                self.word("PRIMARY KEY").names_in_parentheses(columns).constraint_index(index);
            }
            TableConstraintKind::Unique { columns, index } => {
                self.word("UNIQUE").names_in_parentheses(columns).constraint_index(index);
            }
            TableConstraintKind::ForeignKey { columns, references } => {
                self.word("FOREIGN KEY").names_in_parentheses(columns).references(references);
            }
            TableConstraintKind::Check(check) => self.check(check),
        }
    }

    fn constraint_index(&mut self, index: &ConstraintIndex) {
        if let Some(name) = &index.name {
            self.word("USING").word_if(index.descending, "DESC").word("INDEX").name(name);
        }
    }

    fn references(&mut self, references: &References) {
        self.word("REFERENCES").name(&references.table).names_in_parentheses(&references.columns);
        for (event, action) in [("ON UPDATE", references.on_update), ("ON DELETE", references.on_delete)] {
            if let Some(action) = action {
                self.word(event).word(match action {
                    ReferentialAction::NoAction => "NO ACTION",
                    ReferentialAction::Cascade => "CASCADE",
                    ReferentialAction::SetNull => "SET NULL",
                    ReferentialAction::SetDefault => "SET DEFAULT",
                    ReferentialAction::Restrict => "RESTRICT",
                });
            }
        }
        self.constraint_index(&references.index);
    }

    fn table_change(&mut self, change: &TableChange) {
        match change {
            TableChange::AddColumn(column) => self.word("ADD").column_definition(column),
            TableChange::AddConstraint(constraint) => self.word("ADD").table_constraint(constraint),
            TableChange::DropColumn(name) => {
                self.word("DROP").name(name);
            }
            TableChange::DropConstraint(name) => {
                self.word("DROP CONSTRAINT").name(name);
            }
            TableChange::AlterColumn { name, change } => {
                self.word("ALTER COLUMN").name(name).column_change(change);
            }
            TableChange::SqlSecurity(crate::ast::SqlSecurityChange::Set(security)) => {
                self.word("ALTER").sql_security(Some(*security));
            }
            TableChange::SqlSecurity(crate::ast::SqlSecurityChange::Drop) => {
                self.word("DROP SQL SECURITY");
            }
            TableChange::Publication(enabled) => self.publication(Some(*enabled)),
            TableChange::Storage(storage) => self.word("SET").storage(storage),
        }
    }

    fn column_change(&mut self, change: &ColumnChange) {
        match change {
            ColumnChange::Rename(name) => {
                self.word("TO").name(name);
            }
            ColumnChange::Position(position) => {
                self.word("POSITION").number(position);
            }
            ColumnChange::Type { data_type, collation } => {
                self.word("TYPE").data_type(data_type);
                self.name_after("COLLATE", collation.as_ref());
            }
            ColumnChange::Computed { data_type, computed } => {
                if let Some(data_type) = data_type {
                    self.word("TYPE").data_type(data_type);
                }
                self.computed(computed);
            }
            ColumnChange::SetDefault(default) => self.word("SET").default_value(Some(default)),
            ColumnChange::DropDefault => {
                self.word("DROP DEFAULT");
            }
            ColumnChange::SetNotNull => {
                self.word("SET NOT NULL");
            }
            ColumnChange::DropNotNull => {
                self.word("DROP NOT NULL");
            }
            ColumnChange::Identity(change) => self.identity_change(change),
            ColumnChange::DropIdentity => {
                self.word("DROP IDENTITY");
            }
        }
    }

    fn identity_change(&mut self, change: &IdentityChange) {
        self.word_if(change.always == Some(true), "SET GENERATED ALWAYS");
        self.word_if(change.always == Some(false), "SET GENERATED BY DEFAULT");
        self.restart(change.restart);
        self.number_after("SET INCREMENT BY", change.increment);
    }

    fn restart(&mut self, restart: Option<Restart>) {
        match restart {
            Some(Restart::Initial) => {
                self.word("RESTART");
            }
            Some(Restart::With(value)) => {
                self.word("RESTART WITH").number(value);
            }
            None => {}
        }
    }

    // Views, indexes, domains, sequences.

    fn define_view(&mut self, view: &DefineView) {
        self.mode(view.mode).word("VIEW").name(&view.name).names_in_parentheses(&view.columns);
        self.word("AS").select_statement(&view.query);
        self.word_if(view.check_option, "WITH CHECK OPTION");
    }

    fn create_index(&mut self, index: &CreateIndex) {
        self.word("CREATE").word_if(index.unique, "UNIQUE").word_if(index.descending, "DESC");
        self.word("INDEX").name(&index.name).word_if(index.inactive, "INACTIVE");
        self.word("ON").name(&index.table);
        match &index.key {
            IndexKey::Columns(columns) => {
                self.names_in_parentheses(columns);
            }
            IndexKey::Computed(computed) => self.computed(computed),
        }
        self.expression_after("WHERE", index.condition.as_ref().map(|condition| &condition.condition));
    }

    fn create_domain(&mut self, domain: &CreateDomain) {
        self.word("CREATE DOMAIN").name(&domain.name).word("AS").data_type(&domain.data_type);
        self.default_value(domain.default.as_ref());
        self.word_if(domain.not_null, "NOT NULL");
        if let Some(check) = &domain.check {
            self.check(check);
        }
        self.name_after("COLLATE", domain.collation.as_ref());
    }

    fn domain_change(&mut self, change: &DomainChange) {
        match change {
            DomainChange::Rename(name) => {
                self.word("TO").name(name);
            }
            DomainChange::Type(data_type) => self.word("TYPE").data_type(data_type),
            DomainChange::SetDefault(default) => self.word("SET").default_value(Some(default)),
            DomainChange::DropDefault => {
                self.word("DROP DEFAULT");
            }
            DomainChange::SetNotNull => {
                self.word("SET NOT NULL");
            }
            DomainChange::DropNotNull => {
                self.word("DROP NOT NULL");
            }
            DomainChange::AddCheck(check) => self.word("ADD").check(check),
            DomainChange::DropConstraint => {
                self.word("DROP CONSTRAINT");
            }
        }
    }

    fn define_sequence(&mut self, sequence: &DefineSequence) {
        if let (true, Some(Restart::With(value))) = (sequence.set_generator, sequence.restart) {
            self.word("SET GENERATOR").name(&sequence.name).word("TO").number(value);
            return;
        }
        self.mode(sequence.mode).word("SEQUENCE").name(&sequence.name);
        self.number_after("START WITH", sequence.start).restart(sequence.restart);
        self.number_after("INCREMENT BY", sequence.increment);
    }

    // The database.

    fn create_database(&mut self, database: &CreateDatabase) {
        self.word("CREATE DATABASE")
            .quoted(&database.file)
            .quoted_after("USER", database.user.as_ref())
            .quoted_after("PASSWORD", database.password.as_ref())
            .quoted_after("ROLE", database.role.as_ref())
            .quoted_after("SET NAMES", database.names.as_ref())
            .number_after("PAGE_SIZE", database.page_size)
            .number_after("LENGTH", database.length)
            .name_after("DEFAULT CHARACTER SET", database.character_set.as_ref())
            .name_after("COLLATION", database.collation.as_ref());
        for file in &database.files {
            self.database_file(file);
        }
        self.quoted_after("DIFFERENCE FILE", database.difference_file.as_ref());
    }

    fn database_file(&mut self, file: &DatabaseFile) {
        self.word("FILE").quoted(&file.name);
        self.number_after("STARTING AT PAGE", file.starting).number_after("LENGTH", file.length);
    }

    fn database_change(&mut self, change: &DatabaseChange) {
        match change {
            DatabaseChange::AddFile(file) => self.word("ADD").database_file(file),
            DatabaseChange::AddDifferenceFile(name) => {
                self.word("ADD DIFFERENCE FILE").quoted(name);
            }
            DatabaseChange::DropDifferenceFile => {
                self.word("DROP DIFFERENCE FILE");
            }
            DatabaseChange::BeginBackup => {
                self.word("BEGIN BACKUP");
            }
            DatabaseChange::EndBackup => {
                self.word("END BACKUP");
            }
            DatabaseChange::SetDefaultCharacterSet(name) => {
                self.word("SET DEFAULT CHARACTER SET").name(name);
            }
            DatabaseChange::SetLinger(seconds) => {
                self.word("SET LINGER TO").number(seconds);
            }
            DatabaseChange::DropLinger => {
                self.word("DROP LINGER");
            }
            DatabaseChange::SetDefaultSqlSecurity(security) => {
                self.word("SET DEFAULT").sql_security(Some(*security));
            }
            DatabaseChange::Encrypt { plugin, key } => {
                self.word("ENCRYPT WITH").name(plugin).name_after("KEY", key.as_ref());
            }
            DatabaseChange::Decrypt => {
                self.word("DECRYPT");
            }
            DatabaseChange::Publication(enabled) => self.publication(Some(*enabled)),
            DatabaseChange::IncludeInPublication(tables) => {
                self.word("INCLUDE").word(if tables.is_empty() { "ALL" } else { "TABLE" });
                self.names(tables).word("TO PUBLICATION");
            }
            DatabaseChange::ExcludeFromPublication(tables) => {
                self.word("EXCLUDE").word(if tables.is_empty() { "ALL" } else { "TABLE" });
                self.names(tables).word("FROM PUBLICATION");
            }
            DatabaseChange::Storage(storage) => self.word("SET").storage(storage),
        }
    }

    fn create_shadow(&mut self, shadow: &CreateShadow) {
        self.word("CREATE SHADOW").number(shadow.number);
        self.word_if(shadow.manual, "MANUAL").word_if(shadow.conditional, "CONDITIONAL");
        if let Some((first, others)) = shadow.files.split_first() {
            self.quoted(&first.name).number_after("LENGTH", first.length);
            for file in others {
                self.database_file(file);
            }
        }
    }

    fn declare_filter(&mut self, filter: &DeclareFilter) {
        self.word("DECLARE FILTER").name(&filter.name);
        self.word("INPUT_TYPE").blob_subtype(&filter.input);
        self.word("OUTPUT_TYPE").blob_subtype(&filter.output);
        self.word("ENTRY_POINT").quoted(&filter.entry_point);
        self.word("MODULE_NAME").quoted(&filter.module_name);
    }

    fn create_collation(&mut self, collation: &CreateCollation) {
        self.word("CREATE COLLATION").name(&collation.name).word("FOR").name(&collation.character_set);
        match &collation.from {
            Some(CollationBase::Collation(name)) => {
                self.word("FROM").name(name);
            }
            Some(CollationBase::External(name)) => {
                self.word("FROM EXTERNAL (").quoted(name).tight(")");
            }
            None => {}
        }
        self.word_if(collation.pad_space == Some(true), "PAD SPACE")
            .word_if(collation.pad_space == Some(false), "NO PAD")
            .word_if(collation.case_sensitive == Some(true), "CASE SENSITIVE")
            .word_if(collation.case_sensitive == Some(false), "CASE INSENSITIVE")
            .word_if(collation.accent_sensitive == Some(true), "ACCENT SENSITIVE")
            .word_if(collation.accent_sensitive == Some(false), "ACCENT INSENSITIVE");
        if let Some(attributes) = &collation.attributes {
            self.quoted(attributes);
        }
    }

    fn connections_pool_change(&mut self, change: &ConnectionsPoolChange) {
        self.word("ALTER EXTERNAL CONNECTIONS POOL");
        match change {
            ConnectionsPoolChange::Size(size) => {
                self.word("SET SIZE").number(size);
            }
            ConnectionsPoolChange::Lifetime(lifetime) => self.word("SET LIFETIME").timeout(*lifetime),
            ConnectionsPoolChange::Clear(text) => {
                self.word("CLEAR").quoted(text);
            }
            ConnectionsPoolChange::ClearAll => {
                self.word("CLEAR ALL");
            }
            ConnectionsPoolChange::ClearOldest => {
                self.word("CLEAR OLDEST");
            }
        }
    }

    // COMMENT and DROP.

    fn comment(&mut self, comment: &Comment) {
        self.word("COMMENT ON");
        match &comment.target {
            CommentTarget::Database => {
                self.word("DATABASE");
            }
            CommentTarget::Object { kind, name, plugin } => {
                self.word(comment_kind(*kind)).object_name(name).name_after("USING PLUGIN", plugin.as_ref());
            }
            CommentTarget::Column { relation, column } => {
                self.word("COLUMN").name(relation).tight(".").name(column);
            }
            CommentTarget::Parameter { kind, routine, parameter } => {
                match kind {
                    Some(ParameterKind::Procedure) => {
                        self.word("PROCEDURE");
                    }
                    Some(ParameterKind::Function) => {
                        self.word("FUNCTION");
                    }
                    None => {}
                }
                self.word("PARAMETER").object_name(routine).tight(".").name(parameter);
            }
        }
        self.word("IS");
        match &comment.text {
            Some(text) => self.quoted(text),
            None => self.word("NULL"),
        };
    }

    fn drop_object(&mut self, drop: &DropObject) {
        self.word("DROP").word(drop_kind(drop.kind));
        if drop.kind == DropKind::Shadow {
            self.word(&drop.name.text);
        } else {
            self.name(&drop.name);
        }
        self.name_after("USING PLUGIN", drop.plugin.as_ref());
        self.word_if(drop.preserve_file == Some(true), "PRESERVE FILE");
        self.word_if(drop.preserve_file == Some(false), "DELETE FILE");
    }

    /// A number with its sign before it.
    pub(super) fn signed_literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Integer { value, .. } if *value < 0 => {
                self.number(value);
            }
            Literal::Double(value) if value.is_sign_negative() => {
                self.word("-").literal(&Literal::Double(-value));
            }
            other => self.literal(other),
        }
    }
}

fn comment_kind(kind: CommentKind) -> &'static str {
    match kind {
        CommentKind::CharacterSet => "CHARACTER SET",
        CommentKind::Collation => "COLLATION",
        CommentKind::Domain => "DOMAIN",
        CommentKind::Exception => "EXCEPTION",
        CommentKind::Function => "FUNCTION",
        CommentKind::Filter => "FILTER",
        CommentKind::Sequence => "SEQUENCE",
        CommentKind::Index => "INDEX",
        CommentKind::Mapping => "MAPPING",
        CommentKind::GlobalMapping => "GLOBAL MAPPING",
        CommentKind::Package => "PACKAGE",
        CommentKind::Procedure => "PROCEDURE",
        CommentKind::Role => "ROLE",
        CommentKind::Table => "TABLE",
        CommentKind::Trigger => "TRIGGER",
        CommentKind::User => "USER",
        CommentKind::View => "VIEW",
    }
}

fn drop_kind(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Table => "TABLE",
        DropKind::View => "VIEW",
        DropKind::Index => "INDEX",
        DropKind::Domain => "DOMAIN",
        DropKind::Sequence => "SEQUENCE",
        DropKind::Exception => "EXCEPTION",
        DropKind::Procedure => "PROCEDURE",
        DropKind::Function => "FUNCTION",
        DropKind::ExternalFunction => "EXTERNAL FUNCTION",
        DropKind::Trigger => "TRIGGER",
        DropKind::Package => "PACKAGE",
        DropKind::PackageBody => "PACKAGE BODY",
        DropKind::Collation => "COLLATION",
        DropKind::Filter => "FILTER",
        DropKind::Role => "ROLE",
        DropKind::User => "USER",
        DropKind::Mapping => "MAPPING",
        DropKind::GlobalMapping => "GLOBAL MAPPING",
        DropKind::Shadow => "SHADOW",
    }
}
