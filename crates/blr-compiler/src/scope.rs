//! Names of columns: the queries around an expression, what stands in their FROM, and where their groups and windows keep values.

use farbird_blr::Code;
use farbird_catalog::Relation;
use farbird_sql::ast::{Name, NamedWindow};
use farbird_types::SqlType;

use crate::failure::{Made, placed};
use crate::map::{Grouping, Windows};
use crate::piece::Typed;

/// A column of something in FROM.
#[derive(Debug, Clone)]
pub(crate) struct SourceColumn {
    pub(crate) name: String,
    pub(crate) value: Typed,
}

/// Something in FROM, or a row that has a name (NEW, OLD).
#[derive(Debug, Clone, Default)]
pub(crate) struct Source {
    /// Its alias, or its name without one.
    pub(crate) name: String,
    pub(crate) columns: Vec<SourceColumn>,
    /// Contexts that its rows come from.
    pub(crate) contexts: Vec<u8>,
    /// The context of a table or view, which has a key.
    pub(crate) key: Option<u8>,
    /// Columns are found only behind its name.
    pub(crate) qualified_only: bool,
}

/// At which stage of a query an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Over rows.
    Rows,
    /// Over groups.
    Groups,
    /// Behind windows.
    Windows,
}

/// A query.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) sources: Vec<Source>,
    /// Columns of USING and NATURAL: one for several.
    pub(crate) merged: Vec<SourceColumn>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) windows: Option<Windows>,
    pub(crate) stage: Stage,
    /// WINDOW.
    pub(crate) named_windows: Vec<NamedWindow>,
}

impl Scope {
    pub(crate) fn new() -> Scope {
        Scope {
            sources: Vec::new(),
            merged: Vec::new(),
            grouping: None,
            windows: None,
            stage: Stage::Rows,
            named_windows: Vec::new(),
        }
    }

    pub(crate) fn of(sources: Vec<Source>) -> Scope {
        Scope { sources, ..Scope::new() }
    }

    /// A value over rows as the stage has it.
    pub(crate) fn at_stage(&mut self, value: Typed) -> Made<Typed> {
        let mut value = value;
        if self.stage >= Stage::Groups
            && let Some(grouping) = &mut self.grouping
        {
            value.code = grouping.place(&value.code)?;
        }
        if self.stage >= Stage::Windows
            && let Some(windows) = &mut self.windows
        {
            value.code = windows.plain_place(&value.code)?;
        }
        Ok(value)
    }

    /// A column of a row that is found only behind its name.
    pub(crate) fn row(&self, qualifier: &Name, name: &str) -> Option<Typed> {
        self.find(Some(qualifier), name)
    }

    /// A column by its name.
    pub(crate) fn find(&self, qualifier: Option<&Name>, name: &str) -> Option<Typed> {
        let named = |columns: &[SourceColumn]| {
            columns.iter().find(|column| column.name == name).map(|column| column.value.clone())
        };
        match qualifier {
            None => named(&self.merged).or_else(|| {
                self.sources.iter().filter(|it| !it.qualified_only).find_map(|it| named(&it.columns))
            }),
            Some(qualifier) => {
                self.sources.iter().filter(|it| it.name == qualifier.text).find_map(|it| named(&it.columns))
            }
        }
    }
}

/// A table's row in a context.
pub(crate) fn row_of(relation: &Relation, context: u8, name: &str) -> Made<Source> {
    let columns = relation.columns.iter().map(|column| {
        let code = placed(Code::field(context, &column.name))?;
        let sql_type = Some(column.sql_type).filter(|it| *it != SqlType::Array);
        Ok(SourceColumn { name: column.name.clone(), value: Typed { code, sql_type } })
    });
    Ok(Source {
        name: name.to_owned(),
        columns: columns.collect::<Made<_>>()?,
        contexts: vec![context],
        key: Some(context),
        qualified_only: false,
    })
}
