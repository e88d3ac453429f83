//! Functions whose arguments have keywords, as they are called by name: by position, with something in the place of each that is
//! not there.

use farbird_blr::Code;
use farbird_sql::ast::{KeywordArgumentValue, KeywordFunctionCall};
use farbird_types::{CharacterSet, Text, Value};

use crate::compiler::Compiler;
use crate::failure::{Made, Unsupported, placed};
use crate::function::system;
use crate::piece::Typed;

/// A place among the arguments: the keywords that fill it.
type Place = &'static [&'static str];

/// A switch, which is a number: 1 where it is written.
const SWITCH: &str = "PKCS_1_5";

/// The places behind the operand; none for functions whose arguments come as they stand.
fn places(function: &str) -> &'static [Place] {
    match function {
        "ENCRYPT" | "DECRYPT" => &[
            &["USING"],
            &["MODE"],
            &["KEY"],
            &["IV"],
            &["CTR_BIG_ENDIAN", "CTR_LITTLE_ENDIAN"],
            &["COUNTER", "CTR_LENGTH"],
        ],
        "RSA_ENCRYPT" | "RSA_DECRYPT" => &[&["KEY"], &["LPARAM"], &["HASH"], &[SWITCH]],
        "RSA_SIGN_HASH" => &[&["KEY"], &["HASH"], &["SALT_LENGTH"], &[SWITCH]],
        "RSA_VERIFY_HASH" => &[&["SIGNATURE"], &["KEY"], &["HASH"], &["SALT_LENGTH"], &[SWITCH]],
        _ => &[],
    }
}

impl Compiler<'_> {
    /// A call with keywords.
    pub(crate) fn keyword_function(&mut self, call: &KeywordFunctionCall) -> Made<Typed> {
        let name = call.name.as_str();
        let mut arguments = vec![self.code(&call.operand)?];
        let places = places(name);
        if places.is_empty() {
            for argument in &call.arguments {
                arguments.push(self.keyword_value(argument.keyword.as_str(), &argument.value)?);
            }
        }
        for place in places {
            let given = call.arguments.iter().find(|argument| place.contains(&argument.keyword.as_str()));
            arguments.push(match given {
                Some(argument) => self.keyword_value(argument.keyword.as_str(), &argument.value)?,
                None if place.contains(&SWITCH) => Code::number(0),
                None => word("")?,
            });
        }
        system(name, &arguments)
    }

    fn keyword_value(&mut self, keyword: &str, value: &KeywordArgumentValue) -> Made<Code> {
        match value {
            KeywordArgumentValue::None if keyword == SWITCH => Ok(Code::number(1)),
            KeywordArgumentValue::None => word(keyword),
            KeywordArgumentValue::Name(name) => word(name.as_str()),
            KeywordArgumentValue::Expression(value) => self.code(value),
        }
    }
}

/// The name of an algorithm, a mode or a keyword.
fn word(text: &str) -> Made<Code> {
    let text = Text::encode(text, CharacterSet::ASCII).map_err(|error| Unsupported(error.to_string()))?;
    placed(Code::constant(&Value::Text(text)))
}
