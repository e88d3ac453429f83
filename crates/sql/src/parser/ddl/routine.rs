//! Procedures, functions, packages, external functions.

use crate::ast::{
    AlterRoutineOptions, DdlStatement, DeclareExternalFunction, DefineFunction, DefineMode, DefinePackage,
    DefinePackageBody, DefineProcedure, ExternalArgument, ExternalBody, ExternalMechanism, ExternalResult,
    FunctionResult, FunctionSignature, PackageBodyItem, PackageItem, ParameterDeclaration, Position,
    ProcedureSignature, RoutineDefinition,
};
use crate::parser::cursor::Parser;
use farbird_types::Result;

impl Parser<'_> {
    /// `PROCEDURE signature definition`.
    pub(super) fn define_procedure(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        if mode == DefineMode::Alter && self.at_routine_options() {
            return self.routine_options(false);
        }
        let (signature, definition) = self.procedure()?;
        Ok(DdlStatement::DefineProcedure(DefineProcedure { mode, signature, definition }))
    }

    /// `FUNCTION signature definition`.
    pub(super) fn define_function(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        if mode == DefineMode::Alter && self.at_routine_options() {
            return self.routine_options(true);
        }
        let (signature, definition) = self.function()?;
        Ok(DdlStatement::DefineFunction(DefineFunction { mode, signature, definition }))
    }

    /// Whether ALTER goes on with options alone: a name, and then neither parameters nor a body.
    fn at_routine_options(&mut self) -> bool {
        self.keyword_ahead(1, "DETERMINISTIC")
            || self.keyword_ahead(1, "NOT")
            || self.keyword_ahead(1, "DROP")
            || self.keyword_ahead(1, "SQL")
                && !self.keyword_ahead(4, "AS")
                && !self.keyword_ahead(4, "EXTERNAL")
    }

    /// `name [[NOT] DETERMINISTIC] [SQL SECURITY ... | DROP SQL SECURITY]`.
    fn routine_options(&mut self, function: bool) -> Result<DdlStatement> {
        let name = self.name()?;
        let deterministic = if !function {
            None
        } else if self.eat_keyword("NOT") {
            self.expect_keyword("DETERMINISTIC")?;
            Some(false)
        } else {
            self.eat_keyword("DETERMINISTIC").then_some(true)
        };
        let sql_security = self.sql_security_change()?;
        if deterministic.is_none() && sql_security.is_none() {
            return Err(self.unexpected());
        }
        let options = AlterRoutineOptions { function, name, deterministic, sql_security };
        Ok(DdlStatement::AlterRoutineOptions(options))
    }

    fn procedure(&mut self) -> Result<(ProcedureSignature, RoutineDefinition)> {
        let mut signature = self.procedure_signature()?;
        signature.sql_security = self.sql_security()?;
        Ok((signature, self.routine_definition()?))
    }

    fn function(&mut self) -> Result<(FunctionSignature, RoutineDefinition)> {
        let mut signature = self.function_signature()?;
        signature.sql_security = self.sql_security()?;
        Ok((signature, self.routine_definition()?))
    }

    /// `AS body`, `EXTERNAL ...`.
    pub(super) fn routine_definition(&mut self) -> Result<RoutineDefinition> {
        if self.at_keyword("EXTERNAL") {
            return Ok(RoutineDefinition::External(self.external_body()?));
        }
        self.expect_keyword("AS")?;
        Ok(RoutineDefinition::Body(Box::new(self.routine_body()?)))
    }

    /// `EXTERNAL [NAME 'entry'] ENGINE engine [AS 'text']`.
    pub(super) fn external_body(&mut self) -> Result<ExternalBody> {
        self.expect_keyword("EXTERNAL")?;
        let entry_point = if self.eat_keyword("NAME") { Some(self.text()?) } else { None };
        self.expect_keyword("ENGINE")?;
        let engine = self.name()?;
        let text = if self.eat_keyword("AS") { Some(self.text()?) } else { None };
        Ok(ExternalBody { entry_point, engine, text })
    }

    // Signatures.

    /// `name [(parameters)] [RETURNS (parameters)]`.
    pub(in crate::parser) fn procedure_signature(&mut self) -> Result<ProcedureSignature> {
        let name = self.name()?;
        let parameters = self.input_parameters()?;
        let returns = self.output_parameters()?;
        Ok(ProcedureSignature { name, parameters, returns, sql_security: None })
    }

    /// `name [(parameters)] RETURNS type [DETERMINISTIC]`.
    pub(in crate::parser) fn function_signature(&mut self) -> Result<FunctionSignature> {
        let name = self.name()?;
        let parameters = self.input_parameters()?;
        self.expect_keyword("RETURNS")?;
        let data_type = self.data_type()?;
        let not_null = self.at_keyword("NOT") && self.keyword_ahead(1, "NULL") && self.not_null()?;
        let returns = FunctionResult { data_type, not_null, collation: self.collation()? };
        let deterministic = if self.eat_keyword("NOT") {
            self.expect_keyword("DETERMINISTIC")?;
            false
        } else {
            self.eat_keyword("DETERMINISTIC")
        };
        Ok(FunctionSignature { name, parameters, returns, deterministic, sql_security: None })
    }

    /// `[([parameter, ...])]`.
    fn input_parameters(&mut self) -> Result<Vec<ParameterDeclaration>> {
        if !self.eat_symbol("(") || self.eat_symbol(")") {
            return Ok(Vec::new());
        }
        let parameters = self.comma_list(|parser| {
            let parameter = parser.typed_name()?;
            Ok(ParameterDeclaration { parameter, default: parser.default_clause_opt()? })
        })?;
        self.expect_symbol(")")?;
        Ok(parameters)
    }

    /// `[RETURNS (parameter, ...)]`.
    pub(in crate::parser) fn output_parameters(&mut self) -> Result<Vec<ParameterDeclaration>> {
        if !self.eat_keyword("RETURNS") {
            return Ok(Vec::new());
        }
        self.parenthesised_list(|parser| {
            Ok(ParameterDeclaration { parameter: parser.typed_name()?, default: None })
        })
    }

    // Packages.

    /// `PACKAGE name ...`, `PACKAGE BODY name ...`.
    pub(super) fn define_package(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        // BODY is a name too: `CREATE PACKAGE BODY AS BEGIN`.
        let is_body =
            self.at_keyword("BODY") && !self.keyword_ahead(1, "AS") && !self.keyword_ahead(1, "SQL");
        if is_body {
            self.take();
            // A body is created or recreated, never altered: of those BODY is the package's name.
            if matches!(mode, DefineMode::Alter | DefineMode::CreateOrAlter) {
                return Err(self.unexpected());
            }
            return self.define_package_body(mode);
        }
        let name = self.name()?;
        let sql_security = self.sql_security()?;
        self.expect_keyword("AS")?;
        let start = self.source_start();
        self.expect_keyword("BEGIN")?;
        let mut items = Vec::new();
        while !self.at_keyword("END") {
            items.push(self.package_item()?);
        }
        self.take();
        let source = self.source_since(start);
        Ok(DdlStatement::DefinePackage(DefinePackage { mode, name, sql_security, items, source }))
    }

    fn package_item(&mut self) -> Result<PackageItem> {
        let item = if self.eat_keyword("FUNCTION") {
            PackageItem::Function(self.function_signature()?)
        } else {
            self.expect_keyword("PROCEDURE")?;
            PackageItem::Procedure(self.procedure_signature()?)
        };
        self.expect_symbol(";")?;
        Ok(item)
    }

    fn define_package_body(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        let name = self.name()?;
        self.expect_keyword("AS")?;
        let start = self.source_start();
        self.expect_keyword("BEGIN")?;
        let mut items = Vec::new();
        // Declarations come before all definitions.
        let mut may_declare = true;
        while !self.at_keyword("END") {
            let item = self.package_body_item(may_declare)?;
            may_declare &= matches!(
                item,
                PackageBodyItem::Procedure { definition: None, .. }
                    | PackageBodyItem::Function { definition: None, .. }
            );
            items.push(item);
        }
        self.take();
        let source = self.source_since(start);
        Ok(DdlStatement::DefinePackageBody(DefinePackageBody { mode, name, items, source }))
    }

    fn package_body_item(&mut self, may_declare: bool) -> Result<PackageBodyItem> {
        if self.eat_keyword("FUNCTION") {
            let mut signature = self.function_signature()?;
            let definition = self.package_definition(may_declare, |parser| {
                signature.sql_security = parser.sql_security()?;
                parser.routine_definition()
            })?;
            return Ok(PackageBodyItem::Function { signature, definition });
        }
        self.expect_keyword("PROCEDURE")?;
        let mut signature = self.procedure_signature()?;
        let definition = self.package_definition(may_declare, |parser| {
            signature.sql_security = parser.sql_security()?;
            parser.routine_definition()
        })?;
        Ok(PackageBodyItem::Procedure { signature, definition })
    }

    /// A definition, or the semicolon of a declaration; that of an external routine ends with one too.
    fn package_definition(
        &mut self,
        may_declare: bool,
        define: impl FnOnce(&mut Self) -> Result<RoutineDefinition>,
    ) -> Result<Option<RoutineDefinition>> {
        if may_declare && self.eat_symbol(";") {
            return Ok(None);
        }
        let definition = define(self)?;
        if matches!(definition, RoutineDefinition::External(_)) {
            self.expect_symbol(";")?;
        }
        Ok(Some(definition))
    }

    // External functions of old.

    pub(super) fn declare_external_function(&mut self, position: Position) -> Result<DdlStatement> {
        let name = self.name()?;
        let arguments = if self.at_keyword("RETURNS") {
            Vec::new()
        } else if self.at_symbol("(") {
            self.parenthesised_list(Self::external_argument)?
        } else {
            self.comma_list(Self::external_argument)?
        };
        self.expect_keyword("RETURNS")?;
        let in_parentheses = self.eat_symbol("(");
        let (returns, free_it) = self.external_result()?;
        if in_parentheses {
            self.expect_symbol(")")?;
        }
        self.expect_keyword("ENTRY_POINT")?;
        let entry_point = self.text()?;
        self.expect_keyword("MODULE_NAME")?;
        let module_name = self.text()?;
        Ok(DdlStatement::DeclareExternalFunction(DeclareExternalFunction {
            name,
            arguments,
            returns,
            free_it,
            entry_point,
            module_name,
            position,
        }))
    }

    fn external_argument(&mut self) -> Result<ExternalArgument> {
        let data_type = self.type_without_domain()?;
        let mechanism = if self.eat_keyword("NULL") {
            ExternalMechanism::ReferenceWithNull
        } else if self.eat_keywords(&["BY", "SCALAR_ARRAY"]) {
            ExternalMechanism::ScalarArray
        } else if self.eat_keywords(&["BY", "DESCRIPTOR"]) {
            ExternalMechanism::Descriptor
        } else {
            ExternalMechanism::Reference
        };
        Ok(ExternalArgument { data_type, mechanism })
    }

    /// The result, and whether FREE_IT.
    fn external_result(&mut self) -> Result<(ExternalResult, bool)> {
        if self.eat_keyword("PARAMETER") {
            let number = self.positive_short()?;
            return Ok((ExternalResult::Parameter(u16::try_from(number).unwrap_or(u16::MAX)), false));
        }
        let data_type = self.type_without_domain()?;
        let mechanism = if self.eat_keywords(&["BY", "VALUE"]) {
            let argument = ExternalArgument { data_type, mechanism: ExternalMechanism::Value };
            return Ok((ExternalResult::Value(argument), false));
        } else if self.eat_keywords(&["BY", "DESCRIPTOR"]) {
            ExternalMechanism::Descriptor
        } else {
            ExternalMechanism::Reference
        };
        let free_it = self.eat_keyword("FREE_IT");
        Ok((ExternalResult::Value(ExternalArgument { data_type, mechanism }), free_it))
    }

    /// `EXTERNAL FUNCTION name [ENTRY_POINT 'x'] [MODULE_NAME 'x']`.
    pub(super) fn alter_external_function(&mut self) -> Result<DdlStatement> {
        self.expect_keywords(&["EXTERNAL", "FUNCTION"])?;
        let name = self.name()?;
        let entry_point = if self.eat_keyword("ENTRY_POINT") { Some(self.text()?) } else { None };
        let module_name = if self.eat_keyword("MODULE_NAME") { Some(self.text()?) } else { None };
        Ok(DdlStatement::AlterExternalFunction { name, entry_point, module_name })
    }
}
