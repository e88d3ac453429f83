//! Packages: the header, which declares what everybody may call, and the body, which has what it does.
//!
//! A package and its routines are one object of the catalog. A changed header leaves the text of the body and takes its
//! effect: until there is a body again, calls fail.

use std::sync::Arc;

use farbird_sql::ast::{
    DdlStatement, DefineMode, DefinePackage, DefinePackageBody, FunctionSignature, PackageBodyItem,
    PackageItem, ProcedureSignature, RoutineDefinition,
};
use farbird_types::{Error, Result, isc};

use crate::catalog::dependencies::dependencies;
use crate::catalog::privileges::{DdlAction, object_type};
use crate::catalog::{
    CatalogObject, ObjectKind, Package, Routine, RoutineEngine, RoutineParameter, SourceStart, dependencies,
};
use crate::ddl::editor::Editor;
use crate::ddl::signature::{body_of, declare_function, declare_procedure, definer, start_of};
use crate::ddl::{error, rights};
use crate::psql;

/// CREATE | ALTER | CREATE OR ALTER | RECREATE PACKAGE.
pub(super) fn define_header(editor: &mut Editor<'_, '_>, ast: &DefinePackage) -> Result<()> {
    let name = ast.name.as_str();
    let existing = editor.catalog().packages.get(name).cloned();
    let kept = match (ast.mode, existing) {
        (DefineMode::Create, Some(_)) => return Err(error::package_exists(name)),
        (_, Some(existing)) if existing.is_system() => return Err(system_package(&existing)),
        (DefineMode::Alter, None) => return Err(not_found(name)),
        (DefineMode::Recreate, Some(_)) => {
            drop_package(editor, name)?;
            None
        }
        (_, existing) => existing,
    };
    let action = if kept.is_some() { DdlAction::Alter } else { DdlAction::Create };
    rights::check_ddl(editor.context, ObjectKind::Package, action, name)?;
    let mut package = Package {
        name: name.to_owned(),
        owner: kept.as_ref().map_or_else(|| editor.user().to_owned(), |kept| kept.owner.clone()),
        header_source: ast.source.text.clone(),
        body_source: kept.as_ref().and_then(|kept| kept.body_source.clone()),
        header_hidden: false,
        body_hidden: kept.as_ref().is_some_and(|kept| kept.body_hidden),
        body_is_valid: kept.as_ref().and_then(|kept| kept.body_is_valid).map(|_| false),
        procedures: Vec::new(),
        functions: Vec::new(),
        sql_security_definer: definer(ast.sql_security),
        description: kept.as_ref().and_then(|kept| kept.description.clone()),
    };
    for item in &ast.items {
        let (kind, declared) = match item {
            PackageItem::Procedure(signature) => (Kind::Procedure, Shape::of_procedure(editor, signature)?),
            PackageItem::Function(signature) => (Kind::Function, Shape::of_function(editor, signature)?),
        };
        let before = kept.as_ref().and_then(|kept| kind.find(kept, &declared.name));
        let before = before.filter(|before| !before.private);
        let id = match before {
            Some(before) => before.id,
            None => kind.new_id(editor)?,
        };
        let mut routine = declared.into_routine(&package, id);
        routine.description = before.and_then(|before| before.description.clone());
        kind.put(&mut package, routine);
    }
    if let Some(kept) = &kept {
        check_gone_are_free(editor, kept, &package)?;
    }
    editor.put(CatalogObject::Package(Arc::new(package)))
}

