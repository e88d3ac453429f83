//! Requests and their statements.

use farbird_types::{Error, Result, isc};

use crate::code;
use crate::reader::Reader;
use crate::tree::{Field, FieldName, Message, Overriding, Request, Statement, Target};

/// Understands a request.
///
/// # Errors
/// `isc_invalid_blr` with the byte, and `isc_wroblrver2` for another version, `isc_syntaxerr`, `isc_ctxnotdef`,
/// `isc_ctxinuse`, `isc_badmsgnum`, `isc_imp_exc` for what is nested too deeply; `isc_wish_list` for what requests are
/// not offered.
pub fn parse(bytes: &[u8]) -> Result<Request> {
    let mut reader = Reader::new(bytes);
    let version = reader.byte()?;
    if !matches!(version, code::VERSION4 | code::VERSION5) {
        return Err(Error::new(isc::INVALID_BLR)
            .with(0)
            .and(isc::METADATA_CORRUPT)
            .and(isc::WROBLRVER2)
            .with(i32::from(code::VERSION4))
            .with(i32::from(code::VERSION5))
            .with(i32::from(version)));
    }
    let body = reader.statement()?;
    reader.expect(code::END_OF_CODE, "end_of_command")?;
    Ok(Request { messages: reader.into_messages(), body })
}

impl Reader<'_> {
    fn statement(&mut self) -> Result<Statement> {
        self.nested(Reader::statement_inside)
    }

    fn boxed_statement(&mut self) -> Result<Box<Statement>> {
        self.statement().map(Box::new)
    }

    fn statement_inside(&mut self) -> Result<Statement> {
        Ok(match self.byte()? {
            code::BEGIN => {
                let mut statements = Vec::new();
                while !self.take_if(code::END) {
                    statements.push(self.statement()?);
                }
                Statement::Block(statements)
            }
            code::MESSAGE => {
                self.message()?;
                Statement::Block(Vec::new())
            }
            code::FOR => {
                self.take_if(code::STALL);
                self.marks()?;
                Statement::For { source: self.selection()?, body: self.boxed_statement()? }
            }
            code::SEND => {
                Statement::Send { message: self.declared_message()?, body: self.boxed_statement()? }
            }
            code::RECEIVE => {
                let (message, body) = self.receive()?;
                Statement::Receive { message, body: Box::new(body) }
            }
            code::SELECT => {
                let mut choices = Vec::new();
                while !self.take_if(code::END) {
                    self.expect(code::RECEIVE, "blr_receive")?;
                    choices.push(self.receive()?);
                }
                Statement::Select(choices)
            }
            code::ASSIGNMENT => {
                let value = self.value()?;
                Statement::Assign { value, target: self.target()? }
            }
            code::IF => {
                let condition = self.condition()?;
                let then = self.boxed_statement()?;
                let otherwise = if self.take_if(code::END) { None } else { Some(self.boxed_statement()?) };
                Statement::If { condition, then, otherwise }
            }
            code::LOOP => Statement::Loop(self.boxed_statement()?),
            code::LABEL => {
                let label = self.byte()?;
                Statement::Label(label, Box::new(self.labelled(label, Reader::statement)?))
            }
            code::LEAVE => {
                let label = self.byte()?;
                if !self.is_label(label) {
                    return Err(self.unexpected("label"));
                }
                Statement::Leave(label)
            }
            // What it hands over to somebody else is an error of the request here as there.
            code::HANDLER => self.statement()?,
            code::STALL => Statement::Block(Vec::new()),
            code::STORE => self.store(None)?,
            code::STORE3 => {
                let overriding = match self.byte()? {
                    1 => Overriding::User,
                    2 => Overriding::System,
                    _ => return Err(self.unexpected("invalid blr_store3 override clause")),
                };
                let store = self.store(Some(overriding))?;
                if !self.take_if(code::NULL) {
                    // What is done with the record behind it: RETURNING.
                    self.byte()?;
                    return Err(self.unsupported());
                }
                store
            }
            code::DECLARE_VARIABLE => {
                self.word()?;
                self.data_type()?;
                Statement::Block(Vec::new())
            }
            code::MODIFY => {
                let from = self.context()?;
                let to = self.declare_context()?;
                self.marks()?;
                Statement::Modify { from, to, body: self.boxed_statement()? }
            }
            code::ERASE => {
                let context = self.context()?;
                self.marks()?;
                Statement::Erase(context)
            }
            _ => return Err(self.unsupported()),
        })
    }

    fn store(&mut self, overriding: Option<Overriding>) -> Result<Statement> {
        self.marks()?;
        let relation = self.stored_relation()?;
        Ok(Statement::Store { relation, overriding, body: self.boxed_statement()? })
    }

    /// Hints to the engine that wrote them: a number behind the number of its bytes.
    fn marks(&mut self) -> Result<()> {
        if self.take_if(code::MARKS) {
            let length = usize::from(self.byte()?);
            self.slice(length)?;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(u8, Statement)> {
        Ok((self.declared_message()?, self.statement()?))
    }

    fn message(&mut self) -> Result<()> {
        let number = self.byte()?;
        let count = self.word()?;
        let items = (0..count).map(|_| self.data_type()).collect::<Result<_>>()?;
        self.declare_message(Message { number, items })
    }

    fn declared_message(&mut self) -> Result<u8> {
        let number = self.byte()?;
        self.declared(number)?;
        Ok(number)
    }

    fn target(&mut self) -> Result<Target> {
        match self.byte()? {
            code @ (code::PARAMETER | code::PARAMETER2 | code::PARAMETER3) => {
                self.parameter(code).map(Target::Parameter)
            }
            code::FIELD => {
                let context = self.context()?;
                Ok(Target::Field(Field { context, name: FieldName::Name(self.name()?) }))
            }
            code::FIELD_ID => {
                let context = self.context()?;
                Ok(Target::Field(Field { context, name: FieldName::Id(self.word()?) }))
            }
            code::VARIABLE => self.word().map(Target::Variable),
            _ => Err(self.unexpected("assignment target")),
        }
    }
}
