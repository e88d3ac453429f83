//! Syntax tree to text.
//!
//! Promises: parsing the text of a parsed tree gives an equal tree (of dialect 3). Parentheses stand where precedence needs
//! them and nowhere else; keywords are in upper case; names are quoted unless they can be taken for nothing else.
//!
//! All trees implement [`std::fmt::Display`] by this module.

mod ddl;
mod expression;
mod literal;
mod psql;
mod query;
mod routine;
mod security;
mod session;
mod statement;

use crate::ast::{
    DataType, Expression, Name, ObjectName, Query, RoutineBody, SelectStatement, Statement, StatementKind,
};
use crate::lexer::is_plain_name;
use std::fmt;

/// Spaces for each level of PSQL.
const INDENTATION: &str = "  ";

/// A text in the making.
#[derive(Default)]
struct Printer {
    text: String,
    level: usize,
    /// Whether the next word follows without a space.
    glued: bool,
}

impl Printer {
    /// Appends something with a space before it, unless it begins a line or follows what holds on to it.
    fn word(&mut self, word: &str) -> &mut Self {
        if !self.glued && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
        self.text.push_str(word);
        self.glued = word.ends_with(['(', ':']);
        self
    }

    /// Appends something directly behind what is there.
    fn tight(&mut self, symbol: &str) -> &mut Self {
        self.text.push_str(symbol);
        self.glued = symbol.ends_with(['(', '[', '.']);
        self
    }

    /// Appends something if it is to be there.
    fn word_if(&mut self, condition: bool, word: &str) -> &mut Self {
        if condition {
            self.word(word);
        }
        self
    }

    /// Begins a new line.
    fn line(&mut self) -> &mut Self {
        self.glued = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        for _ in 0..self.level {
            self.text.push_str(INDENTATION);
        }
        self
    }

    /// Items with commas between them.
    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) -> &mut Self {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.tight(",");
            }
            print(self, item);
        }
        self
    }

    /// Items in parentheses with commas between them.
    fn parentheses<T>(&mut self, items: &[T], print: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.word("(").list(items, print).tight(")")
    }

    /// A name, in quotes where it needs them.
    fn name(&mut self, name: &Name) -> &mut Self {
        if is_plain_name(&name.text) {
            return self.word(&name.text);
        }
        let quoted = format!("\"{}\"", name.text.replace('"', "\"\""));
        self.word(&quoted)
    }

    /// A name with its keyword, if there is one.
    fn name_after(&mut self, keyword: &str, name: Option<&Name>) -> &mut Self {
        if let Some(name) = name {
            self.word(keyword).name(name);
        }
        self
    }

    /// Names in parentheses; nothing if there are none.
    fn names_in_parentheses(&mut self, names: &[Name]) -> &mut Self {
        if !names.is_empty() {
            self.parentheses(names, |printer, name| {
                printer.name(name);
            });
        }
        self
    }

    fn names(&mut self, names: &[Name]) -> &mut Self {
        self.list(names, |printer, name| {
            printer.name(name);
        })
    }

    fn qualified(&mut self, qualifier: Option<&Name>, name: &Name) -> &mut Self {
        if let Some(qualifier) = qualifier {
            self.name(qualifier).tight(".");
        }
        self.name(name)
    }

    fn object_name(&mut self, name: &ObjectName) -> &mut Self {
        self.qualified(name.package.as_ref(), &name.name)
    }

    /// A text in single quotes.
    fn quoted(&mut self, text: &str) -> &mut Self {
        let quoted = format!("'{}'", text.replace('\'', "''"));
        self.word(&quoted)
    }

    /// A text with its keyword, if there is one.
    fn quoted_after(&mut self, keyword: &str, text: Option<&String>) -> &mut Self {
        if let Some(text) = text {
            self.word(keyword).quoted(text);
        }
        self
    }

    fn number(&mut self, number: impl fmt::Display) -> &mut Self {
        self.word(&number.to_string())
    }

    /// A number with its keyword, if there is one.
    fn number_after(&mut self, keyword: &str, number: Option<impl fmt::Display>) -> &mut Self {
        if let Some(number) = number {
            self.word(keyword).number(number);
        }
        self
    }
}

/// Implements Display by a method of the printer.
macro_rules! display {
    ($($tree:ty => $method:ident),* $(,)?) => {
        $(impl fmt::Display for $tree {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut printer = Printer::default();
                printer.$method(self);
                f.write_str(&printer.text)
            }
        })*
    };
}

display! {
    StatementKind => statement,
    Expression => expression,
    Query => query,
    SelectStatement => select_statement,
    DataType => data_type,
    RoutineBody => routine_body,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}
