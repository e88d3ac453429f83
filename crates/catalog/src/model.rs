//! The objects of a catalog.
//!
//! Names are stored as the user means them: upper-cased unless they were quoted. Sources of expressions and bodies
//! are kept as text, as RDB$ columns show them; bound forms are made when first needed and cached by the statement.
//!
//! Source: Firebird 5 language reference, appendix System Tables.

use std::collections::BTreeMap;
use std::sync::Arc;

pub use farbird_session::mapping::{Mapping, MappingSource};
use farbird_types::{ArrayShape, CharacterSet, Collation, SqlType, collation};
use serde::{Deserialize, Serialize};

use crate::layout_cache::LayoutCache;
use crate::{CollationData, OrderedMap};

/// What an object is; also the first part of its key in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Database,
    Relation,
    Domain,
    Sequence,
    Exception,
    Procedure,
    Function,
    Trigger,
    Package,
    Role,
    Collation,
    Privilege,
    Mapping,
}

/// RDB$DATABASE and the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseProperties {
    /// Character set of columns that name none.
    pub default_character_set: CharacterSet,
    /// SQL dialect, 1 or 3.
    pub dialect: u8,
    /// Page size that is reported.
    pub page_size: u32,
    /// Who created it.
    pub owner: String,
    /// Creation time: microseconds since 1970, UTC.
    pub created_us: i64,
    /// Random id of the database file (`{XXXXXXXX-....}` in MON$DATABASE).
    pub guid: String,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
    /// ALTER DATABASE SET LINGER, in seconds.
    pub linger_seconds: Option<u32>,
    /// Read-only database.
    pub read_only: bool,
    /// ALTER DATABASE SET DEFAULT SQL SECURITY: DEFINER (`Some(true)`), INVOKER (`Some(false)`).
    #[serde(default)]
    pub sql_security_definer: Option<bool>,
    /// ALTER DATABASE SET STORAGE CODEC: the text form of a [`farbird_store::CodecId`].
    #[serde(default)]
    pub codec: Option<String>,
    /// The collation data that index entries were made with.
    #[serde(default = "CollationData::unknown")]
    pub collation_data: CollationData,
    /// ALTER CHARACTER SET ... SET DEFAULT COLLATION: by the name of the character set that of its collation. Those that
    /// are not named have the one that Firebird gives them.
    #[serde(default)]
    pub default_collations: BTreeMap<String, String>,
    /// How far it is shut down.
    #[serde(default)]
    pub shutdown: ShutdownMode,
    /// After how many transactions it is swept at the latest, as Firebird counts; the sweep comes sooner. 0: only when somebody asks for it.
    #[serde(default = "DatabaseProperties::default_sweep_interval")]
    pub sweep_interval: u32,
}

/// How far a database is shut down: who may attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum ShutdownMode {
    /// Everybody.
    #[default]
    Normal,
    /// Administrators.
    Multi,
    /// One administrator at a time.
    Single,
    /// Nobody.
    Full,
}

impl ShutdownMode {
    /// MON$SHUTDOWN_MODE.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl DatabaseProperties {
    /// Firebird's sweep interval.
    fn default_sweep_interval() -> u32 {
        20_000
    }
}

impl Default for DatabaseProperties {
    fn default() -> Self {
        DatabaseProperties {
            default_character_set: CharacterSet::NONE,
            dialect: 3,
            page_size: 8192,
            owner: String::new(),
            created_us: 0,
            guid: String::new(),
            description: None,
            linger_seconds: None,
            read_only: false,
            sql_security_definer: None,
            codec: None,
            collation_data: CollationData::current(),
            default_collations: BTreeMap::new(),
            shutdown: ShutdownMode::Normal,
            sweep_interval: DatabaseProperties::default_sweep_interval(),
        }
    }
}

/// Number of a relation (RDB$RELATION_ID): below 128 system tables, above the user's. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RelationId(pub u32);

/// Number of an index, unique in the database; names its space in the store. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexId(pub u32);

/// Number of a sequence (RDB$GENERATOR_ID): names its value in the store. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SequenceId(pub u32);

