//! Windows: calls with OVER.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    FrameBound, FrameExclusion, FrameUnit, Over, WindowCall, WindowFrame, WindowSpecification,
};

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::map::WindowRows;
use crate::piece::Typed;
use crate::scope::Stage;

impl Compiler<'_> {
    /// A call with OVER.
    pub(crate) fn window_call(&mut self, call: &WindowCall, named: &[Named<'_>]) -> Made<Typed> {
        let specification = match &call.over {
            Over::Specification(specification) => specification.clone(),
            Over::Name(name) => specification_of(name.as_str(), named)?,
        };
        let specification = refined(specification, named)?;
        let (function, rows) = self.at(Stage::Groups, |it| {
            let function = it.aggregate_code(&call.call, Some(call.from_last))?;
            let keys = specification.partition_by.iter().map(|key| Ok(it.value(key)?.code));
            let keys = keys.collect::<Made<Vec<Code>>>()?;
            let order = it.window_order(&specification)?;
            let frame = specification.frame.as_ref().map(|frame| it.window_frame(frame)).transpose()?;
            Ok((function, WindowRows { keys, order, frame }))
        })?;
        let mut windows = placed(self.scope()?.windows.take())?;
        let place = windows.place(rows, &function.code, || self.context());
        self.scope()?.windows = Some(windows);
        let code = place?;
        Ok(Typed { code, sql_type: function.sql_type })
    }

    /// The bounds of a frame. One without a second bound ends at the current row.
    fn window_frame(&mut self, frame: &WindowFrame) -> Made<Code> {
        if frame.exclusion != FrameExclusion::NoOthers {
            return unsupported("EXCLUDE of a window's frame");
        }
        let unit = match frame.unit {
            FrameUnit::Range => 0,
            FrameUnit::Rows => 1,
        };
        let mut made = Code::of(&[code::WINDOW_FRAME_UNIT, unit]);
        let end = frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow);
        for (number, bound) in [(1, &frame.start), (2, end)] {
            let (kind, value) = match bound {
                FrameBound::UnboundedPreceding => (0, None),
                FrameBound::Preceding(value) => (0, Some(value)),
                FrameBound::UnboundedFollowing => (1, None),
                FrameBound::Following(value) => (1, Some(value)),
                FrameBound::CurrentRow => (2, None),
            };
            made.more(&[code::WINDOW_FRAME_BOUND, number, kind]);
            if let Some(value) = value {
                made.more(&[code::WINDOW_FRAME_VALUE, number]).piece(&self.code(value)?);
            }
        }
        Ok(made)
    }

    /// The order of a window's rows: how many keys, and the keys.
    fn window_order(&mut self, specification: &WindowSpecification) -> Made<Code> {
        let mut made = Code::new();
        placed(made.count(specification.order_by.len()))?;
        for item in &specification.order_by {
            let value = self.value(&item.value)?;
            crate::select::order_item(&mut made, item, &value.code);
        }
        Ok(made)
    }
}

/// A window of the WINDOW clause.
pub(crate) type Named<'a> = (&'a str, &'a WindowSpecification);

fn specification_of(name: &str, named: &[Named<'_>]) -> Made<WindowSpecification> {
    match named.iter().find(|(known, _)| *known == name) {
        Some((_, specification)) => Ok((*specification).clone()),
        None => unsupported(format!("window {name}")),
    }
}

/// A window with what the one that it refines has.
fn refined(mut specification: WindowSpecification, named: &[Named<'_>]) -> Made<WindowSpecification> {
    // A window refines one that stands before it: each turn comes to an earlier one.
    for _ in 0..=named.len() {
        let Some(base) = specification.base.take() else { return Ok(specification) };
        let base = specification_of(base.as_str(), named)?;
        specification.base = base.base;
        specification.partition_by = base.partition_by;
        if specification.order_by.is_empty() {
            specification.order_by = base.order_by;
        }
        specification.frame = specification.frame.or(base.frame);
    }
    unsupported("windows that refine each other")
}
