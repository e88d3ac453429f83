//! Programs of one value or condition: defaults, computed columns, indexes, CHECKs.

use farbird_blr::{Code, code};
use farbird_catalog::{Catalog, Relation};

use crate::compiler::Compiler;
use crate::failure::{Made, Unsupported, placed};
use crate::piece::block;
use crate::scope::{Scope, row_of};

/// What a CHECK that does not hold says.
const CHECK_CONSTRAINT: &str = "check_constraint";
/// The context of a row by itself, and that of a trigger's new row.
const ROW: u8 = 0;
const NEW: u8 = 1;
/// Contexts that queries inside may have, behind those of the row.
const BEHIND_ROW: u16 = 1;
const BEHIND_TRIGGER: u16 = 2;

impl Compiler<'_> {
    /// The value of a default, as written.
    pub(crate) fn default_value(&mut self, source: &str) -> Made<Code> {
        let parsed = farbird_sql::parse_default(source, &self.parse_options());
        let parsed = parsed.map_err(|error| Unsupported(error.to_string()))?;
        self.code(&parsed.value)
    }
}

/// A default.
pub(crate) fn default(catalog: &Catalog, source: &str) -> Made<Vec<u8>> {
    Ok(Compiler::new(catalog, ROW.into()).default_value(source)?.program())
}

/// A domain's CHECK.
pub(crate) fn domain_check(catalog: &Catalog, source: &str) -> Made<Vec<u8>> {
    let mut compiler = Compiler::new(catalog, BEHIND_ROW);
    compiler.has_value = true;
    let parsed = farbird_sql::parse_check(source, &compiler.parse_options());
    let parsed = parsed.map_err(|error| Unsupported(error.to_string()))?;
    Ok(compiler.condition(&parsed.condition)?.program())
}

/// A computed column's, or an index's, expression with its parentheses.
pub(crate) fn computed(catalog: &Catalog, relation: &Relation, source: &str) -> Made<Vec<u8>> {
    let mut compiler = Compiler::new(catalog, BEHIND_ROW);
    let parsed = farbird_sql::parse_computed(source, &compiler.parse_options());
    let parsed = parsed.map_err(|error| Unsupported(error.to_string()))?;
    let row = row_of(relation, ROW, &relation.name)?;
    let (value, _) = compiler.inside(Scope::of(vec![row]), |it| it.code(&parsed.value))?;
    Ok(value.program())
}

/// The condition of an index, without WHERE.
pub(crate) fn index_condition(catalog: &Catalog, relation: &Relation, source: &str) -> Made<Vec<u8>> {
    let mut compiler = Compiler::new(catalog, BEHIND_ROW);
    let parsed = farbird_sql::parse_expression(source, &compiler.parse_options());
    let parsed = parsed.map_err(|error| Unsupported(error.to_string()))?;
    let row = row_of(relation, ROW, &relation.name)?;
    let (condition, _) = compiler.inside(Scope::of(vec![row]), |it| it.condition(&parsed))?;
    Ok(condition.program())
}

/// The trigger of a table's CHECK: unless the condition is false nothing happens.
pub(crate) fn check(catalog: &Catalog, relation: &Relation, source: &str) -> Made<Vec<u8>> {
    let mut compiler = Compiler::new(catalog, BEHIND_TRIGGER);
    let parsed = farbird_sql::parse_check(source, &compiler.parse_options());
    let parsed = parsed.map_err(|error| Unsupported(error.to_string()))?;
    let row = row_of(relation, NEW, &relation.name)?;
    let fails = farbird_sql::ast::Expression::new(
        farbird_sql::ast::ExpressionKind::Not(Box::new(parsed.condition.clone())),
        parsed.condition.position,
    );
    let (fails, _) = compiler.inside(Scope::of(vec![row]), |it| it.condition(&fails))?;
    let mut made = Code::of(&[code::BEGIN, code::IF]);
    made.piece(&fails).piece(&block(&[abort()?]));
    // In the place of an else, and of the whole.
    made.more(&[code::END, code::END]);
    Ok(made.program())
}

/// Says that a CHECK does not hold.
pub(crate) fn abort() -> Made<Code> {
    let mut made = Code::of(&[code::ABORT, code::ABORT_GDS_CODE]);
    placed(made.name(CHECK_CONSTRAINT))?;
    Ok(made)
}
