//! Parameters, variables, cursors and local routines.

use std::sync::{Arc, OnceLock};

use farbird_catalog::{Domain, Routine, RoutineEngine, RoutineParameter, SourceStart};
use farbird_plan::bind::data_type::{self, ResolvedType};
use farbird_plan::bind::{self, LocalFunction};
use farbird_sql::ast::{self, DeclarationKind};
use farbird_types::{ColumnType, Error, Result, isc};

use super::compiler::{Compiler, Inputs};
use super::forward;
use super::scope::{LocalProcedure, sql_error};
use crate::compile::compiler::parsed_default;
use crate::routine::{CompiledRoutine, Declared, Instruction, RoutineKind, VariableConstraint};

impl<'a> Compiler<'a> {
    pub(super) fn resolve(
        &self,
        data_type: &ast::DataType,
        collation: Option<&ast::Name>,
    ) -> Result<ResolvedType> {
        data_type::resolve(self.environment, data_type, collation)
    }

    /// A domain by name, unless it is an implicit one.
    pub(super) fn domain(&self, name: Option<&str>) -> Option<Arc<Domain>> {
        self.environment.catalog.domains.get(name?).cloned()
    }

    /// The constraint of a variable, if it has one; gives its number.
    pub(super) fn constraint(
        &mut self,
        name: &str,
        not_null: bool,
        domain: Option<&Domain>,
    ) -> Result<Option<usize>> {
        let not_null = not_null || domain.is_some_and(|domain| domain.not_null);
        let check = match domain {
            Some(Domain { check_source: Some(source), sql_type, .. }) => {
                let options = farbird_sql::ParseOptions::default();
                let check = farbird_sql::parse_check(source, &options)?;
                let (check, accesses) =
                    bind::bind_domain_check_with_accesses(self.environment, sql_type, &check.condition)?;
                self.accesses.extend(accesses);
                Some(check)
            }
            _ => None,
        };
        if !not_null && check.is_none() {
            return Ok(None);
        }
        self.constraints.push(VariableConstraint { name: name.to_owned(), not_null, check });
        Ok(Some(self.constraints.len() - 1))
    }

    /// An input of a block or local routine; gives its type.
    pub(super) fn declare_input(&mut self, declaration: &ast::ParameterDeclaration) -> Result<ColumnType> {
        let parameter = &declaration.parameter;
        let resolved = self.resolve(&parameter.data_type, parameter.collation.as_ref())?;
        let not_null = parameter.not_null || resolved.not_null;
        let name = parameter.name.as_str();
        let default = match (&declaration.default, &resolved.domain) {
            (Some(default), _) => Some(default.value.clone()),
            (None, Some(domain)) => match &domain.default_source {
                Some(source) => Some(parsed_default(self.environment, source)?),
                None => None,
            },
            (None, None) => None,
        };
        let default = default.map(|value| self.expression(&value, Some(&resolved.sql_type))).transpose()?;
        let constraint = self.constraint(name, not_null, resolved.domain.as_deref())?;
        let column_type = ColumnType { sql_type: resolved.sql_type, nullable: !not_null };
        let slot = self.slot();
        self.inputs.push(Declared { constraint, default });
        self.name_slot(name, slot, column_type, constraint)?;
        Ok(column_type)
    }

    /// An output of a block or local procedure; gives its type.
    pub(super) fn declare_output(&mut self, parameter: &ast::TypedName) -> Result<ColumnType> {
        let resolved = self.resolve(&parameter.data_type, parameter.collation.as_ref())?;
        let not_null = parameter.not_null || resolved.not_null;
        let name = parameter.name.as_str();
        let constraint = self.constraint(name, not_null, resolved.domain.as_deref())?;
        let column_type = ColumnType { sql_type: resolved.sql_type, nullable: !not_null };
        let slot = self.slot();
        self.outputs.push(slot);
        self.name_slot(name, slot, column_type, constraint)?;
        self.default_output(slot, column_type, resolved.domain.as_deref())?;
        Ok(column_type)
    }

    /// An output begins with the default of its domain.
    pub(super) fn default_output(
        &mut self,
        slot: usize,
        column_type: ColumnType,
        domain: Option<&Domain>,
    ) -> Result<()> {
        if let Some(source) = domain.and_then(|domain| domain.default_source.as_ref()) {
            let default = parsed_default(self.environment, source)?;
            let value = self.expression(&default, Some(&column_type.sql_type))?;
            self.emit(Instruction::Assign { value, slot });
        }
        Ok(())
    }

    /// A declaration, behind those `before` it.
    pub(super) fn declaration(
        &mut self,
        declaration: &ast::Declaration,
        before: &[ast::Declaration],
    ) -> Result<()> {
        match &declaration.kind {
            DeclarationKind::Variable { variable, initial } => self.variable(variable, initial.as_ref()),
            DeclarationKind::Cursor { name, scroll, query } => self.declare_cursor(name, *scroll, query),
            DeclarationKind::Procedure { signature, body } => {
                let known = forward::announced_procedure(before, signature, body.is_some())?;
                self.local_procedure(known.unwrap_or(signature), body.as_deref())
            }
            DeclarationKind::Function { signature, body } => {
                let known = forward::announced_function(before, signature, body.is_some())?;
                self.local_function(known.unwrap_or(signature), body.as_deref())
            }
        }
    }

