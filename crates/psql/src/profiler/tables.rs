//! The tables, views, sequence and role that profiles are written to, made when a database is profiled for the first time.
//!
//! Names, columns, constraints and indexes are those of Firebird 5's plugin Default_Profiler: tools and scripts look for them. They
//! belong to the owner of the database; everybody has the role that may read and write them.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_sql::ast::StatementKind;
use farbird_sql::{Dialect, ParseOptions};
use farbird_types::{Error, Result, Value};

use super::written::{Texts, first_value};
use crate::autonomous;
use crate::dynamic_rows::apart;

/// The role that everybody has, and by which it is known whether all this is there.
const ROLE: &str = "PLG$PROFILER";

/// A table, without what all their names begin with.
struct Table {
    name: &'static str,
    /// Its columns without the first one, PROFILE_ID.
    columns: &'static str,
    /// Its key without PROFILE_ID, and the key's index.
    key: (&'static [&'static str], &'static str),
    /// The index of PROFILE_ID, which refers to the sessions.
    session_index: &'static str,
    references: &'static [Reference],
}

/// A reference of a table to another one; PROFILE_ID goes before the columns on either side.
struct Reference {
    constraint: &'static str,
    columns: &'static [&'static str],
    table: &'static str,
    /// Columns of the other table, if they are of other names.
    to: &'static [&'static str],
    index: &'static str,
}

const fn reference(
    constraint: &'static str,
    columns: &'static [&'static str],
    table: &'static str,
    to: &'static [&'static str],
    index: &'static str,
) -> Reference {
    Reference { constraint, columns, table, to, index }
}

const STATEMENT: &[&str] = &["statement_id"];
const CURSOR: &[&str] = &["statement_id", "cursor_id"];
const SOURCE: &[&str] = &["statement_id", "cursor_id", "record_source_id"];
const REQUEST: &[&str] = &["statement_id", "request_id"];

/// The tables, those that others refer to first.
const TABLES: &[Table] = &[
    Table {
        name: "sessions",
        columns: "attachment_id bigint not null, user_name char(63) character set utf8 not null, \
            description varchar(255) character set utf8, start_timestamp timestamp with time zone not null, \
            finish_timestamp timestamp with time zone",
        key: (&[], "profile"),
        session_index: "",
        references: &[],
    },
    Table {
        name: "statements",
        columns: "statement_id bigint not null, parent_statement_id bigint, \
            statement_type varchar(20) character set utf8 not null, package_name char(63) character set utf8, \
            routine_name char(63) character set utf8, sql_text blob sub_type text character set utf8",
        key: (STATEMENT, "profile_statement"),
        session_index: "profile",
        references: &[reference(
            "parent_statement",
            &["parent_statement_id"],
            "statements",
            STATEMENT,
            "parent_statement",
        )],
    },
    Table {
        name: "cursors",
        columns: "statement_id bigint not null, cursor_id integer not null, \
            name char(63) character set utf8, line_num integer, column_num integer",
        key: (CURSOR, "profile_statement_cursor"),
        session_index: "profile",
        references: &[reference("statement", STATEMENT, "statements", &[], "profile_statement")],
    },
    Table {
        name: "record_sources",
        columns: "statement_id bigint not null, cursor_id integer not null, record_source_id integer not null, \
            parent_record_source_id integer, level integer not null, \
            access_path blob sub_type text character set utf8 not null",
        key: (SOURCE, "profile_statement_cursor_recsource"),
        session_index: "profile",
        references: &[
            reference("statement", STATEMENT, "statements", &[], "profile_statement"),
            reference("cursor", CURSOR, "cursors", &[], "profile_statement_cursor"),
            reference(
                "parent_record_source",
                &["statement_id", "cursor_id", "parent_record_source_id"],
                "record_sources",
                SOURCE,
                "profile_statement_cursor_parent_rec_src",
            ),
        ],
    },
    Table {
        name: "requests",
        columns: "statement_id bigint not null, request_id bigint not null, caller_statement_id bigint, \
            caller_request_id bigint, start_timestamp timestamp with time zone not null, \
            finish_timestamp timestamp with time zone, total_elapsed_time bigint",
        key: (REQUEST, "profile_request_statement"),
        session_index: "profile",
        references: &[
            reference("statement", STATEMENT, "statements", &[], "profile_statement"),
            reference(
                "caller_statement",
                &["caller_statement_id"],
                "statements",
                &[],
                "profile_caller_statement",
            ),
            reference(
                "caller_request",
                &["caller_statement_id", "caller_request_id"],
                "requests",
                REQUEST,
                "profile_caller_statement_caller_request",
            ),
        ],
    },
    Table {
        name: "psql_stats",
        columns: "statement_id bigint not null, request_id bigint not null, line_num integer not null, \
            column_num integer not null, counter bigint not null, min_elapsed_time bigint not null, \
            max_elapsed_time bigint not null, total_elapsed_time bigint not null",
        key: (
            &["statement_id", "request_id", "line_num", "column_num"],
            "profile_statement_request_line_column",
        ),
        session_index: "profile",
        references: &[
            reference("request", REQUEST, "requests", &[], "profile_request"),
            reference("statement", STATEMENT, "statements", &[], "profile_statement"),
        ],
    },
    Table {
        name: "record_source_stats",
        columns: "statement_id bigint not null, request_id bigint not null, cursor_id integer not null, \
            record_source_id integer not null, open_counter bigint not null, \
            open_min_elapsed_time bigint not null, open_max_elapsed_time bigint not null, \
            open_total_elapsed_time bigint not null, fetch_counter bigint not null, \
            fetch_min_elapsed_time bigint not null, fetch_max_elapsed_time bigint not null, \
            fetch_total_elapsed_time bigint not null",
        key: (
            &["statement_id", "request_id", "cursor_id", "record_source_id"],
            "profile_stat_req_cur_recsource",
        ),
        session_index: "profile_id",
        references: &[
            reference("request", REQUEST, "requests", &[], "profile_request"),
            reference("statement", STATEMENT, "statements", &[], "profile_statement"),
            reference("cursor", CURSOR, "cursors", &[], "statement_cursor"),
            reference("record_source", SOURCE, "record_sources", &[], "statement_cursor_record_source"),
        ],
    },
];