/// A table or view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// Number.
    pub id: RelationId,
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// Table, view, temporary table or system table.
    pub kind: RelationKind,
    /// Columns in the order in which `SELECT *` shows them.
    pub columns: Vec<Column>,
    /// Record formats, oldest first; the last is current. A format lists a type per field id.
    pub formats: Vec<Format>,
    /// Next free field id.
    pub next_field_id: u16,
    /// Indexes, those of constraints included, in order of creation.
    pub indexes: Vec<Index>,
    /// Constraints in order of creation; NOT NULL constraints included.
    pub constraints: Vec<Constraint>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
    /// SQL SECURITY DEFINER (`Some(true)`), INVOKER (`Some(false)`), or the default.
    pub sql_security_definer: Option<bool>,
    /// For views: the tables of its FROM.
    #[serde(default)]
    pub view_contexts: Vec<ViewContext>,
    /// For views: whether the source is shown to nobody, since RDB$VIEW_SOURCE was set to NULL.
    #[serde(default)]
    pub source_hidden: bool,
    /// STORAGE CODEC, for tables that say: the text form of a [`farbird_store::CodecId`].
    #[serde(default)]
    pub codec: Option<String>,
    /// The store's description of it, made when first asked for.
    #[serde(skip)]
    pub layout: LayoutCache,
}

/// What a relation is (RDB$RELATION_TYPE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RelationKind {
    /// An ordinary table.
    Table,
    /// A view, with its SELECT as text.
    View {
        /// The SELECT, as written.
        source: String,
        /// WITH CHECK OPTION.
        check_option: bool,
    },
    /// GLOBAL TEMPORARY TABLE ON COMMIT DELETE ROWS.
    TemporaryTransaction,
    /// GLOBAL TEMPORARY TABLE ON COMMIT PRESERVE ROWS.
    TemporarySession,
    /// EXTERNAL FILE: its rows are records of a file outside of the database.
    External {
        /// The file, as the definition names it (RDB$EXTERNAL_FILE).
        file: String,
    },
    /// An RDB$, MON$ or SEC$ table: its rows are made from the catalog and the live server.
    System,
}

/// A record format: a type per field id; `None` for a dropped column's slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Type per field id.
    pub fields: Vec<Option<SqlType>>,
}

/// A column of a relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Its slot in the record; stable for the column's life.
    pub field_id: u16,
    /// Type (a domain's, when it has one, kept in step with the domain).
    pub sql_type: SqlType,
    /// Declared digits of a NUMERIC or DECIMAL (RDB$FIELD_PRECISION).
    #[serde(default)]
    pub precision: Option<u8>,
    /// SEGMENT SIZE of a BLOB.
    #[serde(default)]
    pub segment_size: Option<u16>,
    /// What an array's elements are.
    #[serde(default)]
    pub array: Option<Arc<ArrayShape>>,
    /// Domain's name: the user's, or an implicit `RDB$n`.
    pub domain: String,
    /// NOT NULL by the column itself (a domain's NOT NULL counts too, see the domain).
    pub not_null: bool,
    /// Default as written, from DEFAULT on; the domain's counts when this is absent.
    pub default_source: Option<String>,
    /// COMPUTED BY expression as written, with its parentheses.
    pub computed_source: Option<String>,
    /// Identity column's sequence and kind.
    pub identity: Option<Identity>,
    /// What rows written before the column existed show: the text of a value that casts back to the column's type.
    #[serde(default)]
    pub added_default: Option<String>,
    /// For columns of views: where the column comes from.
    pub view_origin: Option<(String, String)>,
    /// For columns of views that show a column of a table in the view's FROM as it is: that table's number (RDB$VIEW_CONTEXT).
    #[serde(default)]
    pub view_context: Option<u16>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// GENERATED ... AS IDENTITY.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// GENERATED ALWAYS rather than BY DEFAULT.
    pub always: bool,
    /// Name of the system sequence behind it.
    pub sequence: String,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Number.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// UNIQUE.
    pub unique: bool,
    /// DESCENDING.
    pub descending: bool,
    /// INACTIVE.
    pub inactive: bool,
    /// Names of the columns; empty for an expression index.
    pub columns: Vec<String>,
    /// COMPUTED BY expression as written, with its parentheses.
    pub expression_source: Option<String>,
    /// Condition of a partial index as written, WHERE included; see [`Index::condition`].
    pub condition_source: Option<String>,
    /// SQL dialect in which its expression and its condition are written.
    #[serde(default = "Index::default_dialect")]
    pub dialect: u8,
    /// Selectivity as of the last SET STATISTICS: 1 / distinct keys, per leading part.
    pub selectivity: Vec<f64>,
    /// For the index of a foreign key: name of the referenced index (RDB$FOREIGN_KEY).
    pub foreign_key: Option<String>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

