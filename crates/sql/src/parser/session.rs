//! Session management.

use super::cursor::Parser;
use crate::ast::{
    BindTarget, BindType, ExpressionKind, Literal, Name, SessionStatement, Timeout, TimeoutUnit,
    UnaryOperator,
};
use farbird_types::Result;

/// Types that SET BIND takes without a length or precision.
const FAMILIES: &[&str] = &[
    "CHAR",
    "CHARACTER",
    "VARCHAR",
    "BINARY",
    "VARBINARY",
    "DECFLOAT",
    "NUMERIC",
    "DECIMAL",
    "DEC",
    "NCHAR",
];

impl Parser<'_> {
    /// SET ROLE, SET TIME ZONE, ALTER SESSION RESET ...
    pub(super) fn session_statement(&mut self) -> Result<SessionStatement> {
        if self.eat_keyword("ALTER") {
            self.expect_keywords(&["SESSION", "RESET"])?;
            return Ok(SessionStatement::Reset);
        }
        self.expect_keyword("SET")?;
        match self.keyword().unwrap_or_default() {
            "ROLE" => {
                self.take();
                Ok(SessionStatement::SetRole(self.name()?))
            }
            "TRUSTED" => {
                self.expect_keywords(&["TRUSTED", "ROLE"])?;
                Ok(SessionStatement::SetTrustedRole)
            }
            "TIME" => self.set_time_zone(),
            "BIND" => self.set_bind(),
            "DECFLOAT" => self.set_decfloat(),
            "STATEMENT" => {
                self.expect_keywords(&["STATEMENT", "TIMEOUT"])?;
                Ok(SessionStatement::SetStatementTimeout(self.timeout(TimeoutUnit::Second)?))
            }
            "SESSION" => {
                self.expect_keywords(&["SESSION", "IDLE", "TIMEOUT"])?;
                Ok(SessionStatement::SetSessionIdleTimeout(self.timeout(TimeoutUnit::Minute)?))
            }
            "OPTIMIZE" => self.set_optimize(),
            "DEBUG" => self.set_debug_option(),
            _ => Err(self.unexpected()),
        }
    }

    fn set_time_zone(&mut self) -> Result<SessionStatement> {
        self.expect_keywords(&["TIME", "ZONE"])?;
        if self.eat_keyword("LOCAL") {
            return Ok(SessionStatement::SetTimeZone(None));
        }
        Ok(SessionStatement::SetTimeZone(Some(self.text()?)))
    }

    fn set_optimize(&mut self) -> Result<SessionStatement> {
        self.take();
        if self.eat_keyword("TO") {
            self.expect_keyword("DEFAULT")?;
            return Ok(SessionStatement::SetOptimize(None));
        }
        Ok(SessionStatement::SetOptimize(Some(self.optimize_mode()?)))
    }

    fn set_debug_option(&mut self) -> Result<SessionStatement> {
        self.expect_keywords(&["DEBUG", "OPTION"])?;
        let name = self.name()?;
        self.expect_symbol("=")?;
        let value = match self.default_value()?.kind {
            ExpressionKind::Literal(literal) => literal,
            ExpressionKind::Unary { operator: UnaryOperator::Minus, operand } => match operand.kind {
                ExpressionKind::Literal(literal) => negated(literal),
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        Ok(SessionStatement::SetDebugOption { name, value })
    }

    fn set_decfloat(&mut self) -> Result<SessionStatement> {
        self.take();
        if self.eat_keyword("ROUND") {
            return Ok(SessionStatement::SetDecFloatRound(self.name()?));
        }
        self.expect_keywords(&["TRAPS", "TO"])?;
        let traps = if self.at_name() { self.comma_list(Self::name)? } else { Vec::new() };
        Ok(SessionStatement::SetDecFloatTraps(traps))
    }

    fn timeout(&mut self, default: TimeoutUnit) -> Result<Timeout> {
        let count = self.long()?.unsigned_abs();
        let unit = match self.keyword() {
            Some("HOUR") => TimeoutUnit::Hour,
            Some("MINUTE") => TimeoutUnit::Minute,
            Some("SECOND") => TimeoutUnit::Second,
            Some("MILLISECOND") if default == TimeoutUnit::Second => TimeoutUnit::Millisecond,
            _ => return Ok(Timeout { count, unit: default }),
        };
        self.take();
        Ok(Timeout { count, unit })
    }

    fn set_bind(&mut self) -> Result<SessionStatement> {
        self.expect_keywords(&["BIND", "OF"])?;
        let from = if self.eat_keywords(&["TIME", "ZONE"]) { BindType::TimeZone } else { self.bind_type()? };
        self.expect_keyword("TO")?;
        let to = if self.eat_keyword("LEGACY") {
            BindTarget::Legacy
        } else if self.eat_keyword("NATIVE") {
            BindTarget::Native
        } else if self.eat_keyword("EXTENDED") {
            let target = if self.eat_keyword("TIME") {
                BindTarget::ExtendedTime
            } else if self.eat_keyword("TIMESTAMP") {
                BindTarget::ExtendedTimestamp
            } else {
                BindTarget::Extended
            };
            if target != BindTarget::Extended {
                self.expect_keywords(&["WITH", "TIME", "ZONE"])?;
            }
            target
        } else {
            BindTarget::Type(self.bind_type()?)
        };
        Ok(SessionStatement::SetBind { from, to })
    }

    /// A type, or a family of types by its name alone.
    fn bind_type(&mut self) -> Result<BindType> {
        if self.at_any_keyword(FAMILIES) && !self.symbol_ahead(1, "(") {
            let position = self.position();
            let word = self.keyword().unwrap_or_default();
            self.take();
            let family = if word == "VARBINARY" || word == "BINARY" {
                if self.eat_keyword("VARYING") { "VARBINARY" } else { word }
            } else if self.eat_keyword("VARYING") {
                "VARCHAR"
            } else {
                word
            };
            return Ok(BindType::Family(Name { position, ..Name::new(family) }));
        }
        Ok(BindType::Type(self.type_without_domain()?))
    }
}

/// A number with its sign turned.
fn negated(literal: Literal) -> Literal {
    match literal {
        Literal::Integer { value, width } => Literal::Integer { value: value.saturating_neg(), width },
        Literal::Exact { unscaled, scale, width } => {
            Literal::Exact { unscaled: unscaled.saturating_neg(), scale, width }
        }
        Literal::Double(value) => Literal::Double(-value),
        other => other,
    }
}
