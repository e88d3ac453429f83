//! Session management.

use super::Printer;
use super::query::optimize_mode;
use crate::ast::{BindTarget, BindType, SessionStatement, Timeout, TimeoutUnit};

impl Printer {
    pub(super) fn session(&mut self, statement: &SessionStatement) {
        match statement {
            SessionStatement::SetRole(name) => {
                self.word("SET ROLE").name(name);
            }
            SessionStatement::SetTrustedRole => {
                self.word("SET TRUSTED ROLE");
            }
            SessionStatement::SetTimeZone(Some(zone)) => {
                self.word("SET TIME ZONE").quoted(zone);
            }
            SessionStatement::SetTimeZone(None) => {
                self.word("SET TIME ZONE LOCAL");
            }
            SessionStatement::SetBind { from, to } => {
                self.word("SET BIND OF").bind_type(from);
                self.word("TO").bind_target(to);
            }
            SessionStatement::SetDecFloatRound(mode) => {
                self.word("SET DECFLOAT ROUND").name(mode);
            }
            SessionStatement::SetDecFloatTraps(traps) => {
                self.word("SET DECFLOAT TRAPS TO").names(traps);
            }
            SessionStatement::SetStatementTimeout(timeout) => {
                self.word("SET STATEMENT TIMEOUT").timeout(*timeout);
            }
            SessionStatement::SetSessionIdleTimeout(timeout) => {
                self.word("SET SESSION IDLE TIMEOUT").timeout(*timeout);
            }
            SessionStatement::Reset => {
                self.word("ALTER SESSION RESET");
            }
            SessionStatement::SetOptimize(Some(mode)) => {
                self.word("SET OPTIMIZE").word(optimize_mode(*mode));
            }
            SessionStatement::SetOptimize(None) => {
                self.word("SET OPTIMIZE TO DEFAULT");
            }
            SessionStatement::SetDebugOption { name, value } => {
                self.word("SET DEBUG OPTION").name(name).word("=").signed_literal(value);
            }
        }
    }

    pub(super) fn timeout(&mut self, timeout: Timeout) {
        self.number(timeout.count).word(match timeout.unit {
            TimeoutUnit::Hour => "HOUR",
            TimeoutUnit::Minute => "MINUTE",
            TimeoutUnit::Second => "SECOND",
            TimeoutUnit::Millisecond => "MILLISECOND",
        });
    }

    fn bind_type(&mut self, bind: &BindType) {
        match bind {
            BindType::Type(data_type) => self.data_type(data_type),
            BindType::TimeZone => {
                self.word("TIME ZONE");
            }
            BindType::Family(name) => {
                self.word(&name.text);
            }
        }
    }

    fn bind_target(&mut self, target: &BindTarget) {
        match target {
            BindTarget::Type(bind) => self.bind_type(bind),
            BindTarget::Legacy => {
                self.word("LEGACY");
            }
            BindTarget::Extended => {
                self.word("EXTENDED");
            }
            BindTarget::ExtendedTime => {
                self.word("EXTENDED TIME WITH TIME ZONE");
            }
            BindTarget::ExtendedTimestamp => {
                self.word("EXTENDED TIMESTAMP WITH TIME ZONE");
            }
            BindTarget::Native => {
                self.word("NATIVE");
            }
        }
    }
}
