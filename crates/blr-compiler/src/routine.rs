//! Procedures, functions and triggers: messages, declarations, the body.

use crate::compiler::Compiler;
use crate::data_type::Declared;
use crate::failure::{Made, Unsupported, placed};
use crate::frame::{BODY, Cursor, Frame, INPUT, Kind, OUTPUT, SubRoutine, parameter, variable};
use crate::piece::{assignment, block};
use crate::scope::{Scope, Source, row_of};
use crate::selected::Selected;
use crate::table::derived;
use farbird_blr::{Code, code};
use farbird_catalog::{Relation, Routine, RoutineParameter, Trigger};
use farbird_sql::ast::{
    Declaration, DeclarationKind, FunctionSignature, ParameterDeclaration, ProcedureSignature, RoutineBody,
    SelectStatement, TypedName,
};

/// Contexts of a trigger's rows.
const OLD: u8 = 0;
const NEW: u8 = 1;

/// A parameter with its type.
struct Parameter {
    name: String,
    declared: Declared,
}

impl Compiler<'_> {
    fn body_of(&self, source: &str) -> Made<RoutineBody> {
        let parsed = farbird_sql::parse_psql_body(source, &self.parse_options());
        parsed.map_err(|error| Unsupported(error.to_string()))
    }

    /// A stored procedure or function.
    pub(crate) fn routine(&mut self, routine: &Routine, kind: Kind) -> Made<Vec<u8>> {
        let body = self.body_of(&routine.source)?;
        let parameters = |list: &[RoutineParameter]| {
            let list = list
                .iter()
                .map(|it| Ok(Parameter { name: it.name.clone(), declared: self.parameter_type(it)? }));
            list.collect::<Made<Vec<_>>>()
        };
        let (inputs, outputs) = (parameters(&routine.inputs)?, parameters(&routine.outputs)?);
        Ok(self.program(Frame::new(kind), &inputs, &outputs, &body)?.program())
    }

    /// A trigger; of the rows of a table it knows OLD and NEW.
    pub(crate) fn trigger(&mut self, trigger: &Trigger, relation: Option<&Relation>) -> Made<Vec<u8>> {
        let body = self.body_of(&trigger.source)?;
        self.frame = Some(Frame::new(Kind::Trigger));
        let rows = match relation {
            Some(relation) => {
                let row =
                    |context, name| Ok(Source { qualified_only: true, ..row_of(relation, context, name)? });
                vec![row(OLD, "OLD")?, row(NEW, "NEW")?]
            }
            None => Vec::new(),
        };
        let (made, _) = self.inside(Scope::of(rows), |it| {
            let mut made = Code::of(&[code::BEGIN]);
            it.declarations(&mut made, &body.declarations)?;
            made.more(&[code::LABEL, BODY]);
            made.piece(&it.block(&body.block)?).byte(code::END);
            Ok(made)
        })?;
        Ok(made.program())
    }

    /// A routine without its version.
    fn program(
        &mut self,
        frame: Frame,
        inputs: &[Parameter],
        outputs: &[Parameter],
        body: &RoutineBody,
    ) -> Made<Code> {
        self.frame = Some(frame);
        let mut made = Code::of(&[code::BEGIN]);
        if !inputs.is_empty() {
            made.more(&[code::MESSAGE, INPUT]);
            message(&mut made, inputs, false)?;
        }
        made.more(&[code::MESSAGE, OUTPUT]);
        message(&mut made, outputs, true)?;
        if !inputs.is_empty() {
            made.more(&[code::RECEIVE, INPUT]);
        }
        made.byte(code::BEGIN);
        for (place, input) in inputs.iter().enumerate() {
            let code = parameter(INPUT, placed(u16::try_from(place).ok())?);
            if input.declared.is_domain || input.declared.not_null {
                // What is assigned is checked.
                made.piece(&assignment(&code, &Code::of(&[code::NULL])));
            }
            self.frame()?.add(&input.name, code, input.declared.sql_type);
        }
        for output in outputs {
            let number = self.declare(&mut made, &output.name, &output.declared, None)?;
            self.frame()?.outputs.push(variable(number));
        }
        self.declarations(&mut made, &body.declarations)?;
        made.more(&[code::STALL, code::LABEL, BODY]);
        made.piece(&self.block(&body.block)?).byte(code::END);
        made.piece(&self.send(false)?).byte(code::END);
        Ok(made)
    }

    /// Gives a row of outputs, or the end of them.
    pub(crate) fn send(&mut self, more: bool) -> Made<Code> {
        let frame = self.frame()?;
        let mut assignments = Vec::new();
        for (place, output) in frame.outputs.iter().enumerate() {
            let target = parameter(OUTPUT, placed(u16::try_from(place).ok())?);
            assignments.push(assignment(output, &target));
        }
        if frame.kind == Kind::Procedure {
            let place = placed(u16::try_from(frame.outputs.len() * 2).ok())?;
            let mut target = Code::of(&[code::PARAMETER, OUTPUT]);
            target.word(place);
            let value = Code::of(&[code::LITERAL, code::SHORT, 0, u8::from(more), 0]);
            assignments.push(assignment(&value, &target));
        }
        let mut made = Code::of(&[code::SEND, OUTPUT]);
        made.piece(&block(&assignments));
        Ok(made)
    }

    /// A variable; NULL at first, or what its domain says.
    fn declare(
        &mut self,
        made: &mut Code,
        name: &str,
        declared: &Declared,
        initial: Option<&Code>,
    ) -> Made<u16> {
        let number = self.frame()?.number();
        made.byte(code::DECLARE_VARIABLE).word(number).piece(&declared.code);
        match initial {
            Some(value) => drop(made.piece(&assignment(value, &variable(number)))),
            None if declared.is_domain || declared.not_null => {
                made.byte(code::INITIALIZE_VARIABLE).word(number);
            }
            None => drop(made.piece(&assignment(&Code::of(&[code::NULL]), &variable(number)))),
        }
        self.frame()?.add(name, variable(number), declared.sql_type);
        Ok(number)
    }

    fn declarations(&mut self, made: &mut Code, declarations: &[Declaration]) -> Made<()> {
        for declaration in declarations {
            match &declaration.kind {
                DeclarationKind::Variable { variable, initial } => {
                    let initial = initial.as_ref().map(|it| self.code(it)).transpose()?;
                    let declared = self.typed_name(variable)?;
                    self.declare(made, variable.name.as_str(), &declared, initial.as_ref())?;
                }
                DeclarationKind::Cursor { name, scroll, query } => {
                    self.declare_cursor(made, name.as_str(), *scroll, query)?;
                }
                // Only their names are known so far. Their bodies come later.
                DeclarationKind::Procedure { signature, body: None } => self.know_procedure(signature)?,
                DeclarationKind::Function { signature, body: None } => self.know_function(signature)?,
                DeclarationKind::Procedure { signature, body: Some(body) } => {
                    self.know_procedure(signature)?;
                    // Defaults stand in the first declaration.
                    let first = declarations.iter().find_map(|it| match &it.kind {
                        DeclarationKind::Procedure { signature: first, .. }
                            if first.name == signature.name =>
                        {
                            Some(first)
                        }
                        _ => None,
                    });
                    self.sub_procedure(made, first.unwrap_or(signature), body)?;
                }
                DeclarationKind::Function { signature, body: Some(body) } => {
                    self.know_function(signature)?;
                    let first = declarations.iter().find_map(|it| match &it.kind {
                        DeclarationKind::Function { signature: first, .. }
                            if first.name == signature.name =>
                        {
                            Some(first)
                        }
                        _ => None,
                    });
                    self.sub_function(made, first.unwrap_or(signature), body)?;
                }
            }
        }
        Ok(())
    }

    fn typed_name(&self, it: &TypedName) -> Made<Declared> {
        self.declared(&it.data_type, it.not_null, it.collation.as_ref())
    }

    fn declare_cursor(
        &mut self,
        made: &mut Code,
        name: &str,
        scroll: bool,
        query: &SelectStatement,
    ) -> Made<()> {
        let selected = self.statement_query(query)?;
        let number = self.frame()?.next_cursor;
        self.frame()?.next_cursor = number.saturating_add(1);
        made.byte(code::DECLARE_CURSOR).word(number);
        if scroll {
            made.byte(code::SCROLLABLE);
        }
        made.piece(&selected.records);
        placed(made.long_count(selected.columns.len()))?;
        let cursor = cursor(name, Some(number), selected)?;
        for column in &cursor.columns {
            made.piece(&column.value.code);
        }
        self.frame()?.cursors.push(cursor);
        Ok(())
    }

    fn know_procedure(&mut self, signature: &ProcedureSignature) -> Made<()> {
        let outputs = self.inputs(&signature.returns)?;
        let outputs = outputs.into_iter().map(|it| (it.name, it.declared.sql_type)).collect();
        self.know(SubRoutine { name: signature.name.text.clone(), outputs: Some(outputs) })
    }

    fn know_function(&mut self, signature: &FunctionSignature) -> Made<()> {
        self.know(SubRoutine { name: signature.name.text.clone(), outputs: None })
    }

    fn know(&mut self, routine: SubRoutine) -> Made<()> {
        let routines = &mut self.frame()?.routines;
        let is_known =
            |it: &SubRoutine| it.name == routine.name && it.outputs.is_some() == routine.outputs.is_some();
        if !routines.iter().any(is_known) {
            routines.push(routine);
        }
        Ok(())
    }

    /// A routine of the routine's own. Of the names around it, it sees those of routines.
    fn sub_program(
        &mut self,
        kind: Kind,
        inputs: &[Parameter],
        outputs: &[Parameter],
        body: &RoutineBody,
    ) -> Made<Vec<u8>> {
        let mut inner = Compiler::new(self.catalog, 0);
        inner.package = self.package;
        let mut frame = Frame::new(kind);
        frame.routines.clone_from(&self.frame()?.routines);
        Ok(inner.program(frame, inputs, outputs, body)?.program())
    }

    fn sub_procedure(
        &mut self,
        made: &mut Code,
        signature: &ProcedureSignature,
        body: &RoutineBody,
    ) -> Made<()> {
        let (inputs, outputs) = (self.inputs(&signature.parameters)?, self.inputs(&signature.returns)?);
        let program = self.sub_program(Kind::Procedure, &inputs, &outputs, body)?;
        made.byte(code::DECLARE_SUBPROCEDURE);
        placed(made.name(signature.name.as_str()))?;
        made.more(&[0, u8::from(crate::search::suspends(&body.block))]);
        self.names(made, &signature.parameters)?;
        self.names(made, &signature.returns)?;
        program_of(made, &program)
    }

    fn sub_function(
        &mut self,
        made: &mut Code,
        signature: &FunctionSignature,
        body: &RoutineBody,
    ) -> Made<()> {
        let inputs = self.inputs(&signature.parameters)?;
        let result = &signature.returns;
        let declared = self.declared(&result.data_type, result.not_null, result.collation.as_ref())?;
        let outputs = [Parameter { name: String::new(), declared }];
        let program = self.sub_program(Kind::Function, &inputs, &outputs, body)?;
        made.byte(code::DECLARE_SUBFUNCTION);
        placed(made.name(signature.name.as_str()))?;
        made.more(&[0, u8::from(signature.deterministic)]);
        self.names(made, &signature.parameters)?;
        // One result, without a name or a default.
        made.word(1).more(&[0, 0]);
        program_of(made, &program)
    }

    fn inputs(&self, list: &[ParameterDeclaration]) -> Made<Vec<Parameter>> {
        let list = list.iter().map(|it| {
            let declared = self.typed_name(&it.parameter)?;
            Ok(Parameter { name: it.parameter.name.text.clone(), declared })
        });
        list.collect()
    }

    /// The names of parameters, with their defaults.
    fn names(&mut self, made: &mut Code, list: &[ParameterDeclaration]) -> Made<()> {
        placed(made.long_count(list.len()))?;
        for parameter in list {
            placed(made.name(parameter.parameter.name.as_str()))?;
            made.byte(u8::from(parameter.default.is_some()));
            if let Some(default) = &parameter.default {
                made.piece(&self.code(&default.value)?);
            }
        }
        Ok(())
    }
}

