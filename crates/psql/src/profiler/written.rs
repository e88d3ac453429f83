//! Profiles written to their tables, in a transaction of their own.

use std::sync::Arc;
use std::time::Duration;

use farbird_catalog::Catalog;
use farbird_catalog::transaction::Transaction;
use farbird_expression::ExecutionContext;
use farbird_plan::bind::{self, Environment, NoVariables, Prepared};
use farbird_session::Session;
use farbird_session::profile::{Profile, ProfiledRun, Span};
use farbird_sql::{Dialect, ParseOptions};
use farbird_types::{CharacterSet, Result, TimestampTz, Value};

use crate::autonomous;
use crate::dynamic::run_plan;
use crate::dynamic_rows::{RowSource, apart};

/// What adds the figures of a line to those that are there.
const ADD_LINE: &str = "merge into plg$prof_psql_stats using rdb$database \
    on profile_id = ? and statement_id = ? and request_id = ? and line_num = ? and column_num = ? \
    when matched then update set counter = counter + cast(? as bigint), \
    min_elapsed_time = minvalue(min_elapsed_time, cast(? as bigint)), \
    max_elapsed_time = maxvalue(max_elapsed_time, cast(? as bigint)), \
    total_elapsed_time = total_elapsed_time + cast(? as bigint) \
    when not matched then insert values (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The same for a record source.
const ADD_SOURCE: &str = "merge into plg$prof_record_source_stats using rdb$database \
    on profile_id = ? and statement_id = ? and request_id = ? and cursor_id = ? and record_source_id = ? \
    when matched then update set open_counter = open_counter + cast(? as bigint), \
    open_min_elapsed_time = minvalue(open_min_elapsed_time, cast(? as bigint)), \
    open_max_elapsed_time = maxvalue(open_max_elapsed_time, cast(? as bigint)), \
    open_total_elapsed_time = open_total_elapsed_time + cast(? as bigint), \
    fetch_counter = fetch_counter + cast(? as bigint), \
    fetch_min_elapsed_time = minvalue(fetch_min_elapsed_time, cast(? as bigint)), \
    fetch_max_elapsed_time = maxvalue(fetch_max_elapsed_time, cast(? as bigint)), \
    fetch_total_elapsed_time = fetch_total_elapsed_time + cast(? as bigint) \
    when not matched then insert values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Statements bound in a transaction.
pub(super) struct Texts {
    environment: Environment,
}

impl Texts {
    pub(super) fn of(transaction: &Transaction, context: &ExecutionContext<'_>) -> Texts {
        let catalog: Arc<Catalog> = transaction.current_catalog();
        let first_rows = context.session.settings.lock().hurries_to_first_rows();
        let environment =
            Environment { catalog, character_set: CharacterSet::UTF8, dialect: 3, first_rows, package: None };
        Texts { environment }
    }

    /// # Errors
    /// If a table is no longer there, or is another one.
    pub(super) fn bound(&self, text: &str) -> Result<Prepared> {
        let parsed = farbird_sql::parse_statement(text, &ParseOptions::of(Dialect::numbered(3)))?;
        bind::bind_statement(&self.environment, &parsed, &NoVariables)
    }

    /// A statement that stores rows of a table, or replaces those of the same key.
    fn stored(&self, table: &str, columns: usize, key: &str) -> Result<Prepared> {
        let values = vec!["?"; columns].join(", ");
        self.bound(&format!("update or insert into plg$prof_{table} values ({values}) matching ({key})"))
    }
}

/// The value of a query of one.
pub(super) fn first_value(query: &Prepared, context: &mut ExecutionContext<'_>) -> Result<Value> {
    let RowSource::Query(mut cursor, _) = run_plan(query, Vec::new(), context)? else {
        return Ok(Value::Null);
    };
    let row = cursor.next_row(context)?;
    Ok(row.and_then(|row| row.into_iter().next()).unwrap_or_default())
}

/// Writes what an attachment has collected, if it is to be written from time to time, and that time has come.
pub fn write_if_due(context: &mut ExecutionContext<'_>) {
    if !context.session.profiler.is_due() {
        return;
    }
    let Some(own) = context.database.attachments.lock().get(&context.session.id).cloned() else { return };
    if let Err(error) = write(&own, context) {
        tracing::warn!(attachment = own.id, %error, "a profile could not be written");
    }
}

/// Writes what an attachment has collected.
///
/// # Errors
/// Those of its statements; what was collected is lost then.
pub(super) fn write(session: &Session, context: &mut ExecutionContext<'_>) -> Result<()> {
    let profiles = session.profiler.take();
    if profiles.is_empty() {
        return Ok(());
    }
    let transaction = autonomous::begin(context)?;
    let texts = Texts::of(&transaction, context);
    let profiler = Arc::clone(&context.session.profiler);
    let write = |inner: &mut ExecutionContext<'_>| {
        profiles.iter().try_for_each(|profile| write_profile(profile, session, &texts, inner))
    };
    profiler.unheard(|| {
        context.uncounted(|context| apart(context, |context| autonomous::within(transaction, context, write)))
    })
}