impl Index {
    /// The dialect of what is not written in dialect 1.
    pub const fn default_dialect() -> u8 {
        3
    }

    /// The condition of a partial index, without its WHERE (which older files do not have).
    pub fn condition(&self) -> Option<&str> {
        const WHERE: &str = "WHERE";
        let source = self.condition_source.as_deref()?.trim();
        let has_word = source.get(..WHERE.len()).is_some_and(|word| word.eq_ignore_ascii_case(WHERE));
        let after = source.get(WHERE.len()..).filter(|_| has_word);
        let is_word =
            |rest: &&str| !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '$'));
        Some(after.filter(is_word).map_or(source, str::trim_start))
    }
}

/// A constraint of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// Name, the user's or `INTEG_n`.
    pub name: String,
    /// What it demands.
    pub kind: ConstraintKind,
    /// Names of the triggers that RDB$TRIGGERS shows for it (`CHECK_n`): those of a CHECK before insert and update,
    /// and those on the referenced table for the actions of a foreign key. Nothing fires them: DML knows constraints.
    #[serde(default)]
    pub triggers: Vec<String>,
}

impl Constraint {
    /// The index that holds it, for keys.
    pub fn index(&self) -> Option<&str> {
        match &self.kind {
            ConstraintKind::PrimaryKey { index }
            | ConstraintKind::Unique { index }
            | ConstraintKind::ForeignKey { index, .. } => Some(index),
            ConstraintKind::NotNull { .. } | ConstraintKind::Check { .. } => None,
        }
    }
}

/// A table in a view's FROM (RDB$VIEW_RELATIONS).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewContext {
    /// The table, view or procedure.
    pub relation: String,
    /// Its number, from 1.
    pub number: u16,
    /// Its alias, or its name again.
    pub alias: String,
    /// RDB$CONTEXT_TYPE: 0 table, 1 view, 2 procedure.
    pub kind: i16,
}

/// What a constraint demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstraintKind {
    /// NOT NULL on a column.
    NotNull {
        /// The column.
        column: String,
    },
    /// CHECK.
    Check {
        /// `CHECK (...)` as written.
        source: String,
    },
    /// PRIMARY KEY, held by an index.
    PrimaryKey {
        /// The index.
        index: String,
    },
    /// UNIQUE, held by an index.
    Unique {
        /// The index.
        index: String,
    },
    /// FOREIGN KEY, held by an index on this table.
    ForeignKey {
        /// The index on this table.
        index: String,
        /// Referenced table.
        referenced_relation: String,
        /// Referenced PRIMARY KEY or UNIQUE constraint.
        referenced_constraint: String,
        /// ON UPDATE.
        on_update: ReferentialAction,
        /// ON DELETE.
        on_delete: ReferentialAction,
    },
}

