//! Definitions: databases, tables, views, indexes, domains, sequences and the smaller objects.

use crate::ast::data_type::{BlobSubtype, DataType};
use crate::ast::expression::Expression;
use crate::ast::name::{Name, ObjectName, Position, Source};
use crate::ast::query::SelectStatement;
use crate::ast::routine::{
    AlterRoutineOptions, DeclareExternalFunction, DefineFunction, DefinePackage, DefinePackageBody,
    DefineProcedure, DefineTrigger, SqlSecurityChange,
};
use crate::ast::security::{DefineMapping, DefineRole, DefineUser, GrantStatement};
use crate::ast::session::Timeout;

/// Statements that change the catalog.
#[derive(Debug, Clone, PartialEq)]
pub enum DdlStatement {
    /// CREATE DATABASE.
    CreateDatabase(CreateDatabase),
    /// ALTER DATABASE.
    AlterDatabase(Vec<DatabaseChange>),
    /// DROP DATABASE.
    DropDatabase,
    /// CREATE | RECREATE TABLE.
    CreateTable(CreateTable),
    /// ALTER TABLE.
    AlterTable(AlterTable),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE VIEW.
    DefineView(DefineView),
    /// CREATE INDEX.
    CreateIndex(CreateIndex),
    /// ALTER INDEX name ACTIVE | INACTIVE.
    AlterIndex {
        /// The index.
        name: Name,
        /// ACTIVE.
        active: bool,
    },
    /// SET STATISTICS INDEX name.
    SetStatistics(Name),
    /// CREATE DOMAIN.
    CreateDomain(CreateDomain),
    /// ALTER DOMAIN.
    AlterDomain(AlterDomain),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE SEQUENCE, SET GENERATOR.
    DefineSequence(DefineSequence),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE EXCEPTION.
    DefineException(DefineException),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE PROCEDURE.
    DefineProcedure(DefineProcedure),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE FUNCTION.
    DefineFunction(DefineFunction),
    /// ALTER PROCEDURE | FUNCTION without a body.
    AlterRoutineOptions(AlterRoutineOptions),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE TRIGGER.
    DefineTrigger(DefineTrigger),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE PACKAGE.
    DefinePackage(DefinePackage),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE PACKAGE BODY.
    DefinePackageBody(DefinePackageBody),
    /// DECLARE EXTERNAL FUNCTION.
    DeclareExternalFunction(DeclareExternalFunction),
    /// ALTER EXTERNAL FUNCTION.
    AlterExternalFunction {
        /// The function.
        name: Name,
        /// ENTRY_POINT.
        entry_point: Option<String>,
        /// MODULE_NAME.
        module_name: Option<String>,
    },
    /// DECLARE FILTER.
    DeclareFilter(DeclareFilter),
    /// CREATE COLLATION.
    CreateCollation(CreateCollation),
    /// ALTER CHARACTER SET name SET DEFAULT COLLATION collation.
    AlterCharacterSet {
        /// The character set.
        name: Name,
        /// Its new default.
        collation: Name,
    },
    /// CREATE SHADOW.
    CreateShadow(CreateShadow),
    /// CREATE | ALTER ROLE.
    DefineRole(DefineRole),
    /// CREATE | ALTER | CREATE OR ALTER | RECREATE USER.
    DefineUser(DefineUser),
    /// CREATE | ALTER | CREATE OR ALTER MAPPING.
    DefineMapping(DefineMapping),
    /// GRANT, REVOKE.
    Grant(GrantStatement),
    /// COMMENT ON.
    Comment(Comment),
    /// ALTER EXTERNAL CONNECTIONS POOL.
    AlterConnectionsPool(ConnectionsPoolChange),
    /// DROP anything but the database.
    Drop(DropObject),
}

/// How an object comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefineMode {
    /// CREATE: must not exist.
    Create,
    /// CREATE OR ALTER.
    CreateOrAlter,
    /// RECREATE: dropped first if it exists.
    Recreate,
    /// ALTER: must exist.
    Alter,
}

/// With whose privileges code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlSecurity {
    /// SQL SECURITY DEFINER
    Definer,
    /// SQL SECURITY INVOKER
    Invoker,
}

