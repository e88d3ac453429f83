//! What a routine or trigger has by name: variables, parameters, cursors, labels, routines of its own.

use farbird_blr::{Code, code};
use farbird_sql::ast::Name;
use farbird_types::SqlType;

use crate::failure::{Made, placed, unsupported};
use crate::piece::Typed;
use crate::scope::SourceColumn;

/// The message that a routine gets its inputs by, and that which it gives its outputs by.
pub(crate) const INPUT: u8 = 0;
pub(crate) const OUTPUT: u8 = 1;
/// The label of the whole body.
pub(crate) const BODY: u8 = 0;

/// What is being compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Procedure,
    Function,
    Trigger,
}

/// A variable or parameter.
#[derive(Debug, Clone)]
struct Variable {
    name: String,
    value: Typed,
}

/// A cursor.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    pub(crate) name: String,
    /// Of a declared one.
    pub(crate) number: Option<u16>,
    /// Its columns by name.
    pub(crate) columns: Vec<SourceColumn>,
    /// Its columns as FETCH assigns them.
    pub(crate) fetched: Vec<Code>,
    /// The context of its table, for WHERE CURRENT OF.
    pub(crate) table: Option<(String, u8)>,
}

/// A routine inside of a routine.
#[derive(Debug, Clone)]
pub(crate) struct SubRoutine {
    pub(crate) name: String,
    /// Of a procedure: its outputs.
    pub(crate) outputs: Option<Vec<(String, SqlType)>>,
}

/// A routine's names.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    variables: Vec<Variable>,
    pub(crate) outputs: Vec<Code>,
    next_variable: u16,
    pub(crate) next_cursor: u16,
    pub(crate) cursors: Vec<Cursor>,
    /// Loops around, the innermost last; a loop's label is its depth.
    loops: Vec<Option<String>>,
    pub(crate) routines: Vec<SubRoutine>,
    /// How many blocks with handlers, and handlers, are around.
    pub(crate) handlers: usize,
}

impl Frame {
    pub(crate) fn new(kind: Kind) -> Frame {
        Frame {
            kind,
            variables: Vec::new(),
            outputs: Vec::new(),
            next_variable: 0,
            next_cursor: 0,
            cursors: Vec::new(),
            loops: Vec::new(),
            routines: Vec::new(),
            handlers: 0,
        }
    }

    pub(crate) fn add(&mut self, name: &str, code: Code, sql_type: SqlType) {
        self.variables.push(Variable { name: name.to_owned(), value: Typed::of(code, sql_type) });
    }

    /// A variable or parameter.
    pub(crate) fn variable(&self, name: &str) -> Option<Typed> {
        self.variables.iter().rev().find(|it| it.name == name).map(|it| it.value.clone())
    }

    /// The number of a new variable.
    pub(crate) fn number(&mut self) -> u16 {
        let number = self.next_variable;
        self.next_variable = number.saturating_add(1);
        number
    }

    pub(crate) fn has_function(&self, name: &str) -> bool {
        self.routines.iter().any(|it| it.name == name && it.outputs.is_none())
    }

    /// The outputs of a procedure of the routine's own.
    pub(crate) fn outputs_of(&self, name: &str) -> Option<Vec<(String, SqlType)>> {
        self.routines.iter().find(|it| it.name == name).and_then(|it| it.outputs.clone())
    }

    /// Begins a loop; its label.
    pub(crate) fn enter_loop(&mut self, label: Option<&Name>) -> Made<u8> {
        self.loops.push(label.map(|it| it.text.clone()));
        placed(u8::try_from(self.loops.len()).ok())
    }

    pub(crate) fn leave_loop(&mut self) {
        self.loops.pop();
    }

    /// The label of the loop that LEAVE or CONTINUE means.
    pub(crate) fn label(&self, name: Option<&Name>) -> Made<u8> {
        let depth = match name {
            None => self.loops.len(),
            Some(name) => {
                let place = self.loops.iter().rposition(|it| it.as_deref() == Some(name.as_str()));
                placed(place)? + 1
            }
        };
        if depth == 0 {
            return unsupported("LEAVE outside of a loop");
        }
        placed(u8::try_from(depth).ok())
    }
}

/// blr_variable.
pub(crate) fn variable(number: u16) -> Code {
    let mut made = Code::of(&[code::VARIABLE]);
    made.word(number);
    made
}

/// A parameter of a message with the one that says whether it is NULL.
pub(crate) fn parameter(message: u8, place: u16) -> Code {
    let mut made = Code::of(&[code::PARAMETER2, message]);
    made.word(place * 2).word(place * 2 + 1);
    made
}