    /// Every local routine has a body; of those that have none functions are named first.
    pub(super) fn check_bodies(&self, declarations: &[ast::Declaration]) -> Result<()> {
        let lacks = |number: Option<usize>| number.is_some_and(|number| !self.is_declared(number));
        let function = declarations.iter().find_map(|declaration| match &declaration.kind {
            DeclarationKind::Function { signature, body: None } => {
                let name = signature.name.as_str();
                let known = bind::VariableScope::local_function(&self.scope, name);
                lacks(known.map(|known| known.number)).then_some(name)
            }
            _ => None,
        });
        if let Some(name) = function {
            return Err(Error::new(isc::SUBFUNC_NOT_IMPL).with(name));
        }
        let procedure = declarations.iter().find_map(|declaration| match &declaration.kind {
            DeclarationKind::Procedure { signature, body: None } => {
                let name = signature.name.as_str();
                lacks(self.scope.procedure(name).map(|known| known.number)).then_some(name)
            }
            _ => None,
        });
        match procedure {
            Some(name) => Err(Error::new(isc::SUBPROC_NOT_IMPL).with(name)),
            None => Ok(()),
        }
    }

    fn variable(&mut self, variable: &ast::TypedName, initial: Option<&ast::Expression>) -> Result<()> {
        let resolved = self.resolve(&variable.data_type, variable.collation.as_ref())?;
        let not_null = variable.not_null || resolved.not_null;
        let name = variable.name.as_str();
        let inherited = match (initial, &resolved.domain) {
            (None, Some(domain)) => match &domain.default_source {
                Some(source) => Some(parsed_default(self.environment, source)?),
                None => None,
            },
            _ => None,
        };
        let value = match initial.or(inherited.as_ref()) {
            Some(value) => Some(self.expression(value, Some(&resolved.sql_type))?),
            None => None,
        };
        let constraint = self.constraint(name, not_null, resolved.domain.as_deref())?;
        let slot = self.slot();
        let column_type = ColumnType { sql_type: resolved.sql_type, nullable: !not_null };
        self.name_slot(name, slot, column_type, constraint)?;
        if let Some(value) = value {
            self.emit(match constraint {
                Some(constraint) => Instruction::AssignChecked { value, slot, constraint },
                None => Instruction::Assign { value, slot },
            });
        }
        Ok(())
    }

