//! Recursive common tables: each row is followed by what the recursive members make of it, so rows come depth first.
//!
//! # Promises
//! - The recursive members run for one row at a time, in the order of the rows. Where that cannot be told ([`Recursive::reads_ahead`]) they
//!   are asked for several rows before the first of those is followed.
//! - What levels keep is charged: their rows at hand with all values. Few levels are kept from one opening to the next.

use std::sync::Arc;

use farbird_budget::{Reservation, row_bytes};
use farbird_expression::{ExecutionContext, Frame};
use farbird_plan::Recursive;
use farbird_types::{Error, Result, Value, isc};

use crate::batch::Batch;
use crate::operator::{Build, Operator};

/// Deepest recursion of a common table: Firebird's own limit on clones of a request.
pub(crate) const RECURSION_DEPTH_MAX: usize = 1024;

/// What a level of recursion takes, more or less, beside the rows at hand: its operators, and a row without long texts.
const LEVEL_BYTES: usize = 4 << 10;

/// So many rows are read ahead at most, and what their values may take: fewer are read where rows are wide, since each level has its own.
const ROWS_AHEAD_MAX: usize = 32;
const BYTES_AHEAD: usize = 4 << 10;

/// So many levels are kept for the next opening: most recursions are not deep.
const LEVELS_KEPT: usize = 8;

/// A recursive common table.
pub(crate) struct RecursiveOperator {
    recursive: Arc<Recursive>,
    build: Build,
    anchor: Box<dyn Operator>,
    anchor_rows: Rows,
    /// The row handed out last, whose successors come next.
    latest: Option<Vec<Value>>,
    /// The levels that have been entered, outermost first. Those past `depth` are over, and are used again.
    levels: Vec<Level>,
    depth: usize,
}

/// One level of recursion: the recursive members, looking at one row.
struct Level {
    operator: Box<dyn Operator>,
    rows: Rows,
    /// Its own: deeper levels use the same registers.
    frame: Frame,
    /// What the row takes that it looks at.
    row_bytes: usize,
    /// What it is charged to, and how much that is.
    memory: Reservation,
    charged: usize,
}

/// Rows at hand.
struct Rows {
    batch: Batch,
    next: usize,
}

impl Rows {
    fn new(width: usize, recursive: &Recursive) -> Rows {
        let ahead = match recursive.reads_ahead {
            true => (BYTES_AHEAD / values_bytes(width).max(1)).clamp(1, ROWS_AHEAD_MAX),
            false => 1,
        };
        Rows { batch: Batch::new(width, ahead), next: 0 }
    }

    /// What the values of as many rows take as may be at hand, without their texts.
    fn values_bytes(&self) -> usize {
        self.batch.limit() * values_bytes(self.batch.width())
    }

    fn clear(&mut self) {
        self.batch.truncate(0);
        self.next = 0;
    }

    /// The next row; if there is none at hand, more are read.
    fn next(
        &mut self,
        operator: &mut dyn Operator,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Vec<Value>>> {
        if self.next >= self.batch.len() {
            self.next = 0;
            if !operator.next(context, &mut self.batch)? {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(self.batch.take_row(self.next - 1)))
    }
}

fn values_bytes(width: usize) -> usize {
    width * size_of::<Value>()
}

impl RecursiveOperator {
    pub(crate) fn new(recursive: &Arc<Recursive>, build: Build) -> RecursiveOperator {
        RecursiveOperator {
            build,
            anchor: build(&recursive.anchor),
            anchor_rows: Rows::new(recursive.anchor.width(), recursive),
            latest: None,
            levels: Vec::new(),
            depth: 0,
            recursive: recursive.clone(),
        }
    }

    /// Begins the level that follows a row.
    fn descend(&mut self, row: Vec<Value>, context: &mut ExecutionContext<'_>) -> Result<()> {
        if self.depth >= RECURSION_DEPTH_MAX {
            return Err(Error::new(isc::REQ_MAX_CLONES_EXCEEDED));
        }
        if self.depth == self.levels.len() {
            self.levels.push(Level::new(&self.recursive, self.build, context)?);
        }
        if let Some(level) = self.levels.get_mut(self.depth) {
            level.begin(row, self.recursive.place, context)?;
            self.depth += 1;
        }
        Ok(())
    }

    fn next_row(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        if let Some(row) = self.latest.take() {
            self.descend(row, context)?;
        }
        while let Some(level) = self.depth.checked_sub(1).and_then(|last| self.levels.get_mut(last)) {
            if let Some(row) = level.next(context)? {
                return Ok(Some(row));
            }
            self.depth -= 1;
        }
        self.anchor_rows.next(self.anchor.as_mut(), context)
    }
}

impl Level {
    fn new(recursive: &Recursive, build: Build, context: &ExecutionContext<'_>) -> Result<Level> {
        let rows = Rows::new(recursive.step.width(), recursive);
        let charged = LEVEL_BYTES + rows.values_bytes();
        let mut memory = context.budget.reserve();
        memory.grow(charged)?;
        Ok(Level {
            operator: build(&recursive.step),
            rows,
            frame: context.frame.descend(),
            row_bytes: 0,
            memory,
            charged,
        })
    }

    /// Begins to look at a row.
    fn begin(&mut self, row: Vec<Value>, place: usize, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.rows.clear();
        self.row_bytes = row_bytes(&row);
        self.charge()?;
        self.frame.descend_again(&context.frame);
        if let Some(place) = self.frame.working_rows.get_mut(place) {
            *place = row;
        }
        self.inside(context, |operator, _, context| operator.open(context))
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        if self.rows.next < self.rows.batch.len() {
            return self.rows.next(self.operator.as_mut(), context);
        }
        let row = self.inside(context, |operator, rows, context| rows.next(operator, context))?;
        self.charge()?;
        Ok(row)
    }

    /// Charges it with what it has.
    fn charge(&mut self) -> Result<()> {
        let beside = LEVEL_BYTES.max(self.row_bytes + self.rows.batch.text_bytes());
        let wanted = beside + self.rows.values_bytes();
        if wanted != self.charged {
            self.memory.resize(wanted)?;
            self.charged = wanted;
        }
        Ok(())
    }

    /// Runs with the level's own frame.
    fn inside<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut dyn Operator, &mut Rows, &mut ExecutionContext<'_>) -> Result<T>,
    ) -> Result<T> {
        std::mem::swap(&mut self.frame, &mut context.frame);
        let result = run(self.operator.as_mut(), &mut self.rows, context);
        std::mem::swap(&mut self.frame, &mut context.frame);
        result
    }
}

impl Operator for RecursiveOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.latest = None;
        self.depth = 0;
        self.levels.truncate(LEVELS_KEPT);
        self.anchor_rows.clear();
        self.anchor.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.recursive.anchor.width());
        while !batch.is_full() {
            context.check_interrupt()?;
            let Some(row) = self.next_row(context)? else { break };
            self.latest = Some(row.clone());
            batch.push(row);
        }
        Ok(!batch.is_empty())
    }
}