/// DROP.
#[derive(Debug, Clone, PartialEq)]
pub struct DropObject {
    /// Of what kind.
    pub kind: DropKind,
    /// Its name; a number for a shadow.
    pub name: Name,
    /// USING PLUGIN, for a user.
    pub plugin: Option<Name>,
    /// PRESERVE FILE (true), DELETE FILE (false), for a shadow.
    pub preserve_file: Option<bool>,
}

/// What can be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum DropKind {
    Table,
    View,
    Index,
    Domain,
    Sequence,
    Exception,
    Procedure,
    Function,
    /// EXTERNAL FUNCTION
    ExternalFunction,
    Trigger,
    Package,
    /// PACKAGE BODY
    PackageBody,
    Collation,
    Filter,
    Role,
    User,
    Mapping,
    /// GLOBAL MAPPING
    GlobalMapping,
    /// SHADOW
    Shadow,
}

/// DEFAULT value.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    /// A constant, NULL or a context variable.
    pub value: Expression,
    /// The text from DEFAULT or `=` on (RDB$DEFAULT_SOURCE).
    pub source: Source,
}

/// CHECK (condition).
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The condition.
    pub condition: Expression,
    /// The text from CHECK to the closing parenthesis (RDB$VALIDATION_SOURCE, RDB$TRIGGER_SOURCE).
    pub source: Source,
}

/// COMPUTED BY (value).
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The value.
    pub value: Expression,
    /// The text with its parentheses (RDB$COMPUTED_SOURCE, RDB$EXPRESSION_SOURCE).
    pub source: Source,
}

/// CREATE | RECREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// Create or Recreate.
    pub mode: DefineMode,
    /// The table.
    pub name: Name,
    /// GLOBAL TEMPORARY.
    pub temporary: Option<TemporaryRows>,
    /// EXTERNAL \[FILE\].
    pub external_file: Option<String>,
    /// Columns and table constraints, in the order of the text.
    pub elements: Vec<TableElement>,
    /// SQL SECURITY.
    pub sql_security: Option<SqlSecurity>,
    /// ENABLE PUBLICATION (true), DISABLE PUBLICATION (false).
    pub publication: Option<bool>,
    /// STORAGE.
    pub storage: Option<Storage>,
}

/// How rows are packed: STORAGE. Farbird's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// STORAGE CODEC 'name'
    Codec(String),
    /// STORAGE DEFAULT: as the next above says, the database or the server.
    Default,
}

/// What becomes of a temporary table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemporaryRows {
    /// ON COMMIT DELETE ROWS, also when nothing was written.
    DeleteOnCommit,
    /// ON COMMIT PRESERVE ROWS
    PreserveOnCommit,
}

/// A part of a table's definition.
#[derive(Debug, Clone, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDefinition>),
    /// A constraint on the table.
    Constraint(Box<TableConstraint>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// The name.
    pub name: Name,
    /// The type; none only for a computed column that leaves it to its value.
    pub data_type: Option<DataType>,
    /// COLLATE.
    pub collation: Option<Name>,
    /// Whether its value is stored, generated or computed.
    pub generation: ColumnGeneration,
    /// Constraints, in the order of the text.
    pub constraints: Vec<ColumnConstraint>,
}

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnGeneration {
    /// From statements; with a DEFAULT perhaps.
    Stored {
        /// DEFAULT.
        default: Option<DefaultValue>,
    },
    /// GENERATED ... AS IDENTITY.
    Identity(Identity),
    /// COMPUTED \[BY\], GENERATED ALWAYS AS.
    Computed(Computed),
}

/// GENERATED ALWAYS | BY DEFAULT AS IDENTITY (options).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// ALWAYS rather than BY DEFAULT.
    pub always: bool,
    /// START WITH.
    pub start: Option<i64>,
    /// INCREMENT \[BY\].
    pub increment: Option<i32>,
}

/// `[CONSTRAINT name] constraint` on a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnConstraint {
    /// Its name.
    pub name: Option<Name>,
    /// What it demands.
    pub kind: ColumnConstraintKind,
    /// Where it begins.
    pub position: Position,
}

/// Constraints on a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnConstraintKind {
    /// NOT NULL
    NotNull,
    /// PRIMARY KEY
    PrimaryKey(ConstraintIndex),
    /// UNIQUE
    Unique(ConstraintIndex),
    /// REFERENCES
    References(References),
    /// CHECK
    Check(Check),
}

