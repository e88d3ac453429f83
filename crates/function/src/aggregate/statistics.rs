//! Variance, deviation, covariance, correlation and linear regression, from the sums of x, y, their squares and products.
//!
//! Two-argument functions take y first, then x, as SQL defines REGR_*; rows with a NULL among them do not count.

use farbird_types::decimal::Decimal;
use farbird_types::{ColumnType, Result, SqlType, Value};

use crate::accumulator::of_same_call;
use crate::context::Context;
use crate::numeric::decimal;
use crate::result_type::is_decimal_or_int128;
use crate::{Accumulator, argument, continuous};

/// DECFLOAT(34) if an argument is DECFLOAT or INT128, otherwise DOUBLE PRECISION.
pub(super) fn result(_: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    let exact = arguments.iter().any(|argument| is_decimal_or_int128(&argument.sql_type));
    // Described as never NULL, which they are over too few rows: so does Firebird.
    Ok(ColumnType { sql_type: if exact { SqlType::DecFloat34 } else { SqlType::Double }, nullable: false })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    VarPop,
    VarSamp,
    StddevPop,
    StddevSamp,
    CovarPop,
    CovarSamp,
    Corr,
    RegrAvgx,
    RegrAvgy,
    RegrIntercept,
    RegrR2,
    RegrSlope,
    RegrSxx,
    RegrSxy,
    RegrSyy,
}

macro_rules! starts {
    ($($start:ident => $statistic:ident,)*) => {
        $(pub(super) fn $start(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
            start(Statistic::$statistic, result)
        })*
    };
}

starts! {
    start_var_pop => VarPop,
    start_var_samp => VarSamp,
    start_stddev_pop => StddevPop,
    start_stddev_samp => StddevSamp,
    start_covar_pop => CovarPop,
    start_covar_samp => CovarSamp,
    start_corr => Corr,
    start_regr_avgx => RegrAvgx,
    start_regr_avgy => RegrAvgy,
    start_regr_intercept => RegrIntercept,
    start_regr_r2 => RegrR2,
    start_regr_slope => RegrSlope,
    start_regr_sxx => RegrSxx,
    start_regr_sxy => RegrSxy,
    start_regr_syy => RegrSyy,
}

fn start(statistic: Statistic, result: &ColumnType) -> Box<dyn Accumulator> {
    if result.sql_type == SqlType::DecFloat34 {
        return Box::new(Collector { statistic, count: 0, sums: Sums::<Decimal>::zero() });
    }
    Box::new(Collector { statistic, count: 0, sums: Sums::<f64>::zero() })
}

/// The arithmetic that both kinds of numbers offer.
trait Real: Copy + Send + 'static {
    fn from_count(count: i64) -> Self;
    fn plus(self, other: Self) -> Result<Self>;
    fn minus(self, other: Self) -> Result<Self>;
    fn times(self, other: Self) -> Result<Self>;
    /// `None` for a divisor of zero.
    fn over(self, other: Self) -> Result<Option<Self>>;
    fn root(self) -> Result<Self>;
    fn is_zero(self) -> bool;
    fn read(context: &Context<'_>, value: &Value) -> Result<Self>;
    fn value(self) -> Result<Value>;
}

impl Real for f64 {
    fn from_count(count: i64) -> f64 {
        count as f64
    }
    fn plus(self, other: f64) -> Result<f64> {
        Ok(self + other)
    }
    fn minus(self, other: f64) -> Result<f64> {
        Ok(self - other)
    }
    fn times(self, other: f64) -> Result<f64> {
        Ok(self * other)
    }
    fn over(self, other: f64) -> Result<Option<f64>> {
        Ok((other != 0.0).then(|| self / other))
    }
    fn root(self) -> Result<f64> {
        // Rounding may leave a variance just below zero.
        Ok(self.max(0.0).sqrt())
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn read(context: &Context<'_>, value: &Value) -> Result<f64> {
        argument::double(context, value)
    }
    fn value(self) -> Result<Value> {
        argument::double_result(self)
    }
}

impl Real for Decimal {
    fn from_count(count: i64) -> Decimal {
        Decimal::from_unscaled(i128::from(count), 0)
    }
    fn plus(self, other: Decimal) -> Result<Decimal> {
        self.add(other)
    }
    fn minus(self, other: Decimal) -> Result<Decimal> {
        self.subtract(other)
    }
    fn times(self, other: Decimal) -> Result<Decimal> {
        self.multiply(other)
    }
    fn over(self, other: Decimal) -> Result<Option<Decimal>> {
        if other.is_zero() { Ok(None) } else { self.divide(other).map(Some) }
    }
    fn root(self) -> Result<Decimal> {
        if self.is_negative() {
            Ok(Decimal::ZERO)
        } else if self.is_zero() {
            Ok(self)
        } else {
            continuous::square_root(self)
        }
    }
    fn is_zero(self) -> bool {
        Decimal::is_zero(self)
    }
    fn read(context: &Context<'_>, value: &Value) -> Result<Decimal> {
        decimal(context, value)
    }
    fn value(self) -> Result<Value> {
        Ok(Value::DecFloat(self))
    }
}

/// What is summed up. With one argument, that is x and y is not used.
#[derive(Clone, Copy)]
struct Sums<R> {
    x: R,
    y: R,
    xx: R,
    yy: R,
    xy: R,
}

impl<R: Real> Sums<R> {
    fn zero() -> Sums<R> {
        let zero = R::from_count(0);
        Sums { x: zero, y: zero, xx: zero, yy: zero, xy: zero }
    }
}

#[derive(Clone)]
struct Collector<R> {
    statistic: Statistic,
    count: i64,
    sums: Sums<R>,
}

impl<R: Real> Accumulator for Collector<R> {
    fn add(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        if arguments.iter().any(Value::is_null) {
            return Ok(());
        }
        let sums = &mut self.sums;
        let (y, x) = match arguments {
            [x] => (None, R::read(context, x)?),
            [y, x, ..] => (Some(R::read(context, y)?), R::read(context, x)?),
            [] => return Ok(()),
        };
        sums.x = sums.x.plus(x)?;
        sums.xx = sums.xx.plus(x.times(x)?)?;
        if let Some(y) = y {
            sums.y = sums.y.plus(y)?;
            sums.yy = sums.yy.plus(y.times(y)?)?;
            sums.xy = sums.xy.plus(x.times(y)?)?;
        }
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        Some(Box::new(self.clone()))
    }

