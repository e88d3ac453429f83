//! EXPLAIN and EXPLAIN ANALYZE: the plan of a statement as rows, one for each operator.
//!
//! EXPLAIN runs nothing. EXPLAIN ANALYZE runs the statement to its end, throws the rows away that it gives, and shows what each operator
//! did; what the statement changes is changed. Both need what the statement needs to be allowed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_types::{CharacterSet, ColumnType, ExactSubtype, ExactWidth, Result, SqlType, Value};

use crate::api::ColumnDescription;
use crate::bind::{self, Action};
use crate::budget::Resource;
use crate::execute::{BufferedRows, Cursor, RowBuffer, modify};
use crate::expression::{ExecutionContext, Figures, Measurements, Scanned};
use crate::plan::{ExplainLine, explain};
use crate::psql;

/// Longest operator that is shown, in characters.
const OPERATOR_CHARS: u32 = 250;
/// How far an operator is indented under the one that asks it for rows.
const INDENT: &str = "  ";

/// A statement to be explained.
pub(super) struct Explained {
    pub(super) statement: Statement,
    /// Whether it runs.
    pub(super) analyze: bool,
}

/// What it is.
pub(super) enum Statement {
    Plan(bind::Prepared),
    Routine(psql::CompiledStatement),
}

/// What the columns of a row show.
#[derive(Clone, Copy)]
enum Column {
    Depth,
    EstimatedRows,
    ActualRows,
    Loops,
    Milliseconds,
    OwnMilliseconds,
    MemoryPeak,
    Spilled,
    RowsRead,
    BlocksRead,
    BlocksSkipped,
    WithoutPartner,
    EstimatedCost,
    Operator,
}

/// The tree comes last: it is the only column without a width of its own.
const COLUMNS: &[(Column, &str, bool)] = &[
    (Column::Depth, "DEPTH", false),
    (Column::EstimatedRows, "ESTIMATED_ROWS", false),
    (Column::ActualRows, "ACTUAL_ROWS", true),
    (Column::Loops, "LOOPS", true),
    (Column::Milliseconds, "MILLISECONDS", true),
    (Column::OwnMilliseconds, "OWN_MILLISECONDS", true),
    (Column::MemoryPeak, "MEMORY_PEAK", true),
    (Column::Spilled, "SPILLED", true),
    (Column::RowsRead, "ROWS_READ", true),
    (Column::BlocksRead, "BLOCKS_READ", true),
    (Column::BlocksSkipped, "BLOCKS_SKIPPED", true),
    (Column::WithoutPartner, "WITHOUT_PARTNER", true),
    (Column::EstimatedCost, "ESTIMATED_COST", false),
    (Column::Operator, "OPERATOR", false),
];

/// A line of the answer.
struct Line {
    line: ExplainLine,
    figures: Option<Figures>,
    /// Time spent in it alone.
    own: Duration,
}

/// The columns of the answer.
pub(super) fn columns(analyze: bool) -> Vec<ColumnDescription> {
    shown(analyze)
        .map(|(column, name)| ColumnDescription {
            column_type: ColumnType { sql_type: column.sql_type(), nullable: true },
            field: name.to_owned(),
            relation: String::new(),
            relation_alias: String::new(),
            owner: String::new(),
            alias: name.to_owned(),
        })
        .collect()
}

fn shown(analyze: bool) -> impl Iterator<Item = (Column, &'static str)> {
    let columns = COLUMNS.iter().filter(move |(_, _, is_measured)| analyze || !is_measured);
    columns.map(|(column, name, _)| (*column, *name))
}

impl Explained {
    /// The plan as rows; with ANALYZE the statement runs before. The context's parameters are the statement's own.
    ///
    /// # Errors
    /// Those of the statement, if it runs.
    pub(super) fn run(&self, context: &mut ExecutionContext<'_>) -> Result<BufferedRows> {
        let lines = match self.analyze {
            true => self.measured(context)?,
            false => self.lines(context)?.into_iter().map(Line::of).collect(),
        };
        let mut rows = RowBuffer::new(&context.budget);
        for line in &lines {
            rows.push(shown(self.analyze).map(|(column, _)| line.value(column)).collect())?;
        }
        Ok(rows.into_rows())
    }