/// CREATE | RECREATE PACKAGE BODY.
pub(super) fn define_body(editor: &mut Editor<'_, '_>, ast: &DefinePackageBody) -> Result<()> {
    let name = ast.name.as_str();
    let package = found(editor, name)?;
    let has_body = package.body_is_valid == Some(true);
    match ast.mode {
        DefineMode::Create if has_body => return Err(Error::new(isc::DYN_PACKAGE_BODY_EXISTS).with(name)),
        DefineMode::Recreate if package.body_source.is_some() => {
            rights::check_ddl(editor.context, ObjectKind::Package, DdlAction::Drop, name)?;
        }
        _ => {}
    }
    rights::check_ddl(editor.context, ObjectKind::Package, DdlAction::Create, name)?;
    let mut package = without_body(package);
    for item in &ast.items {
        let (kind, shape, definition) = match item {
            PackageBodyItem::Procedure { signature, definition } => {
                (Kind::Procedure, Shape::of_procedure(editor, signature)?, definition)
            }
            PackageBodyItem::Function { signature, definition } => {
                (Kind::Function, Shape::of_function(editor, signature)?, definition)
            }
        };
        match definition {
            Some(definition) => define_routine(editor, &mut package, kind, shape, definition)?,
            None if kind.find(&package, &shape.name).is_some() => {
                return Err(duplicate_item(kind, &shape.name));
            }
            None => declare_private(editor, &mut package, kind, shape)?,
        }
    }
    // Firebird looks for functions first.
    for (kind, routines) in [(Kind::Function, &package.functions), (Kind::Procedure, &package.procedures)] {
        if let Some(routine) = routines.iter().find(|routine| !routine.has_body()) {
            let code = kind.choose(isc::DYN_PROCNOTDEF_PACKAGE, isc::DYN_FUNCNOTDEF_PACKAGE);
            return Err(Error::new(code).with(routine.name.as_str()).with(name));
        }
    }
    package.body_source = Some(ast.source.text.clone());
    package.body_hidden = false;
    package.body_is_valid = Some(true);
    check_uses_of_declared(editor, ast, &package)?;
    editor.put(CatalogObject::Package(Arc::new(package)))
}

/// Compiles again what was compiled before the private routines that the body declares had their bodies: only now is known
/// which of these suspend.
fn check_uses_of_declared(editor: &Editor<'_, '_>, ast: &DefinePackageBody, package: &Package) -> Result<()> {
    let declares_procedure =
        |item: &PackageBodyItem| matches!(item, PackageBodyItem::Procedure { definition: None, .. });
    if !ast.items.iter().any(declares_procedure) {
        return Ok(());
    }
    for (kind, routines) in [(Kind::Procedure, &package.procedures), (Kind::Function, &package.functions)] {
        for routine in routines {
            check_compiles(editor, package, kind, routine)?;
        }
    }
    Ok(())
}

/// DROP PACKAGE.
pub(super) fn drop_package(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let package = found(editor, name)?;
    rights::check_ddl(editor.context, ObjectKind::Package, DdlAction::Drop, name)?;
    let nothing = Package { procedures: Vec::new(), functions: Vec::new(), ..package.clone() };
    check_gone_are_free(editor, &package, &nothing)?;
    editor.forget_privileges(name, &[object_type::PACKAGE])?;
    editor.remove(ObjectKind::Package, name)
}

/// DROP PACKAGE BODY: what the header declares stays, without anything to run.
pub(super) fn drop_body(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let package = found(editor, name)?;
    rights::check_ddl(editor.context, ObjectKind::Package, DdlAction::Drop, name)?;
    let mut package = without_body(package);
    package.body_source = None;
    package.body_hidden = false;
    package.body_is_valid = None;
    editor.put(CatalogObject::Package(Arc::new(package)))
}

/// Fails for a routine that stands twice in a header, or twice among the declarations or the definitions of a body; and for
/// SQL SECURITY in a body, which is the package's.
///
/// # Errors
/// `dyn_duplicate_package_item`, `invalid_clause`.
pub(super) fn check_items(statement: &DdlStatement) -> Result<()> {
    match statement {
        DdlStatement::DefinePackage(it) => check_items_of_header(&it.items),
        DdlStatement::DefinePackageBody(it) => check_items_of_body(&it.items),
        _ => Ok(()),
    }
}

fn check_items_of_header(items: &[PackageItem]) -> Result<()> {
    check_distinct(items.iter().map(|item| match item {
        PackageItem::Procedure(signature) => (Kind::Procedure, false, signature.name.as_str()),
        PackageItem::Function(signature) => (Kind::Function, false, signature.name.as_str()),
    }))
}

fn check_items_of_body(items: &[PackageBodyItem]) -> Result<()> {
    for item in items {
        let (security, what) = match item {
            PackageBodyItem::Procedure { signature, .. } => (signature.sql_security, "procedures"),
            PackageBodyItem::Function { signature, .. } => (signature.sql_security, "functions"),
        };
        if security.is_some() {
            let text = format!("SQL SECURITY for {what} is prohibit in packages");
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(-204)
                .and(isc::INVALID_CLAUSE)
                .with(text));
        }
    }
    check_distinct(items.iter().map(|item| match item {
        PackageBodyItem::Procedure { signature, definition } => {
            (Kind::Procedure, definition.is_some(), signature.name.as_str())
        }
        PackageBodyItem::Function { signature, definition } => {
            (Kind::Function, definition.is_some(), signature.name.as_str())
        }
    }))
}