/// What happens to referencing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[allow(missing_docs)]
pub enum ReferentialAction {
    #[default]
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// Type.
    pub sql_type: SqlType,
    /// Declared digits of a NUMERIC or DECIMAL (RDB$FIELD_PRECISION).
    #[serde(default)]
    pub precision: Option<u8>,
    /// SEGMENT SIZE of a BLOB.
    #[serde(default)]
    pub segment_size: Option<u16>,
    /// What an array's elements are.
    #[serde(default)]
    pub array: Option<Arc<ArrayShape>>,
    /// NOT NULL.
    pub not_null: bool,
    /// Whether ALTER DOMAIN has dropped NOT NULL, after which RDB$NULL_FLAG is 0; before it is NULL.
    #[serde(default)]
    pub null_allowed: bool,
    /// Default as written, from DEFAULT on.
    pub default_source: Option<String>,
    /// `CHECK (...)` as written, over VALUE.
    pub check_source: Option<String>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// A sequence (generator).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Number; its value lives in the store under it.
    pub id: SequenceId,
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// START WITH.
    pub initial_value: i64,
    /// INCREMENT BY.
    pub increment: i32,
    /// Made by the system for an identity column.
    pub system: bool,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// CREATE EXCEPTION.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExceptionDefinition {
    /// Number (RDB$EXCEPTION_NUMBER): the client sees it as an argument of isc_except.
    pub number: u32,
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// Message.
    pub message: String,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// A stored procedure or function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// Number (RDB$PROCEDURE_ID, RDB$FUNCTION_ID).
    pub id: u32,
    /// Name.
    pub name: String,
    /// The package that it is in.
    #[serde(default)]
    pub package: Option<String>,
    /// Whether only the routines of its package may call it: the package's header does not declare it.
    #[serde(default)]
    pub private: bool,
    /// Who owns it.
    pub owner: String,
    /// Parameters in, in order.
    pub inputs: Vec<RoutineParameter>,
    /// Parameters out of a procedure; the one result of a function.
    pub outputs: Vec<RoutineParameter>,
    /// Whether a procedure SUSPENDs.
    pub selectable: bool,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// Whole CREATE text from the word after AS: declarations and body, as RDB$PROCEDURE_SOURCE keeps it. Empty as long as a
    /// package declares it and has no valid body.
    pub source: String,
    /// Where `source` begins in the CREATE text: error stacks count lines from that text's beginning.
    #[serde(default)]
    pub source_start: SourceStart,
    /// Whether the source is shown to nobody: RDB$PROCEDURE_SOURCE or RDB$FUNCTION_SOURCE was set to NULL.
    #[serde(default)]
    pub source_hidden: bool,
    /// SQL SECURITY DEFINER (`Some(true)`), INVOKER (`Some(false)`), or the default. For routines of a package: the package's.
    pub sql_security_definer: Option<bool>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
    /// What runs it.
    #[serde(default)]
    pub engine: RoutineEngine,
}

/// What runs a routine (RDB$ENGINE_NAME).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineEngine {
    /// Its source.
    #[default]
    Psql,
    /// It comes with every database; its source is shown to nobody.
    System,
    /// A function of a library: DECLARE EXTERNAL FUNCTION.
    Library(LibraryFunction),
    /// Declared in another routine, by its number there: in no catalog.
    #[serde(skip)]
    Local(usize),
}

/// What DECLARE EXTERNAL FUNCTION says of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFunction {
    /// MODULE_NAME.
    pub module: String,
    /// ENTRY_POINT.
    pub entry_point: String,
    /// The place of its result among the arguments (RETURNS PARAMETER), or 0 (RDB$RETURN_ARGUMENT).
    pub returned: u16,
    /// Its arguments in their order, the result among them.
    pub arguments: Vec<LibraryArgument>,
}

/// An argument of an external function, or its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryArgument {
    /// Its place, from 1; 0: a result that is none of the arguments.
    pub position: u16,
    /// Type; a CSTRING is a VARCHAR.
    pub sql_type: SqlType,
    /// Declared digits of a NUMERIC or DECIMAL.
    pub precision: Option<u8>,
    /// Whether it was declared as CSTRING.
    pub is_cstring: bool,
    /// How it is passed.
    pub mechanism: Mechanism,
    /// FREE_IT.
    pub free_it: bool,
}

/// How an argument of an external function is passed (RDB$MECHANISM, by these numbers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mechanism {
    /// BY VALUE.
    Value,
    /// By reference: nothing was said.
    Reference,
    /// BY DESCRIPTOR.
    Descriptor,
    /// A BLOB.
    BlobDescriptor,
    /// BY SCALAR_ARRAY.
    ScalarArray,
    /// NULL: by reference, and NULL as none.
    ReferenceWithNull,
}