    /// The plan. What a routine calls, and what triggers do, is not looked at.
    fn lines(&self, context: &ExecutionContext<'_>) -> Result<Vec<ExplainLine>> {
        let compiled = match &self.statement {
            Statement::Plan(bound) => return Ok(explain(&bound.action)),
            Statement::Routine(compiled) => compiled,
        };
        let operator = match compiled.procedure() {
            Some(name) => format!("Execute Procedure \"{name}\""),
            None => "Execute Block".to_owned(),
        };
        let mut lines = vec![ExplainLine { depth: 0, operator, estimate: None, part: 0 }];
        for statement in compiled.statements(&context.transaction.current_catalog())? {
            let place = statement.position;
            for mut line in explain(&statement.action) {
                if line.depth == 0 && place.line > 0 {
                    line.operator.push_str(&format!(" (line {}, column {})", place.line, place.column));
                }
                line.depth += 1;
                lines.push(line);
            }
        }
        Ok(lines)
    }

    fn measured(&self, context: &mut ExecutionContext<'_>) -> Result<Vec<Line>> {
        let measurements = Arc::new(Measurements::new(&context.budget));
        let budget = std::mem::replace(&mut context.values.budget, Arc::clone(measurements.budget()));
        let outer = context.measurements.replace(Arc::clone(&measurements));
        let started = Instant::now();
        let result = self.execute(context);
        let time = started.elapsed();
        context.measurements = outer;
        context.values.budget = budget;
        let rows = result?;
        let mut lines: Vec<Line> = self.lines(context)?.into_iter().map(Line::of).collect();
        for line in &mut lines {
            line.figures = Some(measurements.figures(line.line.part).unwrap_or_default());
        }
        // The statement as a whole: with its routines, triggers and cascades.
        let all = measurements.budget();
        if let Some(statement) = lines.first_mut() {
            statement.figures = Some(Figures {
                loops: 1,
                rows,
                time,
                memory_peak: all.usage(Resource::Memory).peak,
                spilled: all.taken_in_all(Resource::Temporary),
                ..Figures::default()
            });
        }
        note_own_times(&mut lines);
        Ok(lines)
    }

    /// Runs the statement to its end; gives how many rows came of it, or were changed.
    fn execute(&self, context: &mut ExecutionContext<'_>) -> Result<u64> {
        match &self.statement {
            Statement::Plan(bound) => match &bound.action {
                Action::Select(plan) => {
                    let parameters = std::mem::take(&mut context.parameters);
                    let mut cursor = Cursor::new(plan, context.view.clone(), parameters);
                    let rows =
                        cursor.start(context).and_then(|()| count(|| Ok(cursor.next(context)?.is_some())));
                    context.parameters = cursor.into_parameters();
                    rows
                }
                Action::Modify(plan) => Ok(modify(plan, context)?.rows),
            },
            Statement::Routine(compiled) => {
                let inputs = context.parameters.clone();
                let rows = psql::Execution::start(compiled, context).and_then(|mut execution| match compiled
                    .description
                    .has_cursor
                {
                    true => count(|| Ok(execution.resume(context)?.is_some())),
                    false => execution.finish(context).map(|_| 1),
                });
                context.parameters = inputs;
                rows
            }
        }
    }
}

/// How often there is a next one.
fn count(mut next: impl FnMut() -> Result<bool>) -> Result<u64> {
    let mut count = 0;
    while next()? {
        count += 1;
    }
    Ok(count)
}