/// A view over the figures of a table (`f`), with one row for each statement and whatever else `by` names.
struct View {
    name: &'static str,
    table: &'static str,
    joins: &'static str,
    /// What the figures are told apart by, beside the statement.
    by: &'static [(&'static str, &'static str)],
    figures: &'static str,
    order: &'static str,
}

const VIEWS: &[View] = &[
    View {
        name: "statement_stats_view",
        table: "requests",
        joins: "",
        by: &[],
        figures: "count(*) counter, min(f.total_elapsed_time) min_elapsed_time, \
            max(f.total_elapsed_time) max_elapsed_time, \
            cast(sum(f.total_elapsed_time) as bigint) total_elapsed_time, \
            cast(sum(f.total_elapsed_time) / count(*) as bigint) avg_elapsed_time",
        order: "sum(f.total_elapsed_time)",
    },
    View {
        name: "psql_stats_view",
        table: "psql_stats",
        joins: "",
        by: &[("f.line_num", "line_num"), ("f.column_num", "column_num")],
        figures: "cast(sum(f.counter) as bigint) counter, min(f.min_elapsed_time) min_elapsed_time, \
            max(f.max_elapsed_time) max_elapsed_time, \
            cast(sum(f.total_elapsed_time) as bigint) total_elapsed_time, \
            cast(sum(f.total_elapsed_time) / nullif(sum(f.counter), 0) as bigint) avg_elapsed_time",
        order: "sum(f.total_elapsed_time)",
    },
    View {
        name: "record_source_stats_view",
        table: "record_source_stats",
        joins: " join plg$prof_cursors c on c.profile_id = f.profile_id and c.statement_id = f.statement_id \
            and c.cursor_id = f.cursor_id \
            join plg$prof_record_sources r on r.profile_id = f.profile_id and r.statement_id = f.statement_id \
            and r.cursor_id = f.cursor_id and r.record_source_id = f.record_source_id",
        by: &[
            ("f.cursor_id", "cursor_id"),
            ("c.name", "cursor_name"),
            ("c.line_num", "cursor_line_num"),
            ("c.column_num", "cursor_column_num"),
            ("f.record_source_id", "record_source_id"),
            ("r.parent_record_source_id", "parent_record_source_id"),
            ("r.level", "level"),
            ("r.access_path", "access_path"),
        ],
        figures: "cast(sum(f.open_counter) as bigint) open_counter, \
            min(f.open_min_elapsed_time) open_min_elapsed_time, \
            max(f.open_max_elapsed_time) open_max_elapsed_time, \
            cast(sum(f.open_total_elapsed_time) as bigint) open_total_elapsed_time, \
            cast(sum(f.open_total_elapsed_time) / nullif(sum(f.open_counter), 0) as bigint) open_avg_elapsed_time, \
            cast(sum(f.fetch_counter) as bigint) fetch_counter, \
            min(f.fetch_min_elapsed_time) fetch_min_elapsed_time, \
            max(f.fetch_max_elapsed_time) fetch_max_elapsed_time, \
            cast(sum(f.fetch_total_elapsed_time) as bigint) fetch_total_elapsed_time, \
            cast(sum(f.fetch_total_elapsed_time) / nullif(sum(f.fetch_counter), 0) as bigint) \
            fetch_avg_elapsed_time, \
            cast(coalesce(sum(f.open_total_elapsed_time), 0) + coalesce(sum(f.fetch_total_elapsed_time), 0) \
            as bigint) open_fetch_total_elapsed_time",
        order: "coalesce(sum(f.open_total_elapsed_time), 0) + coalesce(sum(f.fetch_total_elapsed_time), 0)",
    },
];

