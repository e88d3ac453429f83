//! FROM: tables, views, procedures, queries, joins.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    DerivedTable, Expression, Join, JoinCondition, JoinKind, Name, NamedTable, TableReference,
};

use crate::compiler::Compiler;
use crate::failure::{Made, Unsupported, placed, unsupported};
use crate::piece::{Typed, joined};
use crate::scope::{Source, SourceColumn, row_of};
use crate::selected::{Selected, Streams};
use crate::value::operation;

impl Compiler<'_> {
    /// A part of FROM. What can be named by it is added to the innermost scope.
    pub(crate) fn table(&mut self, table: &TableReference) -> Made<Streams> {
        self.nested(|it| match table {
            TableReference::Named(named) => it.named_table(named),
            TableReference::Derived(derived) => it.derived_table(derived),
            TableReference::Join(join) => it.join(join),
        })
    }

    fn add(&mut self, source: Source) -> Made<()> {
        self.scope()?.sources.push(source);
        Ok(())
    }

    fn named_table(&mut self, named: &NamedTable) -> Made<Streams> {
        let name = named.name.name.as_str();
        let alias = named.alias.as_ref().map(Name::as_str);
        let is_plain = named.name.package.is_none() && named.arguments.is_none();
        if is_plain && let Some(streams) = self.common_table(name, alias.unwrap_or(name))? {
            return Ok(streams);
        }
        let relation = self.catalog.relation(name).filter(|_| is_plain).cloned();
        let Some(relation) = relation else { return self.procedure_table(named) };
        let context = self.context_of_table(name)?;
        let mut made = Code::of(&[if alias.is_some() { code::RELATION_ALIAS } else { code::RELATION }]);
        placed(made.name(name))?;
        if let Some(alias) = alias {
            placed(made.name(alias))?;
        }
        made.byte(context);
        self.add(row_of(&relation, context, alias.unwrap_or(name))?)?;
        Ok(Streams { sources: vec![made], conditions: Vec::new() })
    }

    /// A procedure with its arguments.
    fn procedure_table(&mut self, named: &NamedTable) -> Made<Streams> {
        let name = named.name.name.as_str();
        let alias = named.alias.as_ref().map(Name::as_str);
        let package = named.name.package.as_ref().map(Name::as_str);
        let arguments = named.arguments.as_deref().unwrap_or_default();
        if let Some(outputs) = self.frame.as_ref().and_then(|it| it.outputs_of(name))
            && package.is_none()
        {
            let context = self.context()?;
            let mut made = Code::of(&[code::SUBPROCEDURE]);
            placed(made.name(name))?;
            placed(made.name(alias.unwrap_or_default()))?;
            made.byte(context);
            self.arguments(&mut made, arguments)?;
            let outputs = outputs.iter().map(|(name, sql_type)| (name.as_str(), Some(*sql_type)));
            let source = rows_of(outputs, context, alias.unwrap_or(name))?;
            self.add(source)?;
            return Ok(Streams { sources: vec![made], conditions: Vec::new() });
        }
        let found = self.catalog.procedure_named(package, name, self.package);
        let found = found.map_err(|error| Unsupported(error.to_string()))?.cloned();
        let Some(procedure) = found else {
            return unsupported(format!("the table or procedure {name}"));
        };
        let context = match &procedure.package {
            None => self.context_of_table(name)?,
            Some(_) => self.context()?,
        };
        let mut made = match (&procedure.package, alias) {
            (None, None) => Code::of(&[code::PROCEDURE]),
            (None, Some(_)) => Code::of(&[code::PROCEDURE_ALIAS]),
            (Some(_), None) => Code::of(&[code::PACKAGED_PROCEDURE]),
            (Some(_), Some(_)) => Code::of(&[code::PACKAGED_PROCEDURE_ALIAS]),
        };
        if let Some(package) = &procedure.package {
            placed(made.name(package))?;
        }
        placed(made.name(name))?;
        if let Some(alias) = alias {
            placed(made.name(alias))?;
        }
        made.byte(context);
        self.arguments(&mut made, arguments)?;
        let outputs = procedure.outputs.iter().map(|it| (it.name.as_str(), Some(it.sql_type)));
        self.add(rows_of(outputs, context, alias.unwrap_or(name))?)?;
        Ok(Streams { sources: vec![made], conditions: Vec::new() })
    }

    /// Arguments of a procedure behind their count.
    pub(crate) fn arguments(&mut self, made: &mut Code, arguments: &[Expression]) -> Made<()> {
        placed(made.long_count(arguments.len()))?;
        for argument in arguments {
            let argument = self.apart(|it| it.code(argument))?;
            made.piece(&argument);
        }
        Ok(())
    }

    /// A query in FROM, which sees what stands beside it only behind LATERAL.
    fn derived_table(&mut self, derived: &DerivedTable) -> Made<Streams> {
        let mut selected = match derived.lateral {
            true => self.query(&derived.query)?,
            false => {
                let beside = placed(self.scopes.pop())?;
                let selected = self.query(&derived.query);
                self.scopes.push(beside);
                selected?
            }
        };
        if derived.lateral {
            selected.records = lateral(&selected.records)?;
        }
        let name = derived.alias.as_ref().map_or("", Name::as_str);
        let (records, source) = source_of(selected, name, &derived.columns)?;
        self.add(source)?;
        Ok(Streams { sources: vec![records], conditions: Vec::new() })
    }

    fn join(&mut self, join: &Join) -> Made<Streams> {
        let first = self.scope()?.sources.len();
        let merged_before = std::mem::take(&mut self.scope()?.merged);
        let mut left = self.table(&join.left)?;
        let between = self.scope()?.sources.len();
        let merged_left = std::mem::take(&mut self.scope()?.merged);
        let mut right = self.table(&join.right)?;
        let merged_right = std::mem::replace(&mut self.scope()?.merged, merged_before);
        let condition = match &join.condition {
            JoinCondition::None => None,
            JoinCondition::On(condition) => {
                self.scope()?.merged.splice(0..0, merged_left.iter().chain(&merged_right).cloned());
                Some(self.apart(|it| it.condition(condition))?)
            }
            JoinCondition::Using(names) => {
                let names: Vec<String> = names.iter().map(|it| it.text.clone()).collect();
                self.merge_columns(&names, join.kind, (first, between), (&merged_left, &merged_right))?
            }
            JoinCondition::Natural => {
                let names = self.common_names((first, between), (&merged_left, &merged_right))?;
                self.merge_columns(&names, join.kind, (first, between), (&merged_left, &merged_right))?
            }
        };
        if !matches!(join.condition, JoinCondition::On(_)) {
            let scope = self.scope()?;
            for column in merged_left.into_iter().chain(merged_right) {
                if !scope.merged.iter().any(|it| it.name == column.name) {
                    scope.merged.push(column);
                }
            }
        }
        let is_inner = matches!(join.kind, JoinKind::Inner | JoinKind::Cross);
        if left.sources.len() + right.sources.len() < 2 {
            // The table of a recursive query is no stream of its own.
            if !is_inner {
                return unsupported("an outer join with the table of a recursive query");
            }
            left.sources.append(&mut right.sources);
            left.conditions.append(&mut right.conditions);
            left.conditions.extend(condition);
            return Ok(left);
        }
        let mut made = Code::of(&[code::STREAM, 2]);
        for source in left.sources.iter().chain(&right.sources) {
            made.piece(source);
        }
        match join.kind {
            JoinKind::Inner | JoinKind::Cross => {}
            JoinKind::Left => drop(made.more(&[code::JOIN_TYPE, 1])),
            JoinKind::Right => drop(made.more(&[code::JOIN_TYPE, 2])),
            JoinKind::Full => drop(made.more(&[code::JOIN_TYPE, 3])),
        }
        let mut conditions = left.conditions;
        conditions.append(&mut right.conditions);
        if !conditions.is_empty() && !is_inner {
            return unsupported("an outer join with the table of a recursive query");
        }
        conditions.extend(condition);
        if !conditions.is_empty() {
            made.byte(code::BOOLEAN).piece(&joined(code::AND, &conditions));
        }
        made.byte(code::END);
        Ok(Streams { sources: vec![made], conditions: Vec::new() })
    }

    /// The columns that both sides of a join have.
    fn common_names(
        &mut self,
        (first, between): (usize, usize),
        merged: (&[SourceColumn], &[SourceColumn]),
    ) -> Made<Vec<String>> {
        let sources = &self.scope()?.sources;
        let names = |sources: &[Source], merged: &[SourceColumn]| -> Vec<String> {
            let own = sources.iter().flat_map(|it| &it.columns);
            merged.iter().chain(own).map(|it| it.name.clone()).collect()
        };
        let left = names(sources.get(first..between).unwrap_or_default(), merged.0);
        let right = names(sources.get(between..).unwrap_or_default(), merged.1);
        let mut common: Vec<String> = Vec::new();
        for name in left {
            if right.contains(&name) && !common.contains(&name) {
                common.push(name);
            }
        }
        Ok(common)
    }

    /// Columns of USING: what they are equal in, and what their name means from now on.
    fn merge_columns(
        &mut self,
        names: &[String],
        kind: JoinKind,
        (first, between): (usize, usize),
        merged: (&[SourceColumn], &[SourceColumn]),
    ) -> Made<Option<Code>> {
        let mut equal = Vec::new();
        for name in names {
            let sources = &self.scope()?.sources;
            let find = |sources: &[Source], merged: &[SourceColumn]| {
                let own = sources.iter().flat_map(|it| &it.columns);
                merged.iter().chain(own).find(|it| it.name == *name).map(|it| it.value.clone())
            };
            let left = placed(find(sources.get(first..between).unwrap_or_default(), merged.0))?;
            let right = placed(find(sources.get(between..).unwrap_or_default(), merged.1))?;
            equal.push(operation(&[code::EQUAL], &[&left.code, &right.code]));
            let code = match kind {
                JoinKind::Right => right.code.clone(),
                JoinKind::Full => operation(&[code::COALESCE, 2], &[&left.code, &right.code]),
                _ => left.code.clone(),
            };
            let value = Typed { code, sql_type: left.sql_type };
            self.scope()?.merged.push(SourceColumn { name: name.clone(), value });
        }
        Ok(Some(joined(code::AND, &equal)).filter(|_| !equal.is_empty()))
    }
}