impl LibraryFunction {
    /// What callers give, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &LibraryArgument> {
        self.arguments.iter().filter(|argument| argument.position != self.returned)
    }

    /// What they get.
    pub fn result(&self) -> Option<&LibraryArgument> {
        self.arguments.iter().find(|argument| argument.position == self.returned)
    }
}

impl LibraryArgument {
    /// RDB$MECHANISM; negative with FREE_IT.
    pub fn mechanism_number(&self) -> i16 {
        let number = self.mechanism as i16;
        if self.free_it { -number } else { number }
    }
}

impl Routine {
    /// The name as statements write it and errors show it: `[package.]name`.
    pub fn full_name(&self) -> String {
        match &self.package {
            Some(package) => format!("{package}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether it comes with every database.
    pub fn is_system(&self) -> bool {
        self.engine == RoutineEngine::System
    }

    /// What is declared of an external function.
    pub fn library(&self) -> Option<&LibraryFunction> {
        match &self.engine {
            RoutineEngine::Library(library) => Some(library),
            _ => None,
        }
    }

    /// Whether there is something to run.
    pub fn has_body(&self) -> bool {
        !self.source.is_empty()
    }
}

/// A package: procedures and functions under one name, one owner and one privilege.
///
/// Its routines are parts of it, not objects of their own: they come and go with its header and its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// BEGIN to END of the header, as RDB$PACKAGE_HEADER_SOURCE keeps it.
    pub header_source: String,
    /// BEGIN to END of the body, as RDB$PACKAGE_BODY_SOURCE keeps it; kept when the header changes.
    pub body_source: Option<String>,
    /// Whether the header is shown to nobody: RDB$PACKAGE_HEADER_SOURCE was set to NULL.
    #[serde(default)]
    pub header_hidden: bool,
    /// Whether the body is shown to nobody: RDB$PACKAGE_BODY_SOURCE was set to NULL.
    #[serde(default)]
    pub body_hidden: bool,
    /// RDB$VALID_BODY_FLAG: whether the body fits the header; none without a body.
    pub body_is_valid: Option<bool>,
    /// Its procedures, in the order of header and body.
    pub procedures: Vec<Arc<Routine>>,
    /// Its functions, likewise.
    pub functions: Vec<Arc<Routine>>,
    /// SQL SECURITY DEFINER (`Some(true)`), INVOKER (`Some(false)`), or the default.
    pub sql_security_definer: Option<bool>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

impl Package {
    /// A procedure by name, private or not.
    pub fn procedure(&self, name: &str) -> Option<&Arc<Routine>> {
        self.procedures.iter().find(|routine| routine.name == name)
    }

    /// A function by name, private or not.
    pub fn function(&self, name: &str) -> Option<&Arc<Routine>> {
        self.functions.iter().find(|routine| routine.name == name)
    }

    /// Whether it comes with every database.
    pub fn is_system(&self) -> bool {
        self.routines().any(|routine| routine.engine == RoutineEngine::System)
    }

    /// All its routines: procedures, then functions.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<Routine>> {
        self.procedures.iter().chain(&self.functions)
    }
}

/// Line and column, both from 1, at which a routine's source begins in the text of its CREATE statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceStart {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl Default for SourceStart {
    fn default() -> Self {
        SourceStart { line: 1, column: 1 }
    }
}

/// A parameter of a routine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutineParameter {
    /// Name; empty for a function's result.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// Declared digits of a NUMERIC or DECIMAL (RDB$FIELD_PRECISION).
    #[serde(default)]
    pub precision: Option<u8>,
    /// SEGMENT SIZE of a BLOB.
    #[serde(default)]
    pub segment_size: Option<u16>,
    /// Domain's name, if declared by one.
    pub domain: Option<String>,
    /// The domain whose type it has, if declared by TYPE OF: nothing but the type comes from there.
    #[serde(default)]
    pub type_of_domain: Option<String>,
    /// Table and column, if declared by TYPE OF COLUMN.
    #[serde(default)]
    pub type_of_column: Option<(String, String)>,
    /// NOT NULL.
    pub not_null: bool,
    /// Default as written, from DEFAULT or `=` on.
    pub default_source: Option<String>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

impl RoutineParameter {
    /// The domain that its type comes from.
    pub fn domain_of_type(&self) -> Option<&str> {
        self.domain.as_deref().or(self.type_of_domain.as_deref())
    }
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Name.
    pub name: String,
    /// Its relation; `None` for database and DDL triggers.
    pub relation: Option<String>,
    /// RDB$TRIGGER_TYPE: when it fires.
    pub trigger_type: u64,
    /// POSITION.
    pub position: i16,
    /// INACTIVE.
    pub inactive: bool,
    /// Declarations and body from AS on, as RDB$TRIGGER_SOURCE keeps it.
    pub source: String,
    /// Where `source` begins in the CREATE text: error stacks count lines from that text's beginning.
    #[serde(default)]
    pub source_start: SourceStart,
    /// Whether the source is shown to nobody: RDB$TRIGGER_SOURCE was set to NULL.
    #[serde(default)]
    pub source_hidden: bool,
    /// SQL SECURITY DEFINER (`Some(true)`), INVOKER (`Some(false)`), or the default.
    pub sql_security_definer: Option<bool>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Name.
    pub name: String,
    /// Who owns it.
    pub owner: String,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
    /// RDB$ADMIN: comes with every database.
    #[serde(default)]
    pub system: bool,
    /// SYSTEM PRIVILEGES: a bit for each ([`crate::SystemPrivilege::bit`]).
    #[serde(default)]
    pub system_privileges: u64,
}

/// One line of RDB$USER_PRIVILEGES.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privilege {
    /// Grantee.
    pub user: String,
    /// Kind of grantee (RDB$OBJECT_TYPE: 8 user, 13 role, 5 procedure ...).
    pub user_type: i16,
    /// Who granted it.
    pub grantor: String,
    /// `S`, `I`, `U`, `D`, `R`, `X`, `G`, `M` ...
    pub privilege: char,
    /// WITH GRANT OPTION (1) or WITH ADMIN OPTION (2).
    pub grant_option: i16,
    /// Object.
    pub object: String,
    /// Kind of object (RDB$OBJECT_TYPE).
    pub object_type: i16,
    /// Column, for U and R on columns.
    pub column: Option<String>,
}

