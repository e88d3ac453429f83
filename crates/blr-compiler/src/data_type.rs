//! Declared types as BLR: by the name of a domain or a column where they were declared so.

use farbird_blr::{Code, code};
use farbird_catalog::{RoutineParameter, value_type};
use farbird_sql::ast::{DataType, DataTypeKind, Name};
use farbird_types::SqlType;

use crate::compiler::Compiler;
use crate::failure::{Made, Unsupported, placed, unsupported};

/// A type as it was declared.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) code: Code,
    pub(crate) sql_type: SqlType,
    /// Whether values are checked as the domain says, or have its default.
    pub(crate) is_domain: bool,
    pub(crate) not_null: bool,
}

impl Compiler<'_> {
    /// A type of a variable, a parameter of a routine inside of a routine, a cast.
    pub(crate) fn declared(
        &self,
        data_type: &DataType,
        not_null: bool,
        collation: Option<&Name>,
    ) -> Made<Declared> {
        let resolved = value_type(self.catalog, data_type, collation);
        let sql_type = resolved.map_err(|error| Unsupported(error.to_string()))?.sql_type;
        let mut made = Code::new();
        if not_null {
            made.byte(code::NOT_NULLABLE);
        }
        let text_type = match sql_type {
            SqlType::Text(text) if collation.is_some() => {
                Some([text.character_set.0, text.collation.number()])
            }
            _ => None,
        };
        match &data_type.kind {
            DataTypeKind::Domain(name) => domain(&mut made, code::WHOLE_DOMAIN, name.as_str(), text_type)?,
            DataTypeKind::TypeOfDomain(name) => domain(&mut made, code::TYPE_OF, name.as_str(), text_type)?,
            DataTypeKind::TypeOfColumn { relation, column } => {
                column_name(&mut made, relation.name.as_str(), column.as_str(), text_type)?;
            }
            _ => drop(placed(made.data_type(&sql_type))?),
        }
        let is_domain = matches!(data_type.kind, DataTypeKind::Domain(_));
        Ok(Declared { code: made, sql_type, is_domain, not_null })
    }

    /// The type of a stored routine's parameter.
    pub(crate) fn parameter_type(&self, parameter: &RoutineParameter) -> Made<Declared> {
        let mut made = Code::new();
        if parameter.not_null {
            made.byte(code::NOT_NULLABLE);
        }
        let text_type = self.own_collation(parameter);
        match (&parameter.domain, &parameter.type_of_domain, &parameter.type_of_column) {
            (Some(name), _, _) => domain(&mut made, code::WHOLE_DOMAIN, name, text_type)?,
            (None, Some(name), _) => domain(&mut made, code::TYPE_OF, name, text_type)?,
            (None, None, Some((table, column))) => column_name(&mut made, table, column, text_type)?,
            (None, None, None) => drop(placed(made.data_type(&parameter.sql_type))?),
        }
        Ok(Declared {
            code: made,
            sql_type: parameter.sql_type,
            is_domain: parameter.domain.is_some(),
            not_null: parameter.not_null,
        })
    }

    /// The collation of a parameter that is another one than that of its domain or column.
    fn own_collation(&self, parameter: &RoutineParameter) -> Option<[u8; 2]> {
        let SqlType::Text(text) = parameter.sql_type else { return None };
        let origin = match (parameter.domain_of_type(), &parameter.type_of_column) {
            (Some(domain), _) => self.catalog.domains.get(domain).map(|it| it.sql_type),
            (None, Some((table, column))) => {
                self.catalog.relation(table).and_then(|it| it.column(column)).map(|it| it.sql_type)
            }
            (None, None) => None,
        };
        match origin {
            Some(SqlType::Text(origin)) if origin.collation != text.collation => {
                Some([text.character_set.0, text.collation.number()])
            }
            _ => None,
        }
    }
}

fn domain(made: &mut Code, how: u8, name: &str, text_type: Option<[u8; 2]>) -> Made<()> {
    made.byte(if text_type.is_some() { code::DOMAIN_NAME_COLLATION } else { code::DOMAIN_NAME });
    placed(made.byte(how).name(name))?.more(text_type.as_ref().map_or(&[], |it| it));
    Ok(())
}

fn column_name(made: &mut Code, table: &str, column: &str, text_type: Option<[u8; 2]>) -> Made<()> {
    made.byte(if text_type.is_some() { code::COLUMN_NAME_COLLATION } else { code::COLUMN_NAME });
    placed(made.byte(code::TYPE_OF).name(table))?;
    placed(made.name(column))?.more(text_type.as_ref().map_or(&[], |it| it));
    Ok(())
}

/// A value in another type.
pub(crate) fn cast(sql_type: &SqlType, value: &Code) -> Made<Code> {
    let mut made = Code::of(&[code::CAST]);
    match made.data_type(sql_type) {
        Some(made) => drop(made.piece(value)),
        None => return unsupported("a cast to an array"),
    }
    Ok(made)
}