/// The rows of a procedure.
fn rows_of<'n>(
    outputs: impl Iterator<Item = (&'n str, Option<farbird_types::SqlType>)>,
    context: u8,
    name: &str,
) -> Made<Source> {
    let columns = outputs.map(|(name, sql_type)| {
        let code = placed(Code::field(context, name))?;
        Ok(SourceColumn { name: name.to_owned(), value: Typed { code, sql_type } })
    });
    let columns = columns.collect::<Made<_>>()?;
    Ok(Source { name: name.to_owned(), columns, contexts: vec![context], key: None, qualified_only: false })
}

/// A query as something in FROM. What it computes belongs to its rows: it is NULL where an outer join finds none.
pub(crate) fn source_of(selected: Selected, name: &str, names: &[Name]) -> Made<(Code, Source)> {
    let mut columns = Vec::new();
    for (place, column) in selected.columns.into_iter().enumerate() {
        let name = names.get(place).map_or(column.name, |it| it.text.clone());
        let value =
            Typed { code: of_rows(&column.value.code, &selected.contexts)?, sql_type: column.value.sql_type };
        columns.push(SourceColumn { name, value });
    }
    let source = Source {
        name: name.to_owned(),
        columns,
        contexts: selected.contexts,
        key: None,
        qualified_only: false,
    };
    Ok((selected.records, source))
}

/// A selection that is made anew for each row of what stands before it.
fn lateral(records: &Code) -> Made<Code> {
    match records.bytes() {
        [code::RSE, rest @ ..] => {
            let mut made = Code::of(&[code::LATERAL]);
            made.more(rest);
            Ok(made)
        }
        _ => unsupported("LATERAL of something that is no selection"),
    }
}

/// A value of rows that come from contexts.
pub(crate) fn of_rows(value: &Code, contexts: &[u8]) -> Made<Code> {
    if matches!(value.bytes().first(), Some(&(code::FIELD | code::FIELD_ID))) {
        return Ok(value.clone());
    }
    derived(value, contexts)
}

/// blr_derived_expr.
pub(crate) fn derived(value: &Code, contexts: &[u8]) -> Made<Code> {
    let mut made = Code::of(&[code::DERIVED_EXPRESSION]);
    placed(made.count(contexts.len()))?.more(contexts).piece(value);
    Ok(made)
}