impl Privilege {
    /// What makes two lines of RDB$USER_PRIVILEGES the same privilege.
    pub fn key(&self) -> String {
        format!(
            "{}{}\u{1}{}\u{1}{}\u{1}{}\u{1}{}",
            Privilege::key_start(self.object_type, &self.object),
            self.column.as_deref().unwrap_or(""),
            self.user_type,
            self.user,
            self.privilege,
            self.grantor
        )
    }

    /// How the keys of all privileges on an object begin.
    pub fn key_start(object_type: i16, object: &str) -> String {
        format!("{}{object}\u{1}", Privilege::key_start_of_type(object_type))
    }

    /// How the keys of all privileges on objects of a type begin.
    pub fn key_start_of_type(object_type: i16) -> String {
        format!("{object_type}\u{1}")
    }
}

/// A collation made by CREATE COLLATION.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollationDefinition {
    /// Name.
    pub name: String,
    /// Character set.
    pub character_set: CharacterSet,
    /// Its number within the character set, with what it is made of.
    pub collation: Collation,
    /// The collation it is made from.
    #[serde(default)]
    pub base_name: Option<String>,
    /// What older files name instead: the number of a collation with the same order.
    #[serde(default, rename = "base", skip_serializing)]
    pub former_base: Option<Collation>,
    /// Who owns it.
    pub owner: String,
    /// RDB$COLLATION_ATTRIBUTES: 1 pad space, 2 case insensitive, 4 accent insensitive.
    pub attributes: i16,
    /// RDB$SPECIFIC_ATTRIBUTES.
    pub specific_attributes: Option<String>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

