//! Local routines that are announced before their bodies come: both declarations must say the same, and defaults stand in the first
//! one only.

use farbird_sql::ast::{
    BlobSubtype, DataType, DataTypeKind, Declaration, DeclarationKind, FunctionSignature,
    ParameterDeclaration, ProcedureSignature, TypedName,
};
use farbird_types::{Error, Result, isc};

/// What BLR has where no segment size is written.
const SEGMENT_SIZE: u16 = 80;

/// The forward declaration of a procedure, whose defaults its body has.
///
/// # Errors
/// A procedure that is declared twice, or unlike before.
pub(super) fn announced_procedure<'d>(
    before: &'d [Declaration],
    signature: &ProcedureSignature,
    has_body: bool,
) -> Result<Option<&'d ProcedureSignature>> {
    let earlier = before.iter().find_map(|declaration| match &declaration.kind {
        DeclarationKind::Procedure { signature: earlier, .. } if earlier.name == signature.name => {
            Some((&**earlier, declaration.is_forward()))
        }
        _ => None,
    });
    let Some((earlier, is_forward)) = earlier else { return Ok(None) };
    let name = signature.name.as_str();
    refuse_defaults(&signature.parameters, isc::SUBPROC_DEFVALDECL, name)?;
    refuse_repetition(is_forward && has_body, name)?;
    if !same_parameters(&earlier.parameters, &signature.parameters)
        || !same_parameters(&earlier.returns, &signature.returns)
    {
        return Err(Error::new(isc::SUBPROC_SIGNAT).with(name));
    }
    Ok(Some(earlier))
}

/// The forward declaration of a function, whose defaults its body has.
///
/// # Errors
/// As [`announced_procedure`].
pub(super) fn announced_function<'d>(
    before: &'d [Declaration],
    signature: &FunctionSignature,
    has_body: bool,
) -> Result<Option<&'d FunctionSignature>> {
    let earlier = before.iter().find_map(|declaration| match &declaration.kind {
        DeclarationKind::Function { signature: earlier, .. } if earlier.name == signature.name => {
            Some((&**earlier, declaration.is_forward()))
        }
        _ => None,
    });
    let Some((earlier, is_forward)) = earlier else { return Ok(None) };
    let name = signature.name.as_str();
    refuse_defaults(&signature.parameters, isc::SUBFUNC_DEFVALDECL, name)?;
    refuse_repetition(is_forward && has_body, name)?;
    let (result, returned) = (&earlier.returns, &signature.returns);
    if !same_parameters(&earlier.parameters, &signature.parameters)
        || !same_type(&result.data_type, &returned.data_type)
        || result.collation != returned.collation
        || result.not_null != returned.not_null
        || earlier.deterministic != signature.deterministic
    {
        return Err(Error::new(isc::SUBFUNC_SIGNAT).with(name));
    }
    Ok(Some(earlier))
}

fn refuse_defaults(parameters: &[ParameterDeclaration], code: u32, name: &str) -> Result<()> {
    match parameters.iter().any(|parameter| parameter.default.is_some()) {
        true => Err(Error::new(code).with(name)),
        false => Ok(()),
    }
}

fn refuse_repetition(is_body_of_announced: bool, name: &str) -> Result<()> {
    match is_body_of_announced {
        true => Ok(()),
        false => Err(Error::new(isc::DSQL_DUPLICATE_SPEC).with(name)),
    }
}

fn same_parameters(earlier: &[ParameterDeclaration], later: &[ParameterDeclaration]) -> bool {
    let same = |(earlier, later): (&ParameterDeclaration, &ParameterDeclaration)| {
        let TypedName { name, data_type, not_null, collation } = &earlier.parameter;
        let later = &later.parameter;
        *name == later.name
            && *not_null == later.not_null
            && *collation == later.collation
            && same_type(data_type, &later.data_type)
    };
    earlier.len() == later.len() && earlier.iter().zip(later).all(same)
}

/// Whether two types are written alike, not whether they come to the same: NUMERIC is no DECIMAL.
fn same_type(earlier: &DataType, later: &DataType) -> bool {
    use DataTypeKind::Blob;
    match (&earlier.kind, &later.kind) {
        (
            Blob { subtype, segment_size, character_set },
            Blob { subtype: subtype_later, segment_size: size_later, character_set: set_later },
        ) => {
            let binary = BlobSubtype::Number(0);
            subtype.as_ref().unwrap_or(&binary) == subtype_later.as_ref().unwrap_or(&binary)
                && segment_size.unwrap_or(SEGMENT_SIZE) == size_later.unwrap_or(SEGMENT_SIZE)
                && character_set == set_later
        }
        _ => earlier == later,
    }
}
