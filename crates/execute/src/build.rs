//! How plans become operators.
//!
//! An operator that has inputs is handed such a function, since it stands below it: `build` knows all operators. What is to be
//! measured is made by another one, which puts a measuring operator around each: what is not measured pays nothing for that.

use farbird_expression::ExecutionContext;
use farbird_plan::Node;

use crate::aggregate::AggregateOperator;
use crate::column_scan::ColumnScanOperator;
use crate::column_source::ColumnSource;
use crate::external_scan::ExternalScanOperator;
use crate::first_sorted::FirstSortedOperator;
use crate::hash_join::HashJoinOperator;
use crate::join::NestedLoopOperator;
use crate::measured::MeasuredOperator;
use crate::operator::{Build, Operator, RowsBeforeErrors};
use crate::range_join::RangeJoinOperator;
use crate::recursion::RecursiveOperator;
use crate::row_source::{ProcedureScanOperator, SystemScanOperator, WorkingRowOperator};
use crate::scan::{CountOperator, LockOperator, TableScanOperator};
use crate::set::{FilterOperator, LimitOperator, ProjectOperator, SingleOperator, UnionOperator};
use crate::shared::SharedOperator;
use crate::sort::{DistinctOperator, SortOperator};
use crate::window::WindowOperator;

/// Makes the operators of a plan. Nothing runs before [`Operator::open`].
pub(crate) fn build(node: &Node) -> Box<dyn Operator> {
    operator(node, build)
}

/// Makes the operators of a plan that is to run in a context, which may want them measured.
pub(crate) fn build_for(context: &ExecutionContext<'_>, node: &Node) -> Box<dyn Operator> {
    match context.measurements {
        None => build(node),
        Some(_) => build_measured(node),
    }
}

/// As [`build`], with everything that is done measured.
fn build_measured(node: &Node) -> Box<dyn Operator> {
    Box::new(MeasuredOperator::new(node, operator(node, build_measured)))
}

fn operator(node: &Node, build: Build) -> Box<dyn Operator> {
    if let Some(source) = ColumnSource::of(node) {
        return Box::new(ColumnScanOperator::new(source));
    }
    match node {
        Node::Single => Box::new(SingleOperator::default()),
        Node::Table(scan) => Box::new(TableScanOperator::new(scan)),
        Node::External(scan) => RowsBeforeErrors::of(ExternalScanOperator::new(scan)),
        Node::System(scan) => Box::new(SystemScanOperator::new(scan)),
        Node::Procedure(scan) => Box::new(ProcedureScanOperator::new(scan)),
        Node::Filter(filter) => RowsBeforeErrors::of(FilterOperator::new(filter, build)),
        Node::Project(project) => RowsBeforeErrors::of(ProjectOperator::new(project, build)),
        Node::NestedLoop(join) => RowsBeforeErrors::of(NestedLoopOperator::new(join, build)),
        Node::HashJoin(join) => RowsBeforeErrors::of(HashJoinOperator::new(join, build)),
        Node::RangeJoin(join) => RowsBeforeErrors::of(RangeJoinOperator::new(join, build)),
        Node::Sort(sort) => match sort.first {
            Some(first) => Box::new(FirstSortedOperator::new(sort, first, build)),
            None => Box::new(SortOperator::new(sort, build)),
        },
        Node::Shared(shared) if shared.is_used_again() => Box::new(SharedOperator::new(shared, build)),
        Node::Shared(shared) => build(&shared.input),
        Node::Aggregate(aggregate) => RowsBeforeErrors::of(AggregateOperator::new(aggregate, build)),
        Node::Window(window) => RowsBeforeErrors::of(WindowOperator::new(window, build)),
        Node::Distinct(distinct) => Box::new(DistinctOperator::new(distinct, build)),
        Node::Union(union) => Box::new(UnionOperator::new(union, build)),
        Node::Limit(limit) => Box::new(LimitOperator::new(limit, build)),
        Node::Recursive(recursive) => RowsBeforeErrors::of(RecursiveOperator::new(recursive, build)),
        Node::WorkingRow(row) => Box::new(WorkingRowOperator::new(row)),
        Node::Count(count) => Box::new(CountOperator::new(count)),
        Node::Lock(lock) => Box::new(LockOperator::new(lock, build)),
    }
}
