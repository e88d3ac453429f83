//! Definitions of procedures, functions, triggers and packages.

use crate::ast::data_type::DataType;
use crate::ast::ddl::{DefaultValue, DefineMode, SqlSecurity};
use crate::ast::ddl_event::DdlEvents;
use crate::ast::name::{Name, Position, Source};
use crate::ast::psql::RoutineBody;
use crate::ast::statement::TypedName;

/// A declared parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDeclaration {
    /// Name and type.
    pub parameter: TypedName,
    /// DEFAULT or `=`; only inputs have one.
    pub default: Option<DefaultValue>,
}

/// Name and parameters of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureSignature {
    /// The name.
    pub name: Name,
    /// Inputs.
    pub parameters: Vec<ParameterDeclaration>,
    /// RETURNS: outputs.
    pub returns: Vec<ParameterDeclaration>,
    /// SQL SECURITY.
    pub sql_security: Option<SqlSecurity>,
}

/// Name, parameters and result of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSignature {
    /// The name.
    pub name: Name,
    /// Inputs.
    pub parameters: Vec<ParameterDeclaration>,
    /// RETURNS.
    pub returns: FunctionResult,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// SQL SECURITY.
    pub sql_security: Option<SqlSecurity>,
}

/// What a function gives back.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionResult {
    /// Its type.
    pub data_type: DataType,
    /// NOT NULL.
    pub not_null: bool,
    /// COLLATE.
    pub collation: Option<Name>,
}

/// What a routine does.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineDefinition {
    /// AS declarations block.
    Body(Box<RoutineBody>),
    /// EXTERNAL NAME ... ENGINE ...
    External(ExternalBody),
}

/// EXTERNAL NAME 'entry' ENGINE engine \[AS 'text'\].
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalBody {
    /// Entry point; none: the object's name.
    pub entry_point: Option<String>,
    /// The plugin.
    pub engine: Name,
    /// Text handed to it.
    pub text: Option<String>,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE PROCEDURE.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineProcedure {
    /// Which of the four.
    pub mode: DefineMode,
    /// Name and parameters.
    pub signature: ProcedureSignature,
    /// What it does.
    pub definition: RoutineDefinition,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE FUNCTION.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineFunction {
    /// Which of the four.
    pub mode: DefineMode,
    /// Name, parameters and result.
    pub signature: FunctionSignature,
    /// What it does.
    pub definition: RoutineDefinition,
}

/// ALTER PROCEDURE name / ALTER FUNCTION name with options only, and no body.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutineOptions {
    /// FUNCTION rather than PROCEDURE.
    pub function: bool,
    /// The name.
    pub name: Name,
    /// \[NOT\] DETERMINISTIC; only functions.
    pub deterministic: Option<bool>,
    /// SQL SECURITY, or DROP SQL SECURITY.
    pub sql_security: Option<SqlSecurityChange>,
}

/// A change of SQL SECURITY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlSecurityChange {
    /// SQL SECURITY DEFINER | INVOKER
    Set(SqlSecurity),
    /// DROP SQL SECURITY
    Drop,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE TRIGGER.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineTrigger {
    /// Which of the four.
    pub mode: DefineMode,
    /// The name.
    pub name: Name,
    /// ACTIVE, INACTIVE.
    pub active: Option<bool>,
    /// When it fires; none only for ALTER.
    pub event: Option<TriggerEvent>,
    /// POSITION.
    pub order: Option<i16>,
    /// SQL SECURITY, or DROP SQL SECURITY (only ALTER).
    pub sql_security: Option<SqlSecurityChange>,
    /// What it does; none only for ALTER.
    pub definition: Option<RoutineDefinition>,
    /// The text from AS to the final END (RDB$TRIGGER_SOURCE).
    pub source: Source,
}

/// When a trigger fires.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerEvent {
    /// BEFORE | AFTER INSERT | UPDATE | DELETE \[OR ...\] on a table or view.
    Relation {
        /// AFTER rather than BEFORE.
        after: bool,
        /// One to three, in the order of the text.
        actions: Vec<TriggerAction>,
        /// The table or view; none for ALTER TRIGGER, which cannot change it.
        relation: Option<Name>,
    },
    /// ON CONNECT and its siblings.
    Database(DatabaseEvent),
    /// BEFORE | AFTER a DDL statement.
    Ddl {
        /// AFTER rather than BEFORE.
        after: bool,
        /// Which statements.
        events: DdlEvents,
    },
}

/// What happens to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerAction {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// What happens to an attachment or transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseEvent {
    /// CONNECT
    Connect,
    /// DISCONNECT
    Disconnect,
    /// TRANSACTION START
    TransactionStart,
    /// TRANSACTION COMMIT
    TransactionCommit,
    /// TRANSACTION ROLLBACK
    TransactionRollback,
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE PACKAGE.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinePackage {
    /// Which of the four.
    pub mode: DefineMode,
    /// The name.
    pub name: Name,
    /// SQL SECURITY.
    pub sql_security: Option<SqlSecurity>,
    /// What it declares.
    pub items: Vec<PackageItem>,
    /// The text from BEGIN to END (RDB$PACKAGE_HEADER_SOURCE).
    pub source: Source,
}

/// A declaration of a package.
#[derive(Debug, Clone, PartialEq)]
pub enum PackageItem {
    /// PROCEDURE ...;
    Procedure(ProcedureSignature),
    /// FUNCTION ...;
    Function(FunctionSignature),
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE PACKAGE BODY.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinePackageBody {
    /// Which of the four.
    pub mode: DefineMode,
    /// The name.
    pub name: Name,
    /// What it declares and defines.
    pub items: Vec<PackageBodyItem>,
    /// The text from BEGIN to END (RDB$PACKAGE_BODY_SOURCE).
    pub source: Source,
}

/// A part of a package's body.
#[derive(Debug, Clone, PartialEq)]
pub enum PackageBodyItem {
    /// PROCEDURE; without a definition a declaration.
    Procedure {
        /// Name and parameters.
        signature: ProcedureSignature,
        /// What it does.
        definition: Option<RoutineDefinition>,
    },
    /// FUNCTION; without a definition a declaration.
    Function {
        /// Name, parameters and result.
        signature: FunctionSignature,
        /// What it does.
        definition: Option<RoutineDefinition>,
    },
}

/// DECLARE EXTERNAL FUNCTION: a UDF of old.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclareExternalFunction {
    /// The name.
    pub name: Name,
    /// Inputs.
    pub arguments: Vec<ExternalArgument>,
    /// RETURNS.
    pub returns: ExternalResult,
    /// FREE_IT.
    pub free_it: bool,
    /// ENTRY_POINT.
    pub entry_point: String,
    /// MODULE_NAME.
    pub module_name: String,
    /// Where DECLARE stands.
    pub position: Position,
}

/// An input of a UDF.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalArgument {
    /// Its type.
    pub data_type: DataType,
    /// How it is passed.
    pub mechanism: ExternalMechanism,
}

/// What a UDF gives back.
#[derive(Debug, Clone, PartialEq)]
pub enum ExternalResult {
    /// A value of its own.
    Value(ExternalArgument),
    /// PARAMETER n: one of its inputs.
    Parameter(u16),
}

/// How a UDF's arguments are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExternalMechanism {
    /// By reference: nothing was written.
    Reference,
    /// BY VALUE
    Value,
    /// BY DESCRIPTOR
    Descriptor,
    /// BY SCALAR_ARRAY
    ScalarArray,
    /// NULL: by reference, NULL as a null pointer.
    ReferenceWithNull,
}