fn write_profile(
    profile: &Profile,
    session: &Session,
    texts: &Texts,
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    let id = Value::integer(profile.id);
    if profile.is_new {
        let text = texts.stored("sessions", 6, "profile_id")?;
        let values = vec![
            id.clone(),
            number(session.id),
            Value::text(&session.options.user),
            text_or_null(profile.description.as_deref()),
            Value::TimestampTz(profile.started),
            time_or_null(profile.finished),
        ];
        run_plan(&text, values, context)?;
    }
    write_statements(profile, texts, context)?;
    let requests = texts.stored("requests", 8, "profile_id, statement_id, request_id").map(Box::new)?;
    let (add_line, add_source) = (texts.bound(ADD_LINE)?, texts.bound(ADD_SOURCE)?);
    for run in profile.runs.values() {
        context.check_interrupt()?;
        if run.is_new {
            run_plan(&requests, request_row(&id, run), context)?;
        }
        let own = [id.clone(), number(run.statement), number(run.number)];
        for (&(line, column), span) in &run.lines {
            let key = [own.as_slice(), &[whole(line), whole(column)]].concat();
            run_plan(&add_line, twice(&key, &span_values(span)), context)?;
        }
        for (&(cursor, source), (opened, fetched)) in &run.sources {
            let key = [own.as_slice(), &[whole(cursor), whole(source)]].concat();
            let figures = [span_values(opened), span_values(fetched)].concat();
            run_plan(&add_source, twice(&key, &figures), context)?;
        }
    }
    Ok(())
}

/// Statements, cursors and record sources, those that others refer to first.
fn write_statements(profile: &Profile, texts: &Texts, context: &mut ExecutionContext<'_>) -> Result<()> {
    let id = Value::integer(profile.id);
    let text = texts.stored("statements", 7, "profile_id, statement_id")?;
    let (inner, outer): (Vec<_>, Vec<_>) = profile.statements.iter().partition(|(_, it)| it.parent.is_some());
    for (statement, it) in outer.into_iter().chain(inner) {
        let values = vec![
            id.clone(),
            number(*statement),
            it.parent.map_or(Value::Null, number),
            Value::text(it.statement.kind),
            text_or_null(it.statement.package.as_deref()),
            text_or_null(it.statement.routine.as_deref()),
            text_or_null(it.statement.text.as_deref()),
        ];
        run_plan(&text, values, context)?;
    }
    let text = texts.stored("cursors", 6, "profile_id, statement_id, cursor_id")?;
    for (&(statement, cursor), (name, position)) in &profile.cursors {
        let (line, column) =
            position.map_or((Value::Null, Value::Null), |(line, column)| (whole(line), whole(column)));
        let values =
            vec![id.clone(), number(statement), whole(cursor), text_or_null(name.as_deref()), line, column];
        run_plan(&text, values, context)?;
    }
    let key = "profile_id, statement_id, cursor_id, record_source_id";
    let text = texts.stored("record_sources", 7, key)?;
    for (&(statement, cursor, source), figures) in &profile.sources {
        let values = vec![
            id.clone(),
            number(statement),
            whole(cursor),
            whole(source),
            figures.parent.map_or(Value::Null, whole),
            whole(figures.level),
            Value::text(&figures.path),
        ];
        run_plan(&text, values, context)?;
    }
    Ok(())
}

fn request_row(id: &Value, run: &ProfiledRun) -> Vec<Value> {
    let (caller_statement, caller_run) = match run.caller {
        Some((statement, run)) => (number(statement), number(run)),
        None => (Value::Null, Value::Null),
    };
    vec![
        id.clone(),
        number(run.statement),
        number(run.number),
        caller_statement,
        caller_run,
        time_or_null(run.started),
        time_or_null(run.finished.map(|(time, _)| time)),
        run.finished.map_or(Value::Null, |(_, elapsed)| nanoseconds(elapsed)),
    ]
}

fn span_values(span: &Span) -> [Value; 4] {
    [number(span.count), nanoseconds(span.min), nanoseconds(span.max), nanoseconds(span.total)]
}

/// The values of a MERGE: a key and figures to look for it and add them, and the same to store them.
fn twice(key: &[Value], figures: &[Value]) -> Vec<Value> {
    [key, figures, key, figures].concat()
}

fn number(number: u64) -> Value {
    Value::integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn whole(number: u32) -> Value {
    Value::integer(i64::from(number))
}

fn nanoseconds(time: Duration) -> Value {
    Value::integer(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn time_or_null(time: Option<TimestampTz>) -> Value {
    time.map_or(Value::Null, Value::TimestampTz)
}