    fn merge(&mut self, other: &dyn Accumulator, _: &mut Context<'_>) -> Result<()> {
        let other = of_same_call::<Collector<R>>(other)?;
        let (sums, more) = (&mut self.sums, other.sums);
        sums.x = sums.x.plus(more.x)?;
        sums.y = sums.y.plus(more.y)?;
        sums.xx = sums.xx.plus(more.xx)?;
        sums.yy = sums.yy.plus(more.yy)?;
        sums.xy = sums.xy.plus(more.xy)?;
        self.count = self.count.saturating_add(other.count);
        Ok(())
    }

    fn result(&self, _: &mut Context<'_>) -> Result<Value> {
        match self.compute()? {
            Some(number) => number.value(),
            None => Ok(Value::Null),
        }
    }
}

impl<R: Real> Collector<R> {
    /// The statistic; `None` (NULL) where it is not defined.
    fn compute(&self) -> Result<Option<R>> {
        let Sums { x, y, xx, yy, xy } = self.sums;
        let count = R::from_count(self.count);
        // Sums of squares and products of the distances from the averages.
        let centred = |product: R, left: R, right: R| -> Result<Option<R>> {
            match left.times(right)?.over(count)? {
                Some(shift) => product.minus(shift).map(Some),
                None => Ok(None),
            }
        };
        let (Some(sxx), Some(syy), Some(sxy)) = (centred(xx, x, x)?, centred(yy, y, y)?, centred(xy, x, y)?)
        else {
            return Ok(None);
        };
        let sample = R::from_count(self.count - 1);
        let root = |number: Option<R>| number.map(R::root).transpose();
        match self.statistic {
            Statistic::VarPop => sxx.over(count),
            Statistic::VarSamp => sxx.over(sample),
            Statistic::StddevPop => root(sxx.over(count)?),
            Statistic::StddevSamp => root(sxx.over(sample)?),
            Statistic::CovarPop => sxy.over(count),
            Statistic::CovarSamp => sxy.over(sample),
            Statistic::Corr => correlation(sxx, syy, sxy, count),
            Statistic::RegrAvgx => x.over(count),
            Statistic::RegrAvgy => y.over(count),
            Statistic::RegrSlope => sxy.over(sxx),
            Statistic::RegrIntercept => match (sxy.over(sxx)?, x.over(count)?, y.over(count)?) {
                (Some(slope), Some(average_x), Some(average_y)) => {
                    average_y.minus(slope.times(average_x)?).map(Some)
                }
                _ => Ok(None),
            },
            Statistic::RegrR2 if sxx.is_zero() => Ok(None),
            Statistic::RegrR2 if syy.is_zero() => Ok(Some(R::from_count(1))),
            Statistic::RegrR2 => match correlation(sxx, syy, sxy, count)? {
                Some(correlation) => correlation.times(correlation).map(Some),
                None => Ok(None),
            },
            Statistic::RegrSxx => Ok(Some(sxx)),
            Statistic::RegrSxy => Ok(Some(sxy)),
            Statistic::RegrSyy => Ok(Some(syy)),
        }
    }
}

/// The correlation, in Firebird's order of operations: rounding shows in the last digits.
fn correlation<R: Real>(sxx: R, syy: R, sxy: R, count: R) -> Result<Option<R>> {
    match (sxy.over(count)?, sxx.over(count)?, syy.over(count)?) {
        (Some(covariance), Some(variance_x), Some(variance_y)) => {
            covariance.over(variance_x.root()?.times(variance_y.root()?)?)
        }
        _ => Ok(None),
    }
}
