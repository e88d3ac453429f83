//! PLAN: the tables and indexes that it names, and the order in which it has them joined.
//!
//! As in Firebird the words JOIN, HASH, MERGE and SORT say nothing: what is read by an index that looks at the tables before is
//! looked up for each of their rows, everything else is joined by hash. The clause of a view's own query is only looked at when the
//! view is made.
//!
//! Source: Firebird 3 to 5 (the statuses too: `engine/tests/plan_clauses.rs`).

use std::sync::Arc;

use farbird_catalog::RelationKind;
use farbird_sql::ast::{self, Name, PlanAccess};
use farbird_types::{Error, Result, isc};

use crate::bind::binder::Binder;
use crate::bind::error::{dsql, invalid_blr, sqlcode};
use crate::bind::namespace::NamedTable;
use crate::bound::query::ToldTable;
use crate::bound::source::{JoinHint, Source, SourceKind};
use crate::node::AccessHint;

/// What Firebird finds where a derived table stands instead of a table: its operator RSE.
const RSE_OPERATOR: i32 = 142;

impl Binder<'_> {
    /// Notes what the PLAN clause of a query, and those around it, say of the tables in its FROM, which is bound next.
    pub(crate) fn note_plan(&mut self, plan: Option<&ast::Plan>) {
        let mut told = std::mem::take(&mut self.told_inside);
        self.block().is_told_from_around = !told.is_empty();
        let plan = plan.filter(|_| !self.is_plan_ignored());
        if let Some(plan) = plan {
            collect(plan, &mut told);
        }
        let block = self.block();
        block.is_told = !told.is_empty();
        block.told_tables = told;
    }

    /// Notes what is said of the tables of a query in FROM, which is bound next.
    pub(super) fn tell_inside(&mut self, alias: &str, view: Option<&str>) {
        let inside = self.block().told_tables.iter().filter_map(|table| {
            let (first, rest) = table.path.split_first()?;
            let is_inside = first == alias && (view.is_some() || !rest.is_empty());
            is_inside.then(|| ToldTable {
                path: rest.to_vec(),
                access: table.access.clone(),
                view: view.map(str::to_owned),
            })
        });
        self.told_inside = inside.collect();
    }

    /// Refuses names of tables inside of a UNION: a PLAN clause around it cannot see them.
    ///
    /// # Errors
    /// `dsql_no_relation_alias`.
    pub(super) fn refuse_names_inside(&mut self) -> Result<()> {
        match std::mem::take(&mut self.told_inside).first() {
            Some(table) => Err(no_relation_alias(table.path.first().map_or("", String::as_str))),
            None => Ok(()),
        }
    }

    /// Finds the tables that PLAN clauses name among those of FROM, which has been bound.
    ///
    /// # Errors
    /// `dsql_no_relation_alias` and its like for a table that is not there, `dsql_self_join` for a name of several, `indexname` for an index, `stream_twice`,
    /// `no_stream_plan` for a table that the clause of this query does not name.
    pub(crate) fn resolve_plan(&mut self, plan: Option<&ast::Plan>, is_computed: bool) -> Result<()> {
        let told = std::mem::take(&mut self.block().told_tables);
        let mut found = Vec::with_capacity(told.len());
        for table in &told {
            if let Some(source) = self.told_source(table, is_computed)? {
                found.push((source, table));
            }
        }
        for (source, table) in &found {
            self.check_told_access(*source, &table.access)?;
        }
        for (number, table) in found {
            let Some(source) = self.block().sources.get_mut(number) else { continue };
            if source.hint.is_some() {
                return Err(Error::new(isc::STREAM_TWICE).with(name_of(source)));
            }
            source.hint = Some(table.access.clone());
        }
        let Some(plan) = plan.filter(|_| !self.is_plan_ignored()) else { return Ok(()) };
        let is_forgotten = |source: &&Source| {
            source.hint.is_none() && matches!(source.kind, SourceKind::Table(_) | SourceKind::Procedure(..))
        };
        if let Some(source) = self.block().sources.iter().find(is_forgotten) {
            return Err(Error::new(isc::NO_STREAM_PLAN).with(name_of(source)));
        }
        let hint = join_hint(plan, &self.block().sources);
        self.block().join_hints.push(hint);
        Ok(())
    }

    /// Whether the clause is that of a view, which is used: Firebird looks at it only when the view is made.
    fn is_plan_ignored(&self) -> bool {
        self.owner_of.is_some()
    }

    /// The source that a clause names; nothing if it is a table inside of a query in FROM, which has found it already.
    fn told_source(&mut self, table: &ToldTable, is_computed: bool) -> Result<Option<usize>> {
        let named = |entry: &&NamedTable| table.path.first() == Some(&entry.name);
        // Whether the table of that name is a derived one, if there is one.
        let mut entries = self.namespace().tables.iter().filter(named);
        let entry = entries.next().map(|entry| entry.derived);
        if let (Some(again), None) = (entries.next(), &table.view) {
            return Err(dsql(sqlcode::SYNTAX)
                .and(isc::DSQL_COMMAND_ERR)
                .and(isc::DSQL_SELF_JOIN)
                .with(again.name.as_str()));
        }
        let (block, view) = (self.block(), table.view.as_deref());
        let place = |path: &[String]| block.sources.iter().position(|source| source.path == path);
        match table.path.as_slice() {
            [] => match block.sources.as_slice() {
                [source] if source.path.len() > 1 => {
                    Err(Error::new(isc::NO_STREAM_PLAN).with(name_of(source)))
                }
                [source] if !is_computed && matches!(source.kind, SourceKind::Table(_)) => Ok(Some(0)),
                _ => Err(Error::new(isc::VIEW_ALIAS).with(view.unwrap_or_default())),
            },
            [name, inside @ ..] => {
                let direct = place(std::slice::from_ref(name));
                let kind = direct.and_then(|place| block.sources.get(place)).map(|source| &source.kind);
                let is_deeper = block.sources.iter().any(|source| source.path.contains(name));
                // From outside a view its tables may be called by their own names too.
                let by_table = block.sources.iter().position(|source| {
                    source.path.len() == 1
                        && matches!(&source.kind, SourceKind::Table(relation) if relation.name == *name)
                });
                match (entry, kind, inside) {
                    (None, _, []) if view.is_some() && by_table.is_some() => Ok(by_table),
                    (None, ..) if view.is_some() && is_deeper => {
                        Err(Error::new(isc::STREAM_NOT_FOUND).with(name.as_str()))
                    }
                    (None, ..) => Err(no_relation_alias(name)),
                    (Some(_), Some(SourceKind::Table(_) | SourceKind::Procedure(..)), []) => Ok(direct),
                    (Some(_), Some(SourceKind::Table(_) | SourceKind::Procedure(..)), [next, ..]) => {
                        Err(no_relation_alias(next))
                    }
                    (Some(true), _, []) => Err(invalid_blr()
                        .and(isc::SYNTAXERR)
                        .with("TABLE or PROCEDURE")
                        .with(0)
                        .with(RSE_OPERATOR)),
                    (Some(_), ..) => Ok(None),
                }
            }
        }
    }

    fn check_told_access(&mut self, source: usize, access: &AccessHint) -> Result<()> {
        let environment = self.environment;
        let Some(source) = self.block().sources.get(source) else { return Ok(()) };
        let relation = match &source.kind {
            // Indexes of system tables are only names here.
            SourceKind::Table(relation) if relation.kind == RelationKind::System => return Ok(()),
            SourceKind::Table(relation) => relation.name.as_str(),
            SourceKind::Procedure(..) if *access != AccessHint::Natural => {
                return Err(invalid_blr().and(isc::WRONG_PROC_PLAN));
            }
            _ => return Ok(()),
        };
        for name in access.order().into_iter().chain(access.indexes().iter().map(String::as_str)) {
            match environment.catalog.index(name) {
                Some((_, index)) if !index.inactive => {}
                _ => return Err(invalid_blr().and(isc::INDEXNAME).with(name).with(relation)),
            }
        }
        Ok(())
    }
}