/// A message of values, each with what says whether it is NULL; behind outputs, whether there are more.
fn message(made: &mut Code, parameters: &[Parameter], outputs: bool) -> Made<()> {
    let short = [code::SHORT, 0];
    placed(made.long_count(parameters.len() * 2 + usize::from(outputs)))?;
    for parameter in parameters {
        made.piece(&parameter.declared.code).more(&short);
    }
    if outputs {
        made.more(&short);
    }
    Ok(())
}

/// A whole program inside of another one, behind its length.
fn program_of(made: &mut Code, program: &[u8]) -> Made<()> {
    let length = placed(u32::try_from(program.len()).ok())?;
    made.more(&length.to_le_bytes()).more(program);
    Ok(())
}

/// A cursor over a query. Its columns by name are values of its rows, if it is at one.
pub(crate) fn cursor(name: &str, number: Option<u16>, selected: Selected) -> Made<Cursor> {
    let fetched = selected.columns.iter().map(|it| it.value.code.clone()).collect();
    let columns = selected.columns.into_iter().map(|mut column| {
        if column.value.code.bytes().first() != Some(&code::FIELD_ID) {
            column.value.code = derived(&column.value.code, &selected.contexts)?;
        }
        Ok(column)
    });
    let columns = columns.collect::<Made<Vec<_>>>()?;
    Ok(Cursor { name: name.to_owned(), number, columns, fetched, table: selected.table })
}
