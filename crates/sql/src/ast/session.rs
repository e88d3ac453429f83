//! Session management.

use crate::ast::data_type::DataType;
use crate::ast::name::Name;
use crate::ast::query::OptimizeFor;

/// Statements about the attachment; they need no transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionStatement {
    /// SET ROLE name.
    SetRole(Name),
    /// SET TRUSTED ROLE.
    SetTrustedRole,
    /// SET TIME ZONE; none: LOCAL.
    SetTimeZone(Option<String>),
    /// SET BIND OF type TO ...
    SetBind {
        /// The server's type.
        from: BindType,
        /// How the client wants to see it.
        to: BindTarget,
    },
    /// SET DECFLOAT ROUND mode.
    SetDecFloatRound(Name),
    /// SET DECFLOAT TRAPS TO trap, ...
    SetDecFloatTraps(Vec<Name>),
    /// SET STATEMENT TIMEOUT.
    SetStatementTimeout(Timeout),
    /// SET SESSION IDLE TIMEOUT.
    SetSessionIdleTimeout(Timeout),
    /// ALTER SESSION RESET.
    Reset,
    /// SET OPTIMIZE FOR ...; none: TO DEFAULT.
    SetOptimize(Option<OptimizeFor>),
    /// SET DEBUG OPTION name = value.
    SetDebugOption {
        /// The option.
        name: Name,
        /// Its value.
        value: crate::ast::literal::Literal,
    },
}

/// What SET BIND can be said about.
#[derive(Debug, Clone, PartialEq)]
pub enum BindType {
    /// A type with all that was written.
    Type(DataType),
    /// TIME ZONE: both types with time zone.
    TimeZone,
    /// A type's name alone, for all its lengths: DECFLOAT, NUMERIC, CHAR ...
    Family(Name),
}

/// How a client wants to see a type.
#[derive(Debug, Clone, PartialEq)]
pub enum BindTarget {
    /// As another type.
    Type(BindType),
    /// LEGACY: as a client of Firebird 3 knows it.
    Legacy,
    /// EXTENDED: time zones with their offset.
    Extended,
    /// EXTENDED TIME WITH TIME ZONE.
    ExtendedTime,
    /// EXTENDED TIMESTAMP WITH TIME ZONE.
    ExtendedTimestamp,
    /// NATIVE: as it is.
    Native,
}

/// number unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// How many.
    pub count: u32,
    /// Of what.
    pub unit: TimeoutUnit,
}

/// Units of timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeoutUnit {
    /// HOUR
    Hour,
    /// MINUTE; what SESSION IDLE TIMEOUT means without a unit.
    Minute,
    /// SECOND; what STATEMENT TIMEOUT means without a unit.
    Second,
    /// MILLISECOND
    Millisecond,
}