impl CollationDefinition {
    /// A definition of an older file in today's form.
    pub fn brought_up_to_date(mut self) -> CollationDefinition {
        let Some(base) = self.former_base.take().and_then(|base| self.character_set.collation_name(base))
        else {
            return self;
        };
        let attributes = u8::try_from(self.attributes).unwrap_or(collation::PAD_SPACE);
        let request = collation::CollationRequest { base, attributes, specific: "" };
        if let Ok(made) = Collation::make(self.character_set, self.collation.number(), &request) {
            self.collation = made;
        }
        self.base_name = Some(base.to_owned());
        self
    }
}

impl Relation {
    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// An index by name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Whether its rows are in the store, in its own name.
    pub fn is_stored(&self) -> bool {
        matches!(
            self.kind,
            RelationKind::Table | RelationKind::TemporaryTransaction | RelationKind::TemporarySession
        )
    }

    /// Whether its rows are kept by each session or transaction for itself.
    pub fn is_temporary(&self) -> bool {
        matches!(self.kind, RelationKind::TemporaryTransaction | RelationKind::TemporarySession)
    }

    /// The file outside of the database that its rows are in, as its definition names it.
    pub fn external_file(&self) -> Option<&str> {
        match &self.kind {
            RelationKind::External { file } => Some(file),
            _ => None,
        }
    }

    /// Whether its rows are in a file outside of the database.
    pub fn is_external(&self) -> bool {
        self.external_file().is_some()
    }

    /// Whether it is a table of the user's, wherever its rows are.
    pub fn is_table(&self) -> bool {
        self.is_stored() || self.is_external()
    }

    /// Whether it is a view.
    pub fn is_view(&self) -> bool {
        matches!(self.kind, RelationKind::View { .. })
    }

    /// A constraint by name.
    pub fn constraint(&self, name: &str) -> Option<&Constraint> {
        self.constraints.iter().find(|constraint| constraint.name == name)
    }

    /// The index of the primary key.
    pub fn primary_key(&self) -> Option<&Index> {
        self.constraints.iter().find_map(|constraint| match &constraint.kind {
            ConstraintKind::PrimaryKey { index } => self.index(index),
            _ => None,
        })
    }
}

/// Objects that a transaction's DDL replaced (`Some`) or removed (`None`), by kind and name.
pub type CatalogChanges = OrderedMap<(ObjectKind, String), Option<CatalogObject>>;

/// One object of a catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum CatalogObject {
    Database(Arc<DatabaseProperties>),
    Relation(Arc<Relation>),
    Domain(Arc<Domain>),
    Sequence(Arc<Sequence>),
    Exception(Arc<ExceptionDefinition>),
    Procedure(Arc<Routine>),
    Function(Arc<Routine>),
    Package(Arc<Package>),
    Trigger(Arc<Trigger>),
    Role(Arc<Role>),
    Privilege(Arc<Privilege>),
    Collation(Arc<CollationDefinition>),
    Mapping(Arc<Mapping>),
}

impl CatalogObject {
    /// Its kind and name: its place in a catalog and its key in the store.
    pub fn identity(&self) -> (ObjectKind, String) {
        match self {
            CatalogObject::Database(_) => (ObjectKind::Database, String::new()),
            CatalogObject::Relation(relation) => (ObjectKind::Relation, relation.name.clone()),
            CatalogObject::Domain(domain) => (ObjectKind::Domain, domain.name.clone()),
            CatalogObject::Sequence(sequence) => (ObjectKind::Sequence, sequence.name.clone()),
            CatalogObject::Exception(exception) => (ObjectKind::Exception, exception.name.clone()),
            CatalogObject::Procedure(procedure) => (ObjectKind::Procedure, procedure.name.clone()),
            CatalogObject::Function(function) => (ObjectKind::Function, function.name.clone()),
            CatalogObject::Package(package) => (ObjectKind::Package, package.name.clone()),
            CatalogObject::Trigger(trigger) => (ObjectKind::Trigger, trigger.name.clone()),
            CatalogObject::Role(role) => (ObjectKind::Role, role.name.clone()),
            CatalogObject::Privilege(privilege) => (ObjectKind::Privilege, privilege.key()),
            CatalogObject::Collation(collation) => (ObjectKind::Collation, collation.name.clone()),
            CatalogObject::Mapping(mapping) => (ObjectKind::Mapping, mapping.name.clone()),
        }
    }
}