/// `[CONSTRAINT name] constraint` on a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableConstraint {
    /// Its name.
    pub name: Option<Name>,
    /// What it demands.
    pub kind: TableConstraintKind,
    /// Where it begins.
    pub position: Position,
}

/// Constraints on a table.
#[derive(Debug, Clone, PartialEq)]
pub enum TableConstraintKind {
    /// PRIMARY KEY (columns)
    PrimaryKey {
        /// The columns.
        columns: Vec<Name>,
        /// USING INDEX.
        index: ConstraintIndex,
    },
    /// UNIQUE (columns)
    Unique {
        /// The columns.
        columns: Vec<Name>,
        /// USING INDEX.
        index: ConstraintIndex,
    },
    /// FOREIGN KEY (columns) REFERENCES ...
    ForeignKey {
        /// The columns.
        columns: Vec<Name>,
        /// What they point at.
        references: References,
    },
    /// CHECK
    Check(Check),
}

/// `[USING [ASC | DESC] INDEX name]`: the index that a constraint makes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConstraintIndex {
    /// Its name; none: the constraint's, or a generated one.
    pub name: Option<Name>,
    /// DESC.
    pub descending: bool,
}

/// REFERENCES table \[(columns)\] \[ON UPDATE action\] \[ON DELETE action\].
#[derive(Debug, Clone, PartialEq)]
pub struct References {
    /// The table.
    pub table: Name,
    /// Its columns; empty: its primary key.
    pub columns: Vec<Name>,
    /// ON UPDATE.
    pub on_update: Option<ReferentialAction>,
    /// ON DELETE.
    pub on_delete: Option<ReferentialAction>,
    /// USING INDEX.
    pub index: ConstraintIndex,
}

/// What becomes of rows whose master changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    /// NO ACTION
    NoAction,
    /// CASCADE
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT
    SetDefault,
    /// RESTRICT
    Restrict,
}

/// ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: Name,
    /// What changes, in the order of the text.
    pub changes: Vec<TableChange>,
}

/// A change of a table.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a statement has a handful of changes; boxes would only hide them"
)]
pub enum TableChange {
    /// ADD column
    AddColumn(Box<ColumnDefinition>),
    /// ADD constraint
    AddConstraint(Box<TableConstraint>),
    /// DROP column \[RESTRICT | CASCADE\]
    DropColumn(Name),
    /// DROP CONSTRAINT name
    DropConstraint(Name),
    /// ALTER \[COLUMN\] name ...
    AlterColumn {
        /// The column.
        name: Name,
        /// How it changes.
        change: ColumnChange,
    },
    /// ALTER SQL SECURITY ..., DROP SQL SECURITY
    SqlSecurity(SqlSecurityChange),
    /// ENABLE PUBLICATION (true), DISABLE PUBLICATION (false)
    Publication(bool),
    /// SET STORAGE
    Storage(Storage),
}

/// A change of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnChange {
    /// TO name
    Rename(Name),
    /// POSITION n, from 1
    Position(u16),
    /// TYPE type \[COLLATE\]
    Type {
        /// The new type.
        data_type: DataType,
        /// COLLATE.
        collation: Option<Name>,
    },
    /// \[TYPE type\] COMPUTED BY (value)
    Computed {
        /// The new type.
        data_type: Option<DataType>,
        /// The new value.
        computed: Computed,
    },
    /// SET DEFAULT value
    SetDefault(DefaultValue),
    /// DROP DEFAULT
    DropDefault,
    /// SET NOT NULL
    SetNotNull,
    /// DROP NOT NULL
    DropNotNull,
    /// RESTART \[WITH n\], SET INCREMENT \[BY\] n, SET GENERATED ...
    Identity(IdentityChange),
    /// DROP IDENTITY
    DropIdentity,
}

/// A change of an identity column; what was not written is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IdentityChange {
    /// SET GENERATED ALWAYS (true), BY DEFAULT (false).
    pub always: Option<bool>,
    /// RESTART.
    pub restart: Option<Restart>,
    /// SET INCREMENT \[BY\].
    pub increment: Option<i32>,
}

/// RESTART \[WITH value\].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// RESTART: at its initial value.
    Initial,
    /// RESTART WITH.
    With(i64),
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE VIEW.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineView {
    /// Which of the four.
    pub mode: DefineMode,
    /// The view.
    pub name: Name,
    /// Names of its columns, if written.
    pub columns: Vec<Name>,
    /// AS.
    pub query: Box<SelectStatement>,
    /// WITH CHECK OPTION.
    pub check_option: bool,
    /// The query's text, WITH CHECK OPTION included (RDB$VIEW_SOURCE).
    pub source: Source,
}

