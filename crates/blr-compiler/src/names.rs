//! What a name means where it stands: a column of a query around it, a variable, a cursor's column; and at which stage of a query.

use farbird_sql::ast::Name;

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::frame::Frame;
use crate::piece::Typed;
use crate::scope::{Scope, Source, Stage};

impl Compiler<'_> {
    /// A column, of the innermost query that has it.
    pub(crate) fn column(&mut self, qualifier: Option<&Name>, name: &str) -> Made<Option<Typed>> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(found) = scope.find(qualifier, name) {
                return scope.at_stage(found).map(Some);
            }
        }
        Ok(None)
    }

    /// The context of the table that a key (RDB$DB_KEY) is asked of.
    pub(crate) fn key_context(&self, qualifier: Option<&Name>) -> Option<u8> {
        self.scopes.iter().rev().find_map(|scope| {
            let fits =
                |it: &&Source| qualifier.map_or(!it.qualified_only, |qualifier| it.name == qualifier.text);
            scope.sources.iter().find(fits).and_then(|it| it.key)
        })
    }

    pub(crate) fn scope(&mut self) -> Made<&mut Scope> {
        placed(self.scopes.last_mut())
    }

    /// Compiles inside a query.
    pub(crate) fn inside<T>(
        &mut self,
        scope: Scope,
        make: impl FnOnce(&mut Self) -> Made<T>,
    ) -> Made<(T, Scope)> {
        self.scopes.push(scope);
        let made = make(self);
        let scope = placed(self.scopes.pop())?;
        Ok((made?, scope))
    }

    /// Compiles at another stage of the innermost query.
    pub(crate) fn at<T>(&mut self, stage: Stage, make: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        let before = std::mem::replace(&mut self.scope()?.stage, stage);
        let made = make(self);
        self.scope()?.stage = before;
        made
    }

    /// The place of a value that is a key of the groups as a whole.
    pub(crate) fn key_of_groups(&mut self, value: Typed) -> Made<Option<Typed>> {
        let scope = self.scope()?;
        match &scope.grouping {
            Some(grouping) if grouping.is_key(&value.code) => scope.at_stage(value).map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn frame(&mut self) -> Made<&mut Frame> {
        match &mut self.frame {
            Some(frame) => Ok(frame),
            None => unsupported("PSQL outside of a routine"),
        }
    }

    /// A variable, a parameter, or a cursor's column.
    pub(crate) fn variable(&self, qualifier: Option<&Name>, name: &Name) -> Option<Typed> {
        let frame = self.frame.as_ref()?;
        match qualifier {
            None => frame.variable(name.as_str()),
            Some(qualifier) => {
                let cursor = frame.cursors.iter().rev().find(|it| it.name == qualifier.text);
                match cursor {
                    Some(cursor) => {
                        cursor.columns.iter().find(|it| it.name == name.text).map(|it| it.value.clone())
                    }
                    // NEW and OLD with a colon.
                    None => self.scopes.first().and_then(|it| it.row(qualifier, name.as_str())),
                }
            }
        }
    }
}