impl Table {
    fn definition(&self) -> String {
        let name = format!("plg$prof_{}", self.name);
        let mut text = format!("create table {name} (profile_id bigint not null, {}", self.columns);
        if !self.session_index.is_empty() {
            text.push_str(&format!(
                ", constraint {name}_session_fk foreign key (profile_id) references plg$prof_sessions \
                 on delete cascade using index {name}_{}",
                self.session_index
            ));
        }
        let (key, index) = self.key;
        let key = with_profile(key);
        text.push_str(&format!(", constraint {name}_pk primary key ({key}) using index {name}_{index}"));
        for reference in self.references {
            let to = match reference.to {
                [] => String::new(),
                to => format!(" ({})", with_profile(to)),
            };
            text.push_str(&format!(
                ", constraint {name}_{}_fk foreign key ({}) references plg$prof_{}{to} on delete cascade \
                 using index {name}_{}",
                reference.constraint,
                with_profile(reference.columns),
                reference.table,
                reference.index
            ));
        }
        text + ")"
    }
}

fn with_profile(columns: &[&str]) -> String {
    [&["profile_id"], columns].concat().join(", ")
}

impl View {
    fn definition(&self) -> String {
        let View { name, table, joins, by, figures, order } = self;
        let shown: String = by.iter().map(|(column, name)| format!("{column} {name}, ")).collect();
        let grouped: String = by.iter().map(|(column, _)| format!(", {column}")).collect();
        format!(
            "create view plg$prof_{name} as select f.profile_id, f.statement_id, s.statement_type, \
             s.package_name, s.routine_name, s.parent_statement_id, p.statement_type parent_statement_type, \
             p.routine_name parent_routine_name, \
             (select sql_text from plg$prof_statements where profile_id = f.profile_id \
             and statement_id = coalesce(s.parent_statement_id, f.statement_id)) sql_text, {shown}{figures} \
             from plg$prof_{table} f{joins} \
             join plg$prof_statements s on s.profile_id = f.profile_id and s.statement_id = f.statement_id \
             left join plg$prof_statements p on p.profile_id = s.profile_id \
             and p.statement_id = s.parent_statement_id \
             group by f.profile_id, f.statement_id, s.statement_type, s.package_name, s.routine_name, \
             s.parent_statement_id, p.statement_type, p.routine_name{grouped} order by {order} desc"
        )
    }
}

/// All definitions, in an order in which they can be made.
fn definitions() -> Vec<String> {
    let mut texts = vec![
        "create role plg$profiler".to_owned(),
        "grant default plg$profiler to public".to_owned(),
        "create sequence plg$prof_profile_id".to_owned(),
        "grant usage on sequence plg$prof_profile_id to plg$profiler".to_owned(),
    ];
    for table in TABLES {
        texts.push(table.definition());
        texts.push(format!(
            "grant select, update, insert, delete on table plg$prof_{} to plg$profiler",
            table.name
        ));
    }
    for view in VIEWS {
        texts.push(view.definition());
        texts.push(format!("grant select on table plg$prof_{} to plg$profiler", view.name));
    }
    texts
}

/// Makes all this in a transaction of its own, if it is not there.
///
/// # Errors
/// Those of the definitions.
pub(super) fn make(context: &mut ExecutionContext<'_>) -> Result<()> {
    let catalog = context.database.catalog();
    if catalog.roles.contains_key(ROLE) {
        return Ok(());
    }
    let transaction = autonomous::begin(context)?;
    let outer = context.definer.replace(catalog.database.owner.as_str().into());
    let profiler = Arc::clone(&context.session.profiler);
    let made = profiler.unheard(|| {
        apart(context, |context| {
            autonomous::inside(&transaction, context, |inner| {
                definitions().iter().try_for_each(|text| define(text, inner))
            })?
        })
    });
    context.definer = outer;
    autonomous::end(transaction, context.database, made)
}

fn define(text: &str, context: &mut ExecutionContext<'_>) -> Result<()> {
    let parsed = farbird_sql::parse_statement(text, &ParseOptions::of(Dialect::numbered(3)))?;
    let StatementKind::Ddl(definition) = &parsed.kind else {
        return Err(Error::internal("a definition of the profiler is none"));
    };
    context.above.definitions.execute(definition, &text.into(), context)
}

/// The number of a new session.
///
/// # Errors
/// If the sequence is no longer there.
pub(super) fn next_profile_id(context: &mut ExecutionContext<'_>) -> Result<i64> {
    let transaction = autonomous::begin(context)?;
    let texts = Texts::of(&transaction, context);
    let profiler = Arc::clone(&context.session.profiler);
    let value = profiler.unheard(|| {
        apart(context, |context| {
            autonomous::inside(&transaction, context, |inner| {
                let query = "select next value for plg$prof_profile_id from rdb$database";
                first_value(&texts.bound(query)?, inner)
            })?
        })
    });
    match autonomous::end(transaction, context.database, value)? {
        Value::Integer { unscaled, .. } => Ok(unscaled),
        _ => Err(Error::internal("a sequence without a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_can_be_parsed() {
        for text in definitions() {
            let parsed = farbird_sql::parse_statement(&text, &ParseOptions::of(Dialect::numbered(3)));
            assert!(matches!(parsed.map(|parsed| parsed.kind), Ok(StatementKind::Ddl(_))), "{text}");
        }
    }
}
