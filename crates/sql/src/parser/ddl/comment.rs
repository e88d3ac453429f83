//! COMMENT ON.

use crate::ast::{Comment, CommentKind, CommentTarget, DdlStatement, Name, ObjectName, ParameterKind};
use crate::parser::cursor::Parser;
use farbird_types::Result;

impl Parser<'_> {
    /// `COMMENT ON target IS 'text' | NULL`.
    pub(super) fn comment(&mut self) -> Result<DdlStatement> {
        self.take();
        self.expect_keyword("ON")?;
        let target = self.comment_target()?;
        self.expect_keyword("IS")?;
        let text = if self.eat_keyword("NULL") { None } else { Some(self.text()?) };
        Ok(DdlStatement::Comment(Comment { target, text }))
    }

    fn comment_target(&mut self) -> Result<CommentTarget> {
        if self.eat_keyword("DATABASE") {
            return Ok(CommentTarget::Database);
        }
        if self.eat_keyword("COLUMN") {
            let relation = self.name()?;
            self.expect_symbol(".")?;
            return Ok(CommentTarget::Column { relation, column: self.name()? });
        }
        if self.eat_keyword("PARAMETER") {
            return self.comment_parameter(None);
        }
        let kind = self.comment_kind()?;
        if self.at_keyword("PARAMETER") {
            return match kind {
                CommentKind::Procedure => {
                    self.take();
                    self.comment_parameter(Some(ParameterKind::Procedure))
                }
                CommentKind::Function => {
                    self.take();
                    self.comment_parameter(Some(ParameterKind::Function))
                }
                _ => Err(self.unexpected()),
            };
        }
        let name = match kind {
            CommentKind::Procedure | CommentKind::Function => self.object_name()?,
            CommentKind::CharacterSet => self.character_set_name()?.into(),
            _ => self.name()?.into(),
        };
        let plugin =
            if kind == CommentKind::User && self.eat_keyword("USING") { Some(self.plugin()?) } else { None };
        Ok(CommentTarget::Object { kind, name, plugin })
    }

    /// `[package.]routine.parameter`.
    fn comment_parameter(&mut self, kind: Option<ParameterKind>) -> Result<CommentTarget> {
        let first = self.name()?;
        self.expect_symbol(".")?;
        let second = self.name()?;
        let (routine, parameter): (ObjectName, Name) = if self.eat_symbol(".") {
            (ObjectName { package: Some(first), name: second }, self.name()?)
        } else {
            (first.into(), second)
        };
        Ok(CommentTarget::Parameter { kind, routine, parameter })
    }

    fn comment_kind(&mut self) -> Result<CommentKind> {
        let kind = match self.keyword().unwrap_or_default() {
            "CHARACTER" => {
                self.expect_keywords(&["CHARACTER", "SET"])?;
                return Ok(CommentKind::CharacterSet);
            }
            "COLLATION" => CommentKind::Collation,
            "DOMAIN" => CommentKind::Domain,
            "EXCEPTION" => CommentKind::Exception,
            "EXTERNAL" => {
                self.expect_keywords(&["EXTERNAL", "FUNCTION"])?;
                return Ok(CommentKind::Function);
            }
            "FUNCTION" => CommentKind::Function,
            "FILTER" => CommentKind::Filter,
            "SEQUENCE" | "GENERATOR" => CommentKind::Sequence,
            "INDEX" => CommentKind::Index,
            "MAPPING" => CommentKind::Mapping,
            "GLOBAL" if self.keyword_ahead(1, "MAPPING") => {
                self.take();
                CommentKind::GlobalMapping
            }
            "PACKAGE" => CommentKind::Package,
            "PROCEDURE" => CommentKind::Procedure,
            "ROLE" => CommentKind::Role,
            "TABLE" => CommentKind::Table,
            "TRIGGER" => CommentKind::Trigger,
            "USER" => CommentKind::User,
            "VIEW" => CommentKind::View,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(kind)
    }
}
