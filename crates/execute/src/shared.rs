//! What a statement asks for in several places and computes once: a common table, or a view, that groups, sorts or drops rows.
//!
//! Whoever asks first computes all rows and keeps them, in memory while the statement's budget allows it, the others in a temporary
//! file; the others read what is kept. The planner promises that the rows are the same in each place.

use std::sync::{Arc, OnceLock};

use farbird_budget::Reservation;
use farbird_expression::ExecutionContext;
use farbird_plan::Shared;
use farbird_types::{Error, Result, Value};
use farbird_vector::Vectors;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::COLUMN_ROWS_MAX;
use crate::in_order::for_each_by_columns;
use crate::join_columns::bytes_of;
use crate::operator::{Build, Operator};
use crate::row_stream::{RowReader, RowStream, RowWriter, StreamFile};

/// Rows that are computed once for several places.
pub(crate) struct SharedOperator {
    shared: Arc<Shared>,
    build: Build,
    /// The rows, once they are there.
    rows: Option<Arc<KeptRows>>,
    /// Where the next row is: the part and the row in it.
    part: usize,
    row: usize,
    /// Behind the parts.
    reader: Option<RowReader>,
    /// What comes behind the rows before it.
    error: Option<Error>,
}

/// Rows that are kept.
struct KeptRows {
    parts: Vec<Vectors>,
    /// Those for which there was no memory.
    spilled: Option<Arc<RowStream>>,
    /// What those in memory are charged to: dropped with them.
    _memory: Reservation,
}

/// Rows that are being kept.
struct Keeping {
    parts: Vec<Vectors>,
    memory: Reservation,
    writer: Option<RowWriter>,
}

impl Keeping {
    fn push(&mut self, rows: Vectors, context: &ExecutionContext<'_>) -> Result<()> {
        if self.writer.is_none() && self.memory.try_grow(bytes_of(&rows)) {
            self.parts.push(rows);
            return Ok(());
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(StreamFile::new(&context.budget)?.writer()),
        };
        let mut values = Vec::with_capacity(rows.width());
        for row in 0..rows.len() {
            context.check_interrupt()?;
            values.clear();
            rows.read_row(row, &mut values);
            writer.push(&[], &values)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<KeptRows> {
        let spilled = self.writer.map(RowWriter::finish).transpose()?.map(Arc::new);
        Ok(KeptRows { parts: self.parts, spilled, _memory: self.memory })
    }
}

impl SharedOperator {
    pub(crate) fn new(shared: &Arc<Shared>, build: Build) -> SharedOperator {
        SharedOperator {
            shared: shared.clone(),
            build,
            rows: None,
            part: 0,
            row: 0,
            reader: None,
            error: None,
        }
    }

    /// The rows: those that are kept, or computed now.
    fn rows(&mut self, context: &mut ExecutionContext<'_>) -> Result<Arc<KeptRows>> {
        if let Some(rows) = &self.rows {
            return Ok(rows.clone());
        }
        let known = context.frame.shared_rows.get(self.shared.place).and_then(OnceLock::get).cloned();
        let rows = match known.and_then(|known| known.downcast::<KeptRows>().ok()) {
            Some(rows) => rows,
            None => self.compute(context)?,
        };
        self.reader = rows.spilled.as_ref().map(RowStream::read);
        self.rows = Some(rows.clone());
        Ok(rows)
    }

    /// Computes all rows. Others see them if none fails; else those before it are handed out, and nothing is kept.
    fn compute(&mut self, context: &mut ExecutionContext<'_>) -> Result<Arc<KeptRows>> {
        let wanted = vec![true; self.shared.input.width()];
        let mut input = (self.build)(&self.shared.input);
        input.want(&wanted);
        input.open(context)?;
        let mut keeping = Keeping { parts: Vec::new(), memory: context.budget.reserve(), writer: None };
        let result =
            for_each_by_columns(input.as_mut(), COLUMN_ROWS_MAX, &wanted, context, |rows, context| {
                keeping.push(rows, context)
            });
        let rows = Arc::new(keeping.finish()?);
        match result {
            Ok(()) => {
                if let Some(place) = context.frame.shared_rows.get(self.shared.place) {
                    // Another thread of the statement may have been first: its rows are the same.
                    place.get_or_init(|| rows.clone());
                }
            }
            Err(error) => self.error = Some(error),
        }
        Ok(rows)
    }

    /// The next row that is in the file.
    fn next_spilled(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        Ok(reader.next()?.map(|(_, row)| row))
    }
}

impl Operator for SharedOperator {
    fn open(&mut self, _context: &mut ExecutionContext<'_>) -> Result<()> {
        self.rows = None;
        (self.part, self.row) = (0, 0);
        self.reader = None;
        self.error = None;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.shared.input.width());
        let rows = self.rows(context)?;
        let mut values = Vec::new();
        while !batch.is_full() {
            context.check_interrupt()?;
            if let Some(part) = rows.parts.get(self.part) {
                if self.row < part.len() {
                    part.read_row(self.row, &mut values);
                    batch.push(values.drain(..));
                    self.row += 1;
                } else {
                    (self.part, self.row) = (self.part + 1, 0);
                }
                continue;
            }
            let Some(row) = self.next_spilled()? else { break };
            batch.push(row);
        }
        match self.error.take_if(|_| batch.is_empty()) {
            Some(error) => Err(error),
            None => Ok(!batch.is_empty()),
        }
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        let rows = self.rows(context)?;
        while let Some(part) = rows.parts.get(self.part) {
            if self.row < part.len() {
                let end = part.len().min(self.row.saturating_add(rows_max.max(1)));
                *vectors = match (self.row, end == part.len()) {
                    (0, true) => part.clone(),
                    (start, _) => part.gather(&(start as u32..end as u32).collect::<Vec<_>>()),
                };
                self.row = end;
                return Ok(true);
            }
            (self.part, self.row) = (self.part + 1, 0);
        }
        let width = self.shared.input.width();
        let mut batch = Batch::new(width, rows_max.clamp(1, BATCH_ROWS_MAX));
        batch.reset(width);
        while !batch.is_full() {
            let Some(row) = self.next_spilled()? else { break };
            batch.push(row);
        }
        *vectors = Vectors::of_rows(batch.len(), batch.values(), &vec![true; width]);
        match self.error.take_if(|_| vectors.is_empty()) {
            Some(error) => Err(error),
            None => Ok(!vectors.is_empty()),
        }
    }
}