/// CREATE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// UNIQUE.
    pub unique: bool,
    /// DESC.
    pub descending: bool,
    /// The index.
    pub name: Name,
    /// INACTIVE (of Firebird 6): it gets no entries.
    pub inactive: bool,
    /// The table.
    pub table: Name,
    /// What is indexed.
    pub key: IndexKey,
    /// WHERE.
    pub condition: Option<IndexCondition>,
}

/// What an index is over.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexKey {
    /// Columns.
    Columns(Vec<Name>),
    /// COMPUTED BY (value).
    Computed(Computed),
}

/// The condition of a partial index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexCondition {
    /// The condition.
    pub condition: Expression,
    /// The text from WHERE on (RDB$CONDITION_SOURCE).
    pub source: Source,
}

/// CREATE DOMAIN.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDomain {
    /// The domain.
    pub name: Name,
    /// Its type.
    pub data_type: DataType,
    /// COLLATE.
    pub collation: Option<Name>,
    /// DEFAULT.
    pub default: Option<DefaultValue>,
    /// NOT NULL.
    pub not_null: bool,
    /// CHECK.
    pub check: Option<Check>,
}

/// ALTER DOMAIN.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterDomain {
    /// The domain.
    pub name: Name,
    /// What changes, in the order of the text.
    pub changes: Vec<DomainChange>,
}

/// A change of a domain.
#[derive(Debug, Clone, PartialEq)]
pub enum DomainChange {
    /// TO name
    Rename(Name),
    /// TYPE type
    Type(DataType),
    /// SET DEFAULT value
    SetDefault(DefaultValue),
    /// DROP DEFAULT
    DropDefault,
    /// SET NOT NULL
    SetNotNull,
    /// DROP NOT NULL
    DropNotNull,
    /// ADD \[CONSTRAINT\] CHECK
    AddCheck(Check),
    /// DROP CONSTRAINT
    DropConstraint,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE SEQUENCE (also GENERATOR), SET GENERATOR.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineSequence {
    /// Which of the four.
    pub mode: DefineMode,
    /// The sequence.
    pub name: Name,
    /// START WITH: the initial value. `SET GENERATOR g TO n` and `ALTER SEQUENCE g RESTART WITH n` are restarts.
    pub start: Option<i64>,
    /// RESTART \[WITH\].
    pub restart: Option<Restart>,
    /// INCREMENT \[BY\].
    pub increment: Option<i32>,
    /// SET GENERATOR: the value is the current one, not the next.
    pub set_generator: bool,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE EXCEPTION.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineException {
    /// Which of the four.
    pub mode: DefineMode,
    /// The exception.
    pub name: Name,
    /// Its message.
    pub message: String,
}

/// DECLARE FILTER.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclareFilter {
    /// The filter.
    pub name: Name,
    /// INPUT_TYPE.
    pub input: BlobSubtype,
    /// OUTPUT_TYPE.
    pub output: BlobSubtype,
    /// ENTRY_POINT.
    pub entry_point: String,
    /// MODULE_NAME.
    pub module_name: String,
}

/// CREATE COLLATION.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateCollation {
    /// The collation.
    pub name: Name,
    /// FOR.
    pub character_set: Name,
    /// FROM.
    pub from: Option<CollationBase>,
    /// PAD SPACE (true), NO PAD (false).
    pub pad_space: Option<bool>,
    /// CASE SENSITIVE (true), CASE INSENSITIVE (false).
    pub case_sensitive: Option<bool>,
    /// ACCENT SENSITIVE (true), ACCENT INSENSITIVE (false).
    pub accent_sensitive: Option<bool>,
    /// The specific attributes in quotes.
    pub attributes: Option<String>,
}

/// What a collation is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum CollationBase {
    /// Another collation.
    Collation(Name),
    /// EXTERNAL ('name').
    External(String),
}

/// CREATE SHADOW.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateShadow {
    /// Its number.
    pub number: u16,
    /// MANUAL.
    pub manual: bool,
    /// CONDITIONAL.
    pub conditional: bool,
    /// Its files.
    pub files: Vec<DatabaseFile>,
}