fn check_distinct<'n>(items: impl Iterator<Item = (Kind, bool, &'n str)>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for (kind, defines, name) in items {
        if !seen.insert((kind, defines, name)) {
            return Err(duplicate_item(kind, name));
        }
    }
    Ok(())
}

/// What a routine of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Procedure,
    Function,
}

impl Kind {
    fn choose<T>(self, procedure: T, function: T) -> T {
        match self {
            Kind::Procedure => procedure,
            Kind::Function => function,
        }
    }

    fn find<'p>(self, package: &'p Package, name: &str) -> Option<&'p Arc<Routine>> {
        self.choose(package.procedure(name), package.function(name))
    }

    fn new_id(self, editor: &Editor<'_, '_>) -> Result<u32> {
        match self {
            Kind::Procedure => Ok(editor.counters().procedure_id()?),
            Kind::Function => Ok(editor.counters().function_id()?),
        }
    }

    /// Adds a routine to a package, or puts it in the place of the one of its name.
    fn put(self, package: &mut Package, routine: Routine) {
        let routines = match self {
            Kind::Procedure => &mut package.procedures,
            Kind::Function => &mut package.functions,
        };
        match routines.iter_mut().find(|known| known.name == routine.name) {
            Some(known) => *known = Arc::new(routine),
            None => routines.push(Arc::new(routine)),
        }
    }
}

/// What is declared of a routine: all that a caller must know.
struct Shape {
    name: String,
    inputs: Vec<RoutineParameter>,
    outputs: Vec<RoutineParameter>,
    deterministic: bool,
}

impl Shape {
    fn of_procedure(editor: &Editor<'_, '_>, signature: &ProcedureSignature) -> Result<Shape> {
        let (inputs, outputs) = declare_procedure(editor, signature)?;
        Ok(Shape { name: signature.name.text.clone(), inputs, outputs, deterministic: false })
    }

    fn of_function(editor: &Editor<'_, '_>, signature: &FunctionSignature) -> Result<Shape> {
        let (inputs, result) = declare_function(editor, signature)?;
        let deterministic = signature.deterministic;
        Ok(Shape { name: signature.name.text.clone(), inputs, outputs: vec![result], deterministic })
    }

    /// Whether a body's definition is of what was declared before. Defaults are the declaration's.
    fn fits(&self, declared: &Routine) -> bool {
        let same = |own: &[RoutineParameter], declared: &[RoutineParameter]| {
            own.len() == declared.len()
                && own.iter().zip(declared).all(|(own, declared)| {
                    own.name == declared.name
                        && own.sql_type == declared.sql_type
                        && own.domain == declared.domain
                        && own.not_null == declared.not_null
                })
        };
        self.deterministic == declared.deterministic
            && same(&self.inputs, &declared.inputs)
            && same(&self.outputs, &declared.outputs)
    }

    /// A declared routine: public, and without a body.
    fn into_routine(self, package: &Package, id: u32) -> Routine {
        Routine {
            id,
            name: self.name,
            package: Some(package.name.clone()),
            private: false,
            owner: package.owner.clone(),
            inputs: self.inputs,
            outputs: self.outputs,
            selectable: false,
            deterministic: self.deterministic,
            source: String::new(),
            source_start: SourceStart::default(),
            source_hidden: false,
            sql_security_definer: package.sql_security_definer,
            description: None,
            engine: RoutineEngine::Psql,
        }
    }
}

fn declare_private(editor: &Editor<'_, '_>, package: &mut Package, kind: Kind, shape: Shape) -> Result<()> {
    let id = kind.new_id(editor)?;
    let routine = Routine { private: true, ..shape.into_routine(package, id) };
    kind.put(package, routine);
    Ok(())
}

