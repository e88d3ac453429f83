//! The state of a running plan that its expressions share.
//!
//! Plans and expressions are immutable and shared; what changes while they run stands here: the values that inner
//! parts of a plan take from the rows of outer ones, the operators of subqueries, compiled patterns. A frame belongs
//! to one cursor (or one running statement) and is swapped into the context while that runs.

use std::sync::Arc;

use farbird_types::Value;

use crate::execute::subquery::SubqueryState;
use crate::expression::FrameSize;
use crate::expression::pattern::CompiledPattern;

/// The state of one running plan.
#[derive(Default)]
pub struct Frame {
    /// Values taken from outer rows: written by joins and subqueries before their inner side runs.
    pub registers: Vec<Option<Value>>,
    /// Subqueries by number; taken out while they run.
    pub subqueries: Vec<Option<Box<SubqueryState>>>,
    /// The pattern last compiled at each place, with the text it came from.
    pub patterns: Vec<Option<(Value, Arc<CompiledPattern>)>>,
    /// The row of each recursive common table that its recursive member looks at.
    pub working_rows: Vec<Vec<Value>>,
}

impl Frame {
    /// A frame for a plan.
    pub fn new(size: FrameSize) -> Frame {
        let mut frame = Frame::default();
        frame.registers.resize(size.registers, None);
        frame.subqueries.resize_with(size.subqueries, || None);
        frame.patterns.resize(size.patterns, None);
        frame.working_rows.resize(size.working_rows, Vec::new());
        frame
    }

    /// A register's value; `None` for one that nobody has written: the plan is wrong.
    pub fn register(&self, number: usize) -> Option<&Value> {
        self.registers.get(number)?.as_ref()
    }

    /// Writes a register.
    pub fn set_register(&mut self, number: usize, value: Value) {
        if let Some(register) = self.registers.get_mut(number) {
            *register = Some(value);
        }
    }

    /// A frame of the same plan for a deeper level of recursion: the same outer values, fresh subqueries.
    pub fn descend(&self) -> Frame {
        let mut frame = Frame { registers: self.registers.clone(), ..Frame::default() };
        frame.subqueries.resize_with(self.subqueries.len(), || None);
        frame.patterns.clone_from(&self.patterns);
        frame.working_rows.clone_from(&self.working_rows);
        frame
    }
}