    /// Local routines do not nest (Firebird: "nested sub procedure").
    fn refuse_nesting(&self, what: &str) -> Result<()> {
        match self.kind {
            RoutineKind::LocalFunction | RoutineKind::LocalProcedure => {
                Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(what))
            }
            _ => Ok(()),
        }
    }

    fn local_procedure(
        &mut self,
        signature: &ast::ProcedureSignature,
        body: Option<&ast::RoutineBody>,
    ) -> Result<()> {
        self.refuse_nesting("nested sub procedure")?;
        let name = signature.name.as_str();
        let number = match self.scope.procedure(name) {
            Some(known) => known.number,
            None => {
                let number = self.new_local();
                let inputs = self.signature_inputs(&signature.parameters)?;
                let outputs = self.signature_outputs(&signature.returns)?;
                let (types, required) = (inputs.types, inputs.required);
                let source = Arc::new(source_of(signature, number, &types, required, &outputs));
                let declared = LocalProcedure { number, inputs: types, required, outputs, source };
                self.scope.declare_procedure(name, declared);
                number
            }
        };
        let Some(body) = body else { return Ok(()) };
        let mut compiler = self.local_compiler(RoutineKind::LocalProcedure, name);
        for parameter in &signature.parameters {
            compiler.declare_input(parameter)?;
        }
        for output in &signature.returns {
            compiler.declare_output(&output.parameter)?;
        }
        compiler.body(body)?;
        let compiled = compiler.finish();
        self.set_local(number, compiled);
        Ok(())
    }

    fn local_function(
        &mut self,
        signature: &ast::FunctionSignature,
        body: Option<&ast::RoutineBody>,
    ) -> Result<()> {
        self.refuse_nesting("nested sub function")?;
        let name = signature.name.as_str();
        let resolved = self.resolve(&signature.returns.data_type, signature.returns.collation.as_ref())?;
        let not_null = signature.returns.not_null || resolved.not_null;
        let result = ColumnType { sql_type: resolved.sql_type, nullable: !not_null };
        let known = bind::VariableScope::local_function(&self.scope, name);
        let number = match known {
            Some(known) => known.number,
            None => {
                let number = self.new_local();
                let inputs = self.signature_inputs(&signature.parameters)?;
                let parameters = inputs.types.iter().map(|input| input.sql_type).collect();
                let function = LocalFunction { number, parameters, required: inputs.required, result };
                self.scope.declare_function(name, function);
                number
            }
        };
        let Some(body) = body else { return Ok(()) };
        let mut compiler = self.local_compiler(RoutineKind::LocalFunction, name);
        for parameter in &signature.parameters {
            compiler.declare_input(parameter)?;
        }
        let constraint = compiler.constraint("number 1", not_null, resolved.domain.as_deref())?;
        let slot = compiler.slot();
        compiler.outputs.push(slot);
        compiler.result = Some((slot, result, constraint));
        compiler.body(body)?;
        let compiled = compiler.finish();
        self.set_local(number, compiled);
        Ok(())
    }

    fn signature_inputs(&self, parameters: &[ast::ParameterDeclaration]) -> Result<Inputs> {
        let mut types = Vec::new();
        let mut has_default = false;
        for declaration in parameters {
            if has_default && declaration.default.is_none() {
                return Err(sql_error(-204)
                    .and(isc::BAD_DEFAULT_VALUE)
                    .and(isc::INVALID_CLAUSE)
                    .with("defaults must be last"));
            }
            has_default |= declaration.default.is_some();
            let parameter = &declaration.parameter;
            let resolved = self.resolve(&parameter.data_type, parameter.collation.as_ref())?;
            let nullable = !(parameter.not_null || resolved.not_null);
            types.push(ColumnType { sql_type: resolved.sql_type, nullable });
        }
        let defaults =
            parameters.iter().rev().take_while(|declaration| declaration.default.is_some()).count();
        Ok(Inputs { required: types.len() - defaults, types })
    }

    fn signature_outputs(&self, outputs: &[ast::ParameterDeclaration]) -> Result<Vec<ColumnType>> {
        outputs
            .iter()
            .map(|declaration| {
                let parameter = &declaration.parameter;
                let resolved = self.resolve(&parameter.data_type, parameter.collation.as_ref())?;
                let nullable = !(parameter.not_null || resolved.not_null);
                Ok(ColumnType { sql_type: resolved.sql_type, nullable })
            })
            .collect()
    }

    fn new_local(&mut self) -> usize {
        self.locals.push(OnceLock::new());
        self.locals.len() - 1
    }

    fn is_declared(&self, number: usize) -> bool {
        self.locals.get(number).is_some_and(|local| local.get().is_some())
    }

    fn set_local(&mut self, number: usize, compiled: CompiledRoutine) {
        self.changes |= compiled.changes;
        self.executes_texts |= compiled.executes_texts;
        self.accesses.extend(compiled.accesses.iter().cloned());
        if let Some(local) = self.locals.get(number) {
            // Declared once: a second body was refused above.
            let _already = local.set(Arc::new(compiled));
        }
    }

    /// A compiler for a local routine: it sees the names declared so far, in the same slots.
    fn local_compiler(&self, kind: RoutineKind, name: &str) -> Compiler<'a> {
        let mut compiler = Compiler::new(self.environment, kind, name);
        compiler.start = self.start;
        compiler.scope = self.scope.for_local_routine();
        compiler.slots = self.slots;
        compiler.shared_slots = self.slots;
        compiler.first_input = self.slots;
        // Numbers of constraints in the scope are those of the routine around it.
        compiler.constraints.clone_from(&self.constraints);
        compiler
    }
}

/// A local procedure as a query in FROM sees it.
fn source_of(
    signature: &ast::ProcedureSignature,
    number: usize,
    inputs: &[ColumnType],
    required: usize,
    outputs: &[ColumnType],
) -> Routine {
    let parameter = |name: &str, column_type: &ColumnType, has_default: bool| RoutineParameter {
        name: name.to_owned(),
        sql_type: column_type.sql_type,
        precision: None,
        segment_size: None,
        domain: None,
        type_of_domain: None,
        type_of_column: None,
        not_null: !column_type.nullable,
        // Only whether there is one is asked: it is computed where the procedure is called.
        default_source: has_default.then(String::new),
        description: None,
    };
    let named = signature.parameters.iter().map(|parameter| parameter.parameter.name.as_str());
    let inputs = named.zip(inputs).enumerate();
    let returned = signature.returns.iter().map(|output| output.parameter.name.as_str());
    Routine {
        id: 0,
        name: signature.name.as_str().to_owned(),
        package: None,
        private: true,
        owner: String::new(),
        inputs: inputs.map(|(place, (name, of))| parameter(name, of, place >= required)).collect(),
        outputs: returned.zip(outputs).map(|(name, of)| parameter(name, of, false)).collect(),
        selectable: true,
        deterministic: false,
        source: String::new(),
        source_start: SourceStart::default(),
        source_hidden: false,
        sql_security_definer: None,
        description: None,
        engine: RoutineEngine::Local(number),
    }
}