/// What each spent without those that stand right below it.
fn note_own_times(lines: &mut [Line]) {
    let mut above: Vec<usize> = Vec::new();
    for place in 0..lines.len() {
        let Some(Line { line, figures: Some(figures), .. }) = lines.get(place) else { continue };
        let (depth, time) = (line.depth, figures.time);
        above.truncate(depth);
        if let Some(outer) = above.last().and_then(|outer| lines.get_mut(*outer)) {
            outer.own = outer.own.saturating_sub(time);
        }
        if let Some(line) = lines.get_mut(place) {
            line.own = time;
        }
        above.push(place);
    }
}

impl Line {
    fn of(line: ExplainLine) -> Line {
        Line { line, figures: None, own: Duration::ZERO }
    }

    fn value(&self, column: Column) -> Value {
        let figure =
            |of: fn(&Figures) -> u64| self.figures.as_ref().map_or(Value::Null, |all| whole(of(all)));
        let scanned = |of: fn(&Scanned) -> u64| match self.figures.as_ref().and_then(|all| all.scanned) {
            Some(scanned) => whole(of(&scanned)),
            None => Value::Null,
        };
        // Of all runs together, as what has really happened.
        let loops = self.figures.map_or(1, |figures| figures.loops.max(1));
        let estimate = |of: fn(crate::plan::Estimate) -> f64| match self.line.estimate {
            Some(estimate) => tenths(of(estimate) * times(loops)),
            None => Value::Null,
        };
        match column {
            Column::Depth => whole(self.line.depth as u64),
            Column::EstimatedRows => estimate(|estimate| estimate.rows),
            Column::ActualRows => figure(|figures| figures.rows),
            Column::Loops => figure(|figures| figures.loops),
            Column::Milliseconds => self.figures.map_or(Value::Null, |figures| milliseconds(figures.time)),
            Column::OwnMilliseconds => self.figures.map_or(Value::Null, |_| milliseconds(self.own)),
            Column::MemoryPeak => figure(|figures| figures.memory_peak),
            Column::Spilled => figure(|figures| figures.spilled),
            Column::RowsRead => scanned(|scanned| scanned.rows),
            Column::BlocksRead => scanned(|scanned| scanned.blocks_read),
            Column::BlocksSkipped => scanned(|scanned| scanned.blocks_skipped),
            Column::WithoutPartner => scanned(|scanned| scanned.without_partner),
            Column::EstimatedCost => estimate(|estimate| estimate.cost),
            Column::Operator => Value::text(&self.operator()),
        }
    }

    fn operator(&self) -> String {
        let text = INDENT.repeat(self.line.depth) + &self.line.operator;
        text.chars().take(OPERATOR_CHARS as usize).collect()
    }
}

impl Column {
    fn sql_type(self) -> SqlType {
        match self {
            Column::Depth => SqlType::INTEGER,
            Column::EstimatedRows | Column::EstimatedCost => numeric(1),
            Column::Milliseconds | Column::OwnMilliseconds => numeric(3),
            Column::Operator => SqlType::varchar(OPERATOR_CHARS, CharacterSet::UTF8),
            Column::ActualRows
            | Column::Loops
            | Column::MemoryPeak
            | Column::Spilled
            | Column::RowsRead
            | Column::BlocksRead
            | Column::BlocksSkipped
            | Column::WithoutPartner => SqlType::BIGINT,
        }
    }
}

/// NUMERIC(18, digits).
fn numeric(digits: i8) -> SqlType {
    SqlType::Exact { width: ExactWidth::Int64, scale: -digits, subtype: ExactSubtype::Numeric }
}

fn whole(number: u64) -> Value {
    Value::integer(i64::try_from(number).unwrap_or(i64::MAX))
}

#[expect(clippy::cast_possible_truncation, reason = "an estimate: what is too large is the largest")]
fn tenths(number: f64) -> Value {
    Value::Integer { unscaled: (number * 10.0).round() as i64, scale: -1 }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn times(loops: u64) -> f64 {
    loops as f64
}

fn milliseconds(time: Duration) -> Value {
    Value::Integer { unscaled: i64::try_from(time.as_micros()).unwrap_or(i64::MAX), scale: -3 }
}
