//! Aggregates and window functions.

use super::cursor::Parser;
use super::function::{WINDOW_FUNCTIONS, argument_counts};
use crate::ast::{
    AggregateArguments, AggregateCall, Expression, ExpressionKind, FrameBound, FrameExclusion, FrameUnit,
    Over, WindowCall, WindowFrame, WindowSpecification,
};
use farbird_types::Result;

/// Where the bound of a frame stands, which says what it can be.
#[derive(Clone, Copy, PartialEq)]
enum FramePlace {
    /// Without BETWEEN.
    Only,
    /// Behind BETWEEN.
    First,
    /// Behind AND.
    Second,
}

impl Parser<'_> {
    /// A call of an aggregate or window function.
    pub(super) fn aggregate(&mut self, takes_distinct: bool) -> Result<ExpressionKind> {
        let function = self.name_of_any_word()?;
        self.expect_symbol("(")?;
        let mut distinct = false;
        let arguments = if function == "COUNT" && self.eat_symbol("*") {
            AggregateArguments::Star
        } else {
            if takes_distinct {
                distinct = self.eat_keyword("DISTINCT");
                if !distinct {
                    self.eat_keyword("ALL");
                }
            }
            AggregateArguments::List(self.counted_arguments(argument_counts(function.as_str()))?)
        };
        self.expect_symbol(")")?;
        let needs_over = WINDOW_FUNCTIONS.contains(&function.as_str());
        let from_last = function == "NTH_VALUE" && self.nth_value_from()?;
        let filter = if !needs_over && self.eat_keyword("FILTER") { Some(self.filter()?) } else { None };
        let call = AggregateCall { function, distinct, arguments, within_group: Vec::new(), filter };
        if !needs_over && !self.at_keyword("OVER") {
            return Ok(ExpressionKind::Aggregate(Box::new(call)));
        }
        self.expect_keyword("OVER")?;
        let over = self.over()?;
        Ok(ExpressionKind::Window(Box::new(WindowCall { call, from_last, over })))
    }

    /// `[FROM FIRST | FROM LAST]`: whether LAST.
    fn nth_value_from(&mut self) -> Result<bool> {
        if !self.eat_keyword("FROM") || self.eat_keyword("FIRST") {
            return Ok(false);
        }
        self.expect_keyword("LAST")?;
        Ok(true)
    }

    /// `(WHERE condition)`.
    fn filter(&mut self) -> Result<Expression> {
        self.expect_symbol("(")?;
        self.expect_keyword("WHERE")?;
        let condition = self.expression()?;
        self.expect_symbol(")")?;
        Ok(condition)
    }

    fn over(&mut self) -> Result<Over> {
        if self.at_symbol("(") {
            Ok(Over::Specification(self.window_specification()?))
        } else {
            Ok(Over::Name(self.name()?))
        }
    }

    /// `([window] [PARTITION BY ...] [ORDER BY ...] [frame])`.
    pub(super) fn window_specification(&mut self) -> Result<WindowSpecification> {
        self.expect_symbol("(")?;
        let is_clause = self.at_keyword("PARTITION") && self.keyword_ahead(1, "BY")
            || self.at_keyword("RANGE") && !self.symbol_ahead(1, ")");
        let base = if self.at_name() && !is_clause { Some(self.name()?) } else { None };
        let partition_by =
            if self.eat_keywords(&["PARTITION", "BY"]) { self.expressions()? } else { Vec::new() };
        let order_by = self.order_by()?;
        let frame = self.window_frame()?;
        self.expect_symbol(")")?;
        Ok(WindowSpecification { base, partition_by, order_by, frame })
    }

    fn window_frame(&mut self) -> Result<Option<WindowFrame>> {
        let unit = if self.eat_keyword("ROWS") {
            FrameUnit::Rows
        } else if self.eat_keyword("RANGE") {
            FrameUnit::Range
        } else {
            return Ok(None);
        };
        let (start, end) = if self.eat_keyword("BETWEEN") {
            let start = self.frame_bound(FramePlace::First)?;
            self.expect_keyword("AND")?;
            (start, Some(self.frame_bound(FramePlace::Second)?))
        } else {
            (self.frame_bound(FramePlace::Only)?, None)
        };
        Ok(Some(WindowFrame { unit, start, end, exclusion: self.frame_exclusion()? }))
    }

    fn frame_bound(&mut self, place: FramePlace) -> Result<FrameBound> {
        if self.eat_keyword("UNBOUNDED") {
            if place != FramePlace::Second {
                self.expect_keyword("PRECEDING")?;
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_keyword("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.eat_keyword("CURRENT") {
            self.expect_keyword("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        // A bound of BETWEEN cannot reach for its AND.
        let value = Box::new(self.frame_value()?);
        if place == FramePlace::Only {
            self.expect_keyword("PRECEDING")?;
            return Ok(FrameBound::Preceding(value));
        }
        if self.eat_keyword("PRECEDING") {
            return Ok(FrameBound::Preceding(value));
        }
        self.expect_keyword("FOLLOWING")?;
        Ok(FrameBound::Following(value))
    }

    fn frame_exclusion(&mut self) -> Result<FrameExclusion> {
        if !self.eat_keyword("EXCLUDE") {
            return Ok(FrameExclusion::NoOthers);
        }
        if self.eat_keyword("NO") {
            self.expect_keyword("OTHERS")?;
            return Ok(FrameExclusion::NoOthers);
        }
        if self.eat_keyword("CURRENT") {
            self.expect_keyword("ROW")?;
            return Ok(FrameExclusion::CurrentRow);
        }
        if self.eat_keyword("GROUP") {
            return Ok(FrameExclusion::Group);
        }
        self.expect_keyword("TIES")?;
        Ok(FrameExclusion::Ties)
    }
}