/// The tables of a clause, one after the other.
fn collect(plan: &ast::Plan, out: &mut Vec<ToldTable>) {
    match plan {
        ast::Plan::Join(parts)
        | ast::Plan::Merge(parts)
        | ast::Plan::Hash(parts)
        | ast::Plan::Sort(parts) => parts.iter().for_each(|part| collect(part, out)),
        ast::Plan::Table { path, access } => {
            let names = |names: &[Name]| names.iter().map(|name| name.as_str().to_owned()).collect();
            let access = Arc::new(match access {
                PlanAccess::Natural => AccessHint::Natural,
                PlanAccess::Index(indexes) => AccessHint::Index(names(indexes)),
                PlanAccess::Order { index, indexes } => {
                    AccessHint::Order { index: index.as_str().to_owned(), indexes: names(indexes) }
                }
            });
            out.push(ToldTable { path: names(path), access, view: None });
        }
    }
}

/// The order of a clause over the sources of its query. A table of a query that is planned by itself stands for that.
fn join_hint(plan: &ast::Plan, sources: &[Source]) -> JoinHint {
    match plan {
        ast::Plan::Join(parts)
        | ast::Plan::Merge(parts)
        | ast::Plan::Hash(parts)
        | ast::Plan::Sort(parts) => {
            JoinHint::Join(parts.iter().map(|part| join_hint(part, sources)).collect())
        }
        ast::Plan::Table { path, .. } => {
            let is_it = |source: &Source| {
                !source.path.is_empty()
                    && source.path.iter().zip(path).all(|(one, other)| one == other.as_str())
            };
            sources.iter().position(is_it).map_or(JoinHint::Join(Vec::new()), JoinHint::Source)
        }
    }
}

/// What a source is called in errors: its table's name, whatever its alias.
fn name_of(source: &Source) -> String {
    match &source.kind {
        SourceKind::Table(relation) => relation.name.clone(),
        SourceKind::Procedure(procedure, _) => procedure.name.clone(),
        SourceKind::Derived { .. } | SourceKind::Working(..) => source.path.join(" "),
    }
}

fn no_relation_alias(name: &str) -> Error {
    dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR).and(isc::DSQL_NO_RELATION_ALIAS).with(name)
}
