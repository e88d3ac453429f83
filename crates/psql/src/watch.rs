//! What statements and routines that run tell the profiler of their attachment.
//!
//! A [`Watch`] stands around each run: it measures the plans that the run opens, notes the lines that it executes, and tells of its end
//! when it is dropped. There are watches only while a session is on, and around what may start one. What is done with what they
//! tell is `profiler`'s.
//!
//! Source: Firebird 5's doc/sql.extensions/README.profiler.md.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use farbird_budget::StatementBudget;
use farbird_catalog::database::Database;
use farbird_expression::{ExecutionContext, Figures, Measurements};
use farbird_plan::bind::Action;
use farbird_plan::{ExplainLine, explain, explain_value};
use farbird_session::profile::{ProfileKey, Profiled, Profiler, RecordSources, SourceFigures, Subject};
use farbird_session::{Session, clock};
use farbird_sql::ast::Position;
use farbird_types::{Result, ZoneId};

use crate::compile::CompiledStatement;
use crate::plans::Plan;
use crate::routine::{CompiledRoutine, Instruction, RoutineKind};

/// What may be watched: a statement with its text.
#[derive(Clone, Copy)]
pub enum WatchedBody<'b> {
    /// What has a plan.
    Plan(&'b Action),
    /// EXECUTE BLOCK, EXECUTE PROCEDURE.
    Routine(&'b CompiledStatement),
}

/// Stands around a run that the profiler is told of.
pub struct Watch {
    subject: Arc<Subject>,
    sources: Arc<Sources>,
    profiler: Arc<Profiler>,
    zone: ZoneId,
    elapsed: Duration,
}

impl Watch {
    /// A watch of a statement, if a session is on, or if the statement itself may start one.
    ///
    /// # Errors
    /// If there is no memory for what it will note.
    pub fn of_statement(
        session: &Session,
        database: &Database,
        budget: &Arc<StatementBudget>,
        text: &Arc<str>,
        body: WatchedBody<'_>,
    ) -> Result<Option<Watch>> {
        let may_start = matches!(body, WatchedBody::Routine(compiled) if compiled.routine.calls_profiler);
        if !(session.profiler.is_active() || may_start) {
            return Ok(None);
        }
        let watch = Watch::begin(session, database, budget, of_text(text))?;
        watch.plans().are_of(body);
        Ok(Some(watch))
    }

    /// A watch of the text of EXECUTE STATEMENT, whose plan is told when it is known.
    pub(crate) fn of_text(text: &Arc<str>, context: &ExecutionContext<'_>) -> Result<Option<Watch>> {
        if !context.session.profiler.is_active() {
            return Ok(None);
        }
        Watch::begin(context.session, context.database, &context.budget, of_text(text)).map(Some)
    }

    /// A watch of a routine; none of a block, which has the watch of its statement.
    pub(crate) fn of_routine(
        routine: &Arc<CompiledRoutine>,
        declaring: &Arc<CompiledRoutine>,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<Watch>> {
        let parent = match routine.kind {
            RoutineKind::Block | RoutineKind::Statement => return Ok(None),
            RoutineKind::LocalProcedure | RoutineKind::LocalFunction => declared_in(declaring, context),
            RoutineKind::Procedure | RoutineKind::Function | RoutineKind::Trigger => None,
        };
        let profiled = of_routine(routine, parent);
        let watch = Watch::begin(context.session, context.database, &context.budget, profiled)?;
        watch.plans().are(Plans::Routine(Arc::clone(routine)));
        Ok(Some(watch))
    }

    fn begin(
        session: &Session,
        database: &Database,
        budget: &Arc<StatementBudget>,
        statement: Profiled,
    ) -> Result<Watch> {
        let zone = session.settings.lock().time_zone;
        let measurements = Arc::new(Measurements::new(budget));
        let sources = Arc::new(Sources { measurements, plans: OnceLock::new() });
        let subject = Arc::new(Subject {
            run: database.next_statement_id(),
            statement: Arc::new(statement),
            caller: session.profiler.running(),
            started: clock::now(zone),
            sources: Arc::clone(&sources) as Arc<dyn RecordSources>,
        });
        session.profiler.begin(&subject, &session.budget)?;
        let profiler = Arc::clone(&session.profiler);
        Ok(Watch { subject, sources, profiler, zone, elapsed: Duration::ZERO })
    }

    /// What is to be told its plans.
    pub(crate) fn plans(&self) -> WatchedPlans {
        WatchedPlans(Arc::clone(&self.sources))
    }

    /// Runs within it.
    pub fn within<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut ExecutionContext<'_>) -> T,
    ) -> T {
        let outer = context.measurements.replace(Arc::clone(&self.sources.measurements));
        self.profiler.enter(&self.subject);
        let begun = Instant::now();
        let result = run(context);
        self.elapsed += begun.elapsed();
        self.profiler.leave();
        context.measurements = outer;
        result
    }
}

/// Runs within a watch, if there is one.
pub fn within<T>(
    watch: &mut Option<Watch>,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> T,
) -> T {
    match watch {
        Some(watch) => watch.within(context, run),
        None => run(context),
    }
}

/// What a watch knows of plans.
pub(crate) struct WatchedPlans(Arc<Sources>);

impl WatchedPlans {
    pub(crate) fn are_of(&self, body: WatchedBody<'_>) {
        self.are(match body {
            WatchedBody::Plan(action) => Plans::Statement(action.clone()),
            WatchedBody::Routine(compiled) => Plans::Routine(Arc::clone(&compiled.routine)),
        });
    }

    fn are(&self, plans: Plans) {
        // They are told once, before anything runs.
        let told = self.0.plans.set(plans);
        debug_assert!(told.is_ok(), "a watch is of one run");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.profiler.end(&self.subject, clock::now(self.zone), self.elapsed);
    }
}

fn of_text(text: &Arc<str>) -> Profiled {
    Profiled {
        key: ProfileKey::Text(Arc::clone(text)),
        kind: "BLOCK",
        package: None,
        routine: None,
        text: Some(Arc::clone(text)),
        parent: None,
        keeps: None,
    }
}

fn of_routine(routine: &Arc<CompiledRoutine>, parent: Option<Arc<Profiled>>) -> Profiled {
    let kind = match routine.kind {
        RoutineKind::Procedure | RoutineKind::LocalProcedure => "PROCEDURE",
        RoutineKind::Function | RoutineKind::LocalFunction => "FUNCTION",
        RoutineKind::Trigger => "TRIGGER",
        RoutineKind::Block | RoutineKind::Statement => "BLOCK",
    };
    let package = routine.package.as_deref().filter(|_| parent.is_none());
    let name = match package {
        Some(package) => routine.name.strip_prefix(package).and_then(|name| name.strip_prefix('.')),
        None => None,
    };
    Profiled {
        key: ProfileKey::Routine(Arc::as_ptr(routine).addr()),
        kind,
        package: package.map(str::to_owned),
        routine: Some(name.unwrap_or(&routine.name).to_owned()),
        text: None,
        parent,
        keeps: Some(Arc::clone(routine) as Arc<dyn std::any::Any + Send + Sync>),
    }
}

/// What declares a local routine: a stored one, or the block that runs.
fn declared_in(declaring: &Arc<CompiledRoutine>, context: &ExecutionContext<'_>) -> Option<Arc<Profiled>> {
    match declaring.kind {
        RoutineKind::Block | RoutineKind::Statement => {
            context.session.profiler.running().map(|running| Arc::clone(&running.statement))
        }
        _ => Some(Arc::new(of_routine(declaring, None))),
    }
}

/// Notes that an instruction was executed, if it is one that stands in the text.
pub(crate) fn note_line(
    routine: &CompiledRoutine,
    instruction: usize,
    elapsed: Duration,
    context: &ExecutionContext<'_>,
) {
    let profiler = &context.session.profiler;
    let Position { line, column, .. } = routine.position(instruction);
    let is_counted = match routine.instructions.get(instruction) {
        // A loop over rows stands once in the text, and is gone on with for each row.
        Some(Instruction::NextRow { .. }) => false,
        None
        | Some(
            Instruction::Jump(_)
            | Instruction::CloseLoop { .. }
            | Instruction::CheckCursor { .. }
            | Instruction::Suspend
            | Instruction::EnterBlock
            | Instruction::LeaveBlock
            | Instruction::LeaveHandlers
            | Instruction::EndHandler
            | Instruction::EndAutonomous
            | Instruction::Profiler(_)
            | Instruction::End,
        ) => return,
        Some(_) => true,
    };
    // EXECUTE PROCEDURE of a client is all of its text.
    let has_lines = line > 0 && routine.kind != RoutineKind::Statement;
    let Some(subject) = profiler.running().filter(|_| has_lines) else { return };
    match is_counted {
        true => profiler.line(&subject, (line, column), elapsed),
        false => profiler.line_again(&subject, (line, column), elapsed),
    }
}

/// The plans of a run, and what they have done.
struct Sources {
    measurements: Arc<Measurements>,
    plans: OnceLock<Plans>,
}

enum Plans {
    Statement(Action),
    Routine(Arc<CompiledRoutine>),
}

/// A plan with what it belongs to.
struct CursorLines {
    name: Option<String>,
    position: Option<(u32, u32)>,
    lines: Vec<ExplainLine>,
}

impl Plans {
    fn cursors(&self) -> Vec<CursorLines> {
        let routine = match self {
            Plans::Statement(action) => {
                return vec![CursorLines { name: None, position: None, lines: lines_of(action) }];
            }
            Plans::Routine(routine) => routine,
        };
        let mut cursors = Vec::new();
        routine.for_each_plan(&mut |Position { line, column, .. }, name, plan| {
            let lines = match plan {
                Plan::Statement(action) => lines_of(&action),
                Plan::Value(value) => explain_value(value),
            };
            let position = (line > 0).then_some((line, column));
            cursors.push(CursorLines { name: name.map(str::to_owned), position, lines });
        });
        cursors.retain(|cursor| !cursor.lines.is_empty());
        cursors
    }
}

/// The lines of a statement; none if it only stores values that it is given.
fn lines_of(action: &Action) -> Vec<ExplainLine> {
    let mut lines = explain(action);
    if let (Action::Modify(_), Some(root)) = (action, lines.first_mut()) {
        root.operator = "Select Expression".to_owned();
        if lines.len() == 1 {
            lines.clear();
        }
    }
    lines
}

impl CursorLines {
    fn path(&self, line: &ExplainLine) -> String {
        if line.depth > 0 {
            return format!("-> {}", line.operator);
        }
        let title = match &self.name {
            Some(name) => format!("Cursor \"{name}\""),
            None => line.operator.clone(),
        };
        match self.position {
            Some((line, column)) => format!("{title} (line {line}, column {column})"),
            None => title,
        }
    }

    /// Tells of its record sources, if one of them has done something.
    fn tell(&self, cursor: u32, measurements: &Measurements, told: &mut Vec<SourceFigures>) {
        // A node may stand for two lines: what it has done is asked for once.
        let mut taken: Vec<(usize, Figures)> = Vec::new();
        for line in &self.lines {
            if taken.iter().all(|(part, _)| *part != line.part) {
                taken.push((line.part, measurements.take(line.part).unwrap_or_default()));
            }
        }
        if taken.iter().all(|(_, figures)| *figures == Figures::default()) {
            return;
        }
        let mut above: Vec<u32> = Vec::new();
        for (line, number) in self.lines.iter().zip(1u32..) {
            above.truncate(line.depth);
            let figures = taken.iter().find(|(part, _)| *part == line.part).map(|(_, figures)| *figures);
            let figures = figures.unwrap_or_default();
            told.push(SourceFigures {
                cursor,
                source: number,
                parent: above.last().copied(),
                level: u32::try_from(line.depth).unwrap_or(u32::MAX),
                path: self.path(line),
                cursor_name: self.name.clone(),
                position: self.position,
                opened: figures.opened,
                fetched: figures.fetched,
            });
            above.push(number);
        }
    }
}

impl RecordSources for Sources {
    fn take(&self) -> Vec<SourceFigures> {
        let mut told = Vec::new();
        let cursors = self.plans.get().map(Plans::cursors).unwrap_or_default();
        for (cursor, number) in cursors.iter().zip(1u32..) {
            cursor.tell(number, &self.measurements, &mut told);
        }
        told
    }
}