/// A file of a database or shadow.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseFile {
    /// Its name.
    pub name: String,
    /// STARTING \[AT PAGE\].
    pub starting: Option<u32>,
    /// LENGTH, in pages.
    pub length: Option<u32>,
}

/// CREATE DATABASE; what was not written is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CreateDatabase {
    /// The file, with a host perhaps.
    pub file: String,
    /// USER.
    pub user: Option<String>,
    /// PASSWORD.
    pub password: Option<String>,
    /// ROLE.
    pub role: Option<String>,
    /// SET NAMES: the attachment's character set.
    pub names: Option<String>,
    /// PAGE_SIZE.
    pub page_size: Option<u32>,
    /// LENGTH, in pages.
    pub length: Option<u32>,
    /// DEFAULT CHARACTER SET.
    pub character_set: Option<Name>,
    /// COLLATION of the default character set.
    pub collation: Option<Name>,
    /// Further files.
    pub files: Vec<DatabaseFile>,
    /// DIFFERENCE FILE.
    pub difference_file: Option<String>,
}

/// A change of the database.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseChange {
    /// ADD FILE
    AddFile(DatabaseFile),
    /// ADD DIFFERENCE FILE
    AddDifferenceFile(String),
    /// DROP DIFFERENCE FILE
    DropDifferenceFile,
    /// BEGIN BACKUP
    BeginBackup,
    /// END BACKUP
    EndBackup,
    /// SET DEFAULT CHARACTER SET
    SetDefaultCharacterSet(Name),
    /// SET LINGER TO seconds
    SetLinger(u32),
    /// DROP LINGER
    DropLinger,
    /// SET DEFAULT SQL SECURITY
    SetDefaultSqlSecurity(SqlSecurity),
    /// ENCRYPT WITH plugin \[KEY key\]
    Encrypt {
        /// The plugin.
        plugin: Name,
        /// The key's name.
        key: Option<Name>,
    },
    /// DECRYPT
    Decrypt,
    /// ENABLE PUBLICATION (true), DISABLE PUBLICATION (false)
    Publication(bool),
    /// INCLUDE tables TO PUBLICATION; empty: ALL
    IncludeInPublication(Vec<Name>),
    /// EXCLUDE tables FROM PUBLICATION; empty: ALL
    ExcludeFromPublication(Vec<Name>),
    /// SET STORAGE
    Storage(Storage),
}

/// A change of the pool of connections that EXECUTE STATEMENT ON EXTERNAL leaves open.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionsPoolChange {
    /// SET SIZE
    Size(u32),
    /// SET LIFETIME
    Lifetime(Timeout),
    /// CLEAR 'part of a connection string'
    Clear(String),
    /// CLEAR ALL
    ClearAll,
    /// CLEAR OLDEST
    ClearOldest,
}

/// COMMENT ON.
#[derive(Debug, Clone, PartialEq)]
pub struct Comment {
    /// On what.
    pub target: CommentTarget,
    /// The text; none: IS NULL.
    pub text: Option<String>,
}

/// What can have a comment.
#[derive(Debug, Clone, PartialEq)]
pub enum CommentTarget {
    /// DATABASE
    Database,
    /// An object with a name.
    Object {
        /// Of what kind.
        kind: CommentKind,
        /// Its name.
        name: ObjectName,
        /// USING PLUGIN, for a user.
        plugin: Option<Name>,
    },
    /// COLUMN relation.column
    Column {
        /// The table or view.
        relation: Name,
        /// The column.
        column: Name,
    },
    /// \[PROCEDURE | FUNCTION\] PARAMETER routine.parameter
    Parameter {
        /// PROCEDURE, FUNCTION; none: whichever has it.
        kind: Option<ParameterKind>,
        /// The procedure or function.
        routine: ObjectName,
        /// The parameter.
        parameter: Name,
    },
}

/// Whose parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum ParameterKind {
    Procedure,
    Function,
}

/// Kinds of objects with a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum CommentKind {
    CharacterSet,
    Collation,
    Domain,
    Exception,
    /// EXTERNAL FUNCTION, FUNCTION
    Function,
    Filter,
    Sequence,
    Index,
    Mapping,
    GlobalMapping,
    Package,
    Procedure,
    Role,
    Table,
    Trigger,
    User,
    View,
}
