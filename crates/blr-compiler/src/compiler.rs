//! What a compilation knows while it goes on: the catalog, numbers that are taken, names that are seen.

use std::collections::VecDeque;

use farbird_catalog::{Catalog, ViewContext};
use farbird_sql::ParseOptions;

use crate::common_tables::CommonTables;
use crate::failure::{Made, placed, unsupported};
use crate::frame::Frame;
use crate::scope::Scope;

/// How deep expressions, queries and statements may be nested. The parser bounds them too.
const DEPTH_MAX: usize = 120;
/// Contexts have a byte.
const CONTEXTS_MAX: u16 = 255;

/// One compilation.
pub(crate) struct Compiler<'c> {
    pub(crate) catalog: &'c Catalog,
    /// The package of the routine.
    pub(crate) package: Option<&'c str>,
    /// Queries around what is being compiled, the innermost last.
    pub(crate) scopes: Vec<Scope>,
    pub(crate) common_tables: CommonTables,
    /// Variables and cursors of a routine.
    pub(crate) frame: Option<Frame>,
    /// Whether VALUE is a domain's.
    pub(crate) has_value: bool,
    next_context: u16,
    /// Of a view: the tables of its FROM that come next, with the numbers that RDB$VIEW_RELATIONS says.
    tables_of_view: Option<VecDeque<(String, u16)>>,
    depth: usize,
}

impl<'c> Compiler<'c> {
    /// A compilation whose first free context is this one.
    pub(crate) fn new(catalog: &'c Catalog, first_context: u16) -> Compiler<'c> {
        Compiler {
            catalog,
            package: None,
            scopes: Vec::new(),
            common_tables: CommonTables::default(),
            frame: None,
            has_value: false,
            next_context: first_context,
            tables_of_view: None,
            depth: 0,
        }
    }

    pub(crate) fn parse_options(&self) -> ParseOptions {
        ParseOptions::of(farbird_sql::Dialect::numbered(self.catalog.database.dialect))
    }

    /// A context of its own.
    pub(crate) fn context(&mut self) -> Made<u8> {
        let number = self.next_context;
        self.next_context += 1;
        match u8::try_from(number) {
            Ok(context) if number < CONTEXTS_MAX => Ok(context),
            _ => unsupported("more contexts than BLR counts"),
        }
    }

    /// A compilation of a view, whose tables in FROM are these.
    pub(crate) fn of_view(catalog: &'c Catalog, tables: &[ViewContext]) -> Made<Compiler<'c>> {
        let first = placed(u16::try_from(tables.len() + 1).ok())?;
        let tables = tables.iter().map(|it| (it.relation.clone(), it.number)).collect();
        Ok(Compiler { tables_of_view: Some(tables), ..Compiler::new(catalog, first) })
    }

    /// The context of a table of FROM.
    pub(crate) fn context_of_table(&mut self, name: &str) -> Made<u8> {
        let Some(tables) = &mut self.tables_of_view else { return self.context() };
        match tables.pop_front() {
            Some((known, number)) if known == name => placed(u8::try_from(number).ok()),
            _ => unsupported("a view whose tables are numbered in another order"),
        }
    }

    /// Compiles something that is not part of a view's own FROM.
    pub(crate) fn apart<T>(&mut self, make: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        let of_view = self.tables_of_view.take();
        let made = make(self);
        self.tables_of_view = of_view;
        made
    }

    /// How many contexts are taken, to go back to when what took them is dropped.
    pub(crate) fn mark(&self) -> u16 {
        self.next_context
    }

    pub(crate) fn back_to(&mut self, mark: u16) {
        self.next_context = mark;
    }

    /// One level deeper.
    pub(crate) fn nested<T>(&mut self, make: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        if self.depth == DEPTH_MAX {
            return unsupported("too deep nesting");
        }
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }
}
