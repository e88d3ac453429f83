//! Values as records of a trace show them: `param0 = integer, "2"`.
//!
//! Source: Firebird 5.0.4's text plugin. Texts are shown as UTF-8, binary ones in hexadecimal digits. Pure functions.

use std::fmt::Write;

use farbird_types::convert::to_display_text;
use farbird_types::{CharacterSet, Date, SqlType, Text, Time, Timestamp, Value};

use super::settings::Settings;

/// A value that something was called with, or has given.
#[derive(Debug, Clone)]
pub struct TracedParameter {
    /// The declared type.
    pub sql_type: SqlType,
    /// The value.
    pub value: Value,
}

/// Appends a line for each parameter, as many as the settings admit.
pub(super) fn write_parameters(text: &mut String, parameters: &[TracedParameter], settings: &Settings) {
    for (number, TracedParameter { sql_type, value }) in parameters.iter().enumerate() {
        let line = match settings.arguments_max > 0 && number >= settings.arguments_max {
            true => writeln!(text, "...{} more arguments skipped...", parameters.len() - number),
            false => {
                let (name, shown) = (type_name(sql_type), shown(value, settings.argument_bytes_max));
                writeln!(text, "param{number} = {name}, \"{shown}\"")
            }
        };
        debug_assert!(line.is_ok(), "writing to a string cannot fail");
        if settings.arguments_max > 0 && number >= settings.arguments_max {
            return;
        }
    }
}

fn type_name(sql_type: &SqlType) -> String {
    use farbird_types::ExactWidth;
    let plain = match sql_type {
        SqlType::Exact { width, scale, .. } => {
            let name = match width {
                ExactWidth::Short => "smallint",
                ExactWidth::Long => "integer",
                ExactWidth::Int64 => "bigint",
                ExactWidth::Int128 => "int128",
            };
            return if *scale == 0 { name.to_owned() } else { format!("{name}(*, {scale})") };
        }
        SqlType::Text(text) => {
            let name = match (text.varying, text.character_set == CharacterSet::OCTETS) {
                (false, false) => "char",
                (true, false) => "varchar",
                (false, true) => "binary",
                (true, true) => "varbinary",
            };
            return format!("{name}({})", text.length_bytes());
        }
        SqlType::Null => "unknown",
        SqlType::Boolean => "boolean",
        SqlType::Float => "float",
        SqlType::Double => "double precision",
        SqlType::DecFloat16 => "decfloat(16)",
        SqlType::DecFloat34 => "decfloat(34)",
        SqlType::Date => "date",
        SqlType::Time => "time",
        SqlType::Timestamp => "timestamp",
        SqlType::TimeTz => "time with time zone",
        SqlType::TimestampTz => "timestamp with time zone",
        SqlType::Blob { .. } => "blob",
        SqlType::Array => "array",
    };
    plain.to_owned()
}

fn shown(value: &Value, bytes_max: usize) -> String {
    match value {
        Value::Null => "<NULL>".to_owned(),
        Value::Boolean(truth) => if *truth { "<true>" } else { "<false>" }.to_owned(),
        Value::Text(text) => cut(text_of(text), bytes_max),
        Value::Blob(id) => format!("{:016X}", id.0),
        Value::Date(date) => date_text(*date),
        Value::Time(time) => time_text(*time),
        Value::Timestamp(Timestamp { date, time }) => format!("{}T{}", date_text(*date), time_text(*time)),
        other => to_display_text(other),
    }
}

fn text_of(text: &Text) -> String {
    match text.character_set() {
        CharacterSet::OCTETS => text.bytes().iter().map(|byte| format!("{byte:02X}")).collect(),
        _ => text.decode_lossy().into_owned(),
    }
}

fn date_text(date: Date) -> String {
    let (year, month, day) = date.year_month_day();
    format!("{year:04}-{month:02}-{day:02}")
}

fn time_text(time: Time) -> String {
    let (hour, minute, second, fraction) = time.parts();
    format!("{hour:02}:{minute:02}:{second:02}.{fraction:04}")
}

/// A text of at most so many bytes, the last three of which are points if it was longer; 0: the whole.
pub(super) fn cut(mut text: String, bytes_max: usize) -> String {
    if bytes_max > 0 && text.len() > bytes_max {
        let mut end = bytes_max.saturating_sub(3);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::{ExactSubtype, ExactWidth};

    #[test]
    fn parameters_are_cut_and_skipped_as_the_settings_say() {
        let integer =
            |scale| SqlType::Exact { width: ExactWidth::Long, scale, subtype: ExactSubtype::Integer };
        let parameter = |sql_type, value| TracedParameter { sql_type, value };
        let parameters = [
            parameter(integer(-2), Value::Integer { unscaled: -5, scale: -2 }),
            parameter(SqlType::Boolean, Value::Boolean(true)),
            parameter(SqlType::Date, Value::Null),
            parameter(SqlType::Null, Value::text("Ärger und mehr")),
            parameter(SqlType::Double, Value::Double(1.5)),
        ];
        let mut settings = Settings::default();
        settings.argument_bytes_max = 9;
        settings.arguments_max = 4;
        let mut text = String::new();
        write_parameters(&mut text, &parameters, &settings);
        assert_eq!(
            text,
            "param0 = integer(*, -2), \"-0.05\"\nparam1 = boolean, \"<true>\"\nparam2 = date, \"<NULL>\"\n\
             param3 = unknown, \"Ärger...\"\n...1 more arguments skipped...\n"
        );
    }
}