/// A definition in a body: of what was declared, or of a private routine that those behind it see.
fn define_routine(
    editor: &Editor<'_, '_>,
    package: &mut Package,
    kind: Kind,
    shape: Shape,
    definition: &RoutineDefinition,
) -> Result<()> {
    let body = body_of(definition)?;
    let name = shape.name.clone();
    match kind.find(package, &name) {
        Some(_) if shape.inputs.iter().any(|input| input.default_source.is_some()) => {
            let code = kind.choose(isc::DYN_DEFVALDECL_PACKAGE_PROC, isc::DYN_DEFVALDECL_PACKAGE_FUNC);
            return Err(Error::new(code).with(package.name.as_str()).with(name));
        }
        Some(declared) if !shape.fits(declared) => {
            let code = kind.choose(isc::DYN_PROCSIGNAT_PACKAGE, isc::DYN_FUNCSIGNAT_PACKAGE);
            return Err(Error::new(code).with(name).with(package.name.as_str()));
        }
        Some(_) => {}
        None => declare_private(editor, package, kind, shape)?,
    }
    let declared = kind.find(package, &name).ok_or_else(|| Error::internal("a routine just declared"))?;
    let mut routine = Routine::clone(declared);
    routine.selectable =
        kind == Kind::Procedure && dependencies::identifiers(&body.source.text).contains("SUSPEND");
    routine.source.clone_from(&body.source.text);
    routine.source_start = start_of(&body.source);
    kind.put(package, routine.clone());
    check_compiles(editor, package, kind, &routine)
}

/// Compiles a routine among those that the body has had so far.
fn check_compiles(editor: &Editor<'_, '_>, package: &Package, kind: Kind, routine: &Routine) -> Result<()> {
    let catalog = Arc::new(editor.catalog().with(CatalogObject::Package(Arc::new(package.clone()))));
    let checked = match kind {
        Kind::Procedure => psql::check_procedure(&catalog, routine, editor.restores()),
        Kind::Function => psql::check_function(&catalog, routine),
    };
    checked.map_err(|failure| error::in_statement(failure, routine.source_start))
}

/// The package as its header alone has it.
fn without_body(mut package: Package) -> Package {
    for routines in [&mut package.procedures, &mut package.functions] {
        routines.retain(|routine| !routine.private);
        for routine in routines {
            let routine = Arc::make_mut(routine);
            routine.source.clear();
            routine.selectable = false;
        }
    }
    package
}

/// Fails if something outside of a package uses one of its routines that are no more there.
fn check_gone_are_free(editor: &Editor<'_, '_>, before: &Package, after: &Package) -> Result<()> {
    let own = [object_type::PACKAGE, object_type::PACKAGE_BODY];
    let used: Vec<_> = dependencies(&editor.catalog())
        .into_iter()
        .filter(|it| it.used_package.as_ref() == Some(&before.name))
        .filter(|it| !(it.dependent == before.name && own.contains(&it.dependent_type)))
        .collect();
    for (kind, routines) in [(Kind::Procedure, &before.procedures), (Kind::Function, &before.functions)] {
        let used_type = kind.choose(object_type::PROCEDURE, object_type::FUNCTION);
        for routine in routines.iter().filter(|routine| kind.find(after, &routine.name).is_none()) {
            let users = used.iter().filter(|it| it.used == routine.name && it.used_type == used_type).count();
            if users > 0 {
                let heading = kind.choose(isc::PROC_NAME, isc::UDF_NAME);
                return Err(error::in_use(heading, &routine.full_name(), users));
            }
        }
    }
    Ok(())
}

fn found(editor: &Editor<'_, '_>, name: &str) -> Result<Package> {
    let catalog = editor.catalog();
    let package = catalog.packages.get(name).ok_or_else(|| not_found(name))?;
    if package.is_system() { Err(system_package(package)) } else { Ok(Package::clone(package)) }
}

/// Packages of the system stay as they are: Firebird names the first function.
fn system_package(package: &Package) -> Error {
    let function = package.functions.first().map_or("", |function| function.name.as_str());
    Error::new(isc::DYN_CANNOT_MOD_SYSFUNC).with(function)
}

fn not_found(name: &str) -> Error {
    Error::new(isc::DYN_PACKAGE_NOT_FOUND).with(name)
}

fn duplicate_item(kind: Kind, name: &str) -> Error {
    Error::new(isc::DYN_DUPLICATE_PACKAGE_ITEM).with(kind.choose("PROCEDURE", "FUNCTION")).with(name)
}
