//! The aggregate functions: how rows of a group become one value.
//!
//! DISTINCT, FILTER and ORDER are the executor's: an accumulator gets just the rows that count. It skips NULLs itself.
//!
//! Source: Firebird 5 language reference, chapter Aggregate Functions; result types as Firebird 4 describes them.

mod count;
mod extreme;
mod list;
mod statistics;
mod sum;
mod types;

use farbird_types::ColumnType;

use crate::{Accumulator, AggregateFunction};

/// The aggregate functions.
pub const FUNCTIONS: &[AggregateFunction] = &[
    AggregateFunction {
        name: "COUNT",
        arity: (0, 1),
        result: count::result,
        start: count::start,
        start_grouped: Some(count::start_grouped),
    },
    AggregateFunction {
        name: "SUM",
        arity: (1, 1),
        result: sum::sum_result,
        start: sum::start_sum,
        start_grouped: Some(sum::start_sums),
    },
    AggregateFunction {
        name: "AVG",
        arity: (1, 1),
        result: sum::average_result,
        start: sum::start_average,
        start_grouped: Some(sum::start_averages),
    },
    AggregateFunction {
        name: "MIN",
        arity: (1, 1),
        result: extreme::result,
        start: extreme::start_min,
        start_grouped: Some(extreme::start_mins),
    },
    AggregateFunction {
        name: "MAX",
        arity: (1, 1),
        result: extreme::result,
        start: extreme::start_max,
        start_grouped: Some(extreme::start_maxes),
    },
    AggregateFunction {
        name: "LIST",
        arity: (1, 2),
        result: list::result,
        start: list::start,
        start_grouped: None,
    },
    AggregateFunction {
        name: "REGR_COUNT",
        arity: (2, 2),
        result: count::result,
        start: count::start,
        start_grouped: None,
    },
    statistic("VAR_POP", 1, statistics::start_var_pop),
    statistic("VAR_SAMP", 1, statistics::start_var_samp),
    statistic("STDDEV_POP", 1, statistics::start_stddev_pop),
    statistic("STDDEV_SAMP", 1, statistics::start_stddev_samp),
    statistic("COVAR_POP", 2, statistics::start_covar_pop),
    statistic("COVAR_SAMP", 2, statistics::start_covar_samp),
    statistic("CORR", 2, statistics::start_corr),
    statistic("REGR_AVGX", 2, statistics::start_regr_avgx),
    statistic("REGR_AVGY", 2, statistics::start_regr_avgy),
    statistic("REGR_INTERCEPT", 2, statistics::start_regr_intercept),
    statistic("REGR_R2", 2, statistics::start_regr_r2),
    statistic("REGR_SLOPE", 2, statistics::start_regr_slope),
    statistic("REGR_SXX", 2, statistics::start_regr_sxx),
    statistic("REGR_SXY", 2, statistics::start_regr_sxy),
    statistic("REGR_SYY", 2, statistics::start_regr_syy),
];

type Start = fn(&[ColumnType], &ColumnType) -> Box<dyn Accumulator>;

const fn statistic(name: &'static str, arguments: usize, start: Start) -> AggregateFunction {
    AggregateFunction {
        name,
        arity: (arguments, arguments),
        result: statistics::result,
        start,
        start_grouped: None,
    }
}
