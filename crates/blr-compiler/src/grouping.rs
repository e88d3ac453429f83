//! Windows: calls with OVER.

use farbird_blr::{Code, code};
use farbird_sql::ast::{Over, WindowCall, WindowSpecification};

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
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
        if call.from_last || specification.frame.is_some() {
            return unsupported("a window's frame");
        }
        let (function, keys, order) = self.at(Stage::Groups, |it| {
            let function = it.aggregate_code(&call.call, true)?;
            let keys = specification.partition_by.iter().map(|key| Ok(it.value(key)?.code));
            let keys = keys.collect::<Made<Vec<Code>>>()?;
            Ok((function, keys, it.window_order(&specification)?))
        })?;
        let mut windows = placed(self.scope()?.windows.take())?;
        let place = windows.place((keys, order), &function.code, || self.context());
        self.scope()?.windows = Some(windows);
        let code = place?;
        Ok(Typed { code, sql_type: function.sql_type })
    }

    fn window_order(&mut self, specification: &WindowSpecification) -> Made<Code> {
        let mut made = Code::of(&[code::SORT]);
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
