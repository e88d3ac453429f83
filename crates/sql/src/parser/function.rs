//! Calls: CASE, CAST, the functions with a syntax of their own, and everything else.

use super::cursor::Parser;
use crate::ast::{
    Case, CaseBranch, DatePart, Expression, ExpressionKind, FunctionCall, KeywordArgument,
    KeywordArgumentValue, KeywordFunctionCall, ObjectName, TrimSide,
};
use farbird_types::Result;

/// Aggregates whose names are reserved, with DISTINCT and ALL.
const DISTINCT_AGGREGATES: &[&str] = &["COUNT", "SUM", "AVG", "MIN", "MAX"];

/// Aggregates whose names are reserved, without DISTINCT.
const STATISTICAL_AGGREGATES: &[&str] = &[
    "STDDEV_SAMP",
    "STDDEV_POP",
    "VAR_SAMP",
    "VAR_POP",
    "COVAR_SAMP",
    "COVAR_POP",
    "CORR",
    "REGR_AVGX",
    "REGR_AVGY",
    "REGR_COUNT",
    "REGR_INTERCEPT",
    "REGR_R2",
    "REGR_SLOPE",
    "REGR_SXX",
    "REGR_SXY",
    "REGR_SYY",
];

/// Functions that need OVER.
pub(super) const WINDOW_FUNCTIONS: &[&str] = &[
    "DENSE_RANK",
    "RANK",
    "PERCENT_RANK",
    "CUME_DIST",
    "ROW_NUMBER",
    "FIRST_VALUE",
    "LAST_VALUE",
    "NTH_VALUE",
    "LAG",
    "LEAD",
    "NTILE",
];

/// Functions with plain arguments whose names are keywords, but not reserved; other such words cannot be called.
const KEYWORD_NAMED_FUNCTIONS: &[&str] = &[
    "ABS",
    "ACOS",
    "ACOSH",
    "ASCII_CHAR",
    "ASCII_VAL",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATAN2",
    "ATANH",
    "BASE64_DECODE",
    "BASE64_ENCODE",
    "BIN_AND",
    "BIN_NOT",
    "BIN_OR",
    "BIN_SHL",
    "BIN_SHR",
    "BIN_XOR",
    "BLOB_APPEND",
    "CEIL",
    "CEILING",
    "CHAR_TO_UUID",
    "COALESCE",
    "COMPARE_DECFLOAT",
    "COS",
    "COSH",
    "COT",
    "DECODE",
    "EXP",
    "FLOOR",
    "GEN_UUID",
    "HEX_DECODE",
    "HEX_ENCODE",
    "IIF",
    "LN",
    "LOG",
    "LOG10",
    "LPAD",
    "MAKE_DBKEY",
    "MAXVALUE",
    "MINVALUE",
    "MOD",
    "NORMALIZE_DECFLOAT",
    "NULLIF",
    "PI",
    "POWER",
    "QUANTIZE",
    "RAND",
    "REPLACE",
    "REVERSE",
    "ROUND",
    "RPAD",
    "RSA_PRIVATE",
    "RSA_PUBLIC",
    "SIGN",
    "SIN",
    "SINH",
    "SQRT",
    "TAN",
    "TANH",
    "TOTALORDER",
    "TRUNC",
    "UNICODE_CHAR",
    "UNICODE_VAL",
    "UUID_TO_CHAR",
];

/// Functions with a syntax of their own whose names are not reserved.
const SPECIAL_FUNCTIONS: &[&str] =
    &["LIST", "SUBSTRING", "OVERLAY", "DATEADD", "DATEDIFF", "FIRST_DAY", "LAST_DAY", "GEN_ID"];

/// Functions with plain arguments whose names are reserved.
const RESERVED_FUNCTIONS: &[&str] = &[
    "UPPER",
    "LOWER",
    "BIT_LENGTH",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "OCTET_LENGTH",
    "LEFT",
    "RIGHT",
    "RDB$GET_CONTEXT",
    "RDB$SET_CONTEXT",
    "RDB$RESET_CONTEXT",
    "RDB$GET_TRANSACTION_CN",
    "RDB$ROLE_IN_USE",
];

/// Functions whose later arguments have keywords.
const KEYWORD_FUNCTIONS: &[&str] = &[
    "HASH",
    "CRYPT_HASH",
    "ENCRYPT",
    "DECRYPT",
    "RSA_ENCRYPT",
    "RSA_DECRYPT",
    "RSA_SIGN_HASH",
    "RSA_VERIFY_HASH",
];

/// Fewest and most arguments of the calls whose syntax fixes them; other calls are checked when they are bound.
pub(super) fn argument_counts(function: &str) -> (usize, usize) {
    match function {
        "UPPER" | "LOWER" | "BIT_LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" | "OCTET_LENGTH" => (1, 1),
        "NULLIF" => (2, 2),
        "IIF" => (3, 3),
        "COALESCE" => (2, usize::MAX),
        "DECODE" => (3, usize::MAX),
        "COUNT" | "SUM" | "AVG" | "MIN" | "MAX" | "STDDEV_SAMP" | "STDDEV_POP" | "VAR_SAMP" | "VAR_POP" => {
            (1, 1)
        }
        "LIST" => (1, 2),
        "COVAR_SAMP" | "COVAR_POP" | "CORR" | "REGR_AVGX" | "REGR_AVGY" | "REGR_COUNT" | "REGR_INTERCEPT"
        | "REGR_R2" | "REGR_SLOPE" | "REGR_SXX" | "REGR_SXY" | "REGR_SYY" => (2, 2),
        "DENSE_RANK" | "RANK" | "PERCENT_RANK" | "CUME_DIST" | "ROW_NUMBER" => (0, 0),
        "FIRST_VALUE" | "LAST_VALUE" | "NTILE" => (1, 1),
        "NTH_VALUE" => (2, 2),
        "LAG" | "LEAD" => (1, 3),
        _ => (0, usize::MAX),
    }
}

impl Parser<'_> {
    /// Whether the next token is a name that can be called, with a parenthesis behind it.
    pub(super) fn at_call(&mut self) -> bool {
        let callable = self.keyword().is_none_or(|keyword| {
            [KEYWORD_NAMED_FUNCTIONS, SPECIAL_FUNCTIONS, WINDOW_FUNCTIONS, KEYWORD_FUNCTIONS]
                .iter()
                .any(|functions| functions.contains(&keyword))
        });
        callable && self.at_name() && self.symbol_ahead(1, "(")
    }

    /// A name with a parenthesis behind it.
    pub(super) fn call(&mut self) -> Result<ExpressionKind> {
        match self.keyword().unwrap_or_default() {
            "LIST" => self.aggregate(true),
            "SUBSTRING" => self.substring(),
            "OVERLAY" => self.overlay(),
            "DATEADD" => self.date_add(),
            "DATEDIFF" => self.date_diff(),
            "FIRST_DAY" => self.period_day(false),
            "LAST_DAY" => self.period_day(true),
            "GEN_ID" => self.gen_id(),
            keyword if WINDOW_FUNCTIONS.contains(&keyword) => self.aggregate(false),
            keyword if KEYWORD_FUNCTIONS.contains(&keyword) => self.keyword_call(),
            _ => {
                let name = self.name()?;
                self.plain_call(name.into())
            }
        }
    }

    /// A reserved word that calls something.
    pub(super) fn reserved_word_call(&mut self) -> Result<ExpressionKind> {
        match self.keyword().unwrap_or_default() {
            "EXTRACT" => self.extract(),
            "TRIM" => self.trim(),
            "POSITION" => self.position_call(),
            "RDB$SYSTEM_PRIVILEGE" => self.system_privilege(),
            keyword if DISTINCT_AGGREGATES.contains(&keyword) => self.aggregate(true),
            keyword if STATISTICAL_AGGREGATES.contains(&keyword) => self.aggregate(false),
            keyword if RESERVED_FUNCTIONS.contains(&keyword) => {
                let name = self.name_of_any_word()?;
                self.plain_call(name.into())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `(argument, ...)` behind a name.
    pub(super) fn plain_call(&mut self, name: ObjectName) -> Result<ExpressionKind> {
        let built_in = name.package.is_none() && !name.name.quoted;
        let counts = if built_in { argument_counts(name.name.as_str()) } else { (0, usize::MAX) };
        self.expect_symbol("(")?;
        let arguments = self.counted_arguments(counts)?;
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Function(Box::new(FunctionCall { name, arguments })))
    }

    /// Arguments, at least and at most so many.
    pub(super) fn counted_arguments(&mut self, (fewest, most): (usize, usize)) -> Result<Vec<Expression>> {
        let mut arguments = Vec::new();
        if fewest == 0 && (most == 0 || self.at_symbol(")")) {
            return Ok(arguments);
        }
        arguments.push(self.expression()?);
        while arguments.len() < most && (arguments.len() < fewest || self.at_symbol(",")) {
            self.expect_symbol(",")?;
            arguments.push(self.expression()?);
        }
        Ok(arguments)
    }

    /// `NEXT VALUE FOR sequence`.
    pub(super) fn next_value(&mut self) -> Result<ExpressionKind> {
        self.expect_keywords(&["NEXT", "VALUE", "FOR"])?;
        Ok(ExpressionKind::Sequence { name: self.name()?, step: None })
    }

    fn gen_id(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let name = self.name()?;
        self.expect_symbol(",")?;
        let step = Some(Box::new(self.expression()?));
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Sequence { name, step })
    }

    // Conditions and conversions.

    pub(super) fn case(&mut self) -> Result<ExpressionKind> {
        self.take();
        let operand = if self.at_keyword("WHEN") { None } else { Some(self.expression()?) };
        let mut branches = Vec::new();
        while branches.is_empty() || self.at_keyword("WHEN") {
            self.expect_keyword("WHEN")?;
            let when = self.expression()?;
            self.expect_keyword("THEN")?;
            branches.push(CaseBranch { when, then: self.expression()? });
        }
        let otherwise = if self.eat_keyword("ELSE") { Some(self.expression()?) } else { None };
        self.expect_keyword("END")?;
        Ok(ExpressionKind::Case(Box::new(Case { operand, branches, otherwise })))
    }

    pub(super) fn cast(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let operand = Box::new(self.expression()?);
        self.expect_keyword("AS")?;
        let target = Box::new(self.data_type()?);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Cast { operand, target, format: None })
    }

    // Dates.

    fn date_part(&mut self) -> Result<DatePart> {
        let part = self.date_part_ahead().ok_or_else(|| self.unexpected())?;
        self.take();
        Ok(part)
    }

    fn date_part_ahead(&self) -> Option<DatePart> {
        Some(match self.keyword()? {
            "YEAR" => DatePart::Year,
            "QUARTER" => DatePart::Quarter,
            "MONTH" => DatePart::Month,
            "WEEK" => DatePart::Week,
            "DAY" => DatePart::Day,
            "WEEKDAY" => DatePart::Weekday,
            "YEARDAY" => DatePart::Yearday,
            "HOUR" => DatePart::Hour,
            "MINUTE" => DatePart::Minute,
            "SECOND" => DatePart::Second,
            "MILLISECOND" => DatePart::Millisecond,
            "TIMEZONE_HOUR" => DatePart::TimezoneHour,
            "TIMEZONE_MINUTE" => DatePart::TimezoneMinute,
            "TIMEZONE_NAME" => DatePart::TimezoneName,
            _ => return None,
        })
    }

    fn extract(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let part = self.date_part()?;
        self.expect_keyword("FROM")?;
        let operand = Box::new(self.expression()?);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Extract { part, operand })
    }

    fn date_add(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let kind = if self.date_part_ahead().is_some() && self.symbol_ahead(1, ",") {
            let part = self.date_part()?;
            self.expect_symbol(",")?;
            let amount = Box::new(self.expression()?);
            self.expect_symbol(",")?;
            ExpressionKind::DateAdd { part, amount, operand: Box::new(self.expression()?) }
        } else {
            let amount = Box::new(self.expression()?);
            let part = self.date_part()?;
            self.expect_keyword("TO")?;
            ExpressionKind::DateAdd { part, amount, operand: Box::new(self.expression()?) }
        };
        self.expect_symbol(")")?;
        Ok(kind)
    }

    fn date_diff(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let part = self.date_part()?;
        let with_commas = self.eat_symbol(",");
        if !with_commas {
            self.expect_keyword("FROM")?;
        }
        let from = Box::new(self.expression()?);
        if with_commas {
            self.expect_symbol(",")?;
        } else {
            self.expect_keyword("TO")?;
        }
        let to = Box::new(self.expression()?);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::DateDiff { part, from, to })
    }

    fn period_day(&mut self, last: bool) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        self.expect_keyword("OF")?;
        if !self.at_any_keyword(&["YEAR", "QUARTER", "MONTH", "WEEK"]) {
            return Err(self.unexpected());
        }
        let part = self.date_part()?;
        self.expect_keyword("FROM")?;
        let operand = Box::new(self.expression()?);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::PeriodDay { last, part, operand })
    }

    // Texts.

    fn substring(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        // SIMILAR is an operator too; here only `SIMILAR TO` could be one, and Firebird does not take that.
        let operand = Box::new(self.substring_operand()?);
        let kind = if self.eat_keyword("SIMILAR") {
            let pattern = Box::new(self.expression()?);
            self.expect_keyword("ESCAPE")?;
            ExpressionKind::SubstringSimilar { operand, pattern, escape: Box::new(self.expression()?) }
        } else {
            self.expect_keyword("FROM")?;
            let start = Box::new(self.expression()?);
            let length = self.optional_after("FOR")?;
            ExpressionKind::Substring { operand, start, length }
        };
        self.expect_symbol(")")?;
        Ok(kind)
    }

    fn overlay(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let operand = Box::new(self.expression()?);
        self.expect_keyword("PLACING")?;
        let replacement = Box::new(self.expression()?);
        self.expect_keyword("FROM")?;
        let start = Box::new(self.expression()?);
        let length = self.optional_after("FOR")?;
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Overlay { operand, replacement, start, length })
    }

    /// `[KEYWORD value]`.
    fn optional_after(&mut self, keyword: &str) -> Result<Option<Box<Expression>>> {
        if self.eat_keyword(keyword) { Ok(Some(Box::new(self.expression()?))) } else { Ok(None) }
    }

    fn trim(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let side = match self.keyword() {
            Some("BOTH") => Some(TrimSide::Both),
            Some("LEADING") => Some(TrimSide::Leading),
            Some("TRAILING") => Some(TrimSide::Trailing),
            _ => None,
        };
        if side.is_some() {
            self.take();
        }
        let what = if side.is_some() && self.at_keyword("FROM") { None } else { Some(self.expression()?) };
        let (what, operand) = match what {
            Some(operand) if side.is_none() && !self.at_keyword("FROM") => (None, operand),
            what => {
                self.expect_keyword("FROM")?;
                (what.map(Box::new), self.expression()?)
            }
        };
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Trim { side: side.unwrap_or(TrimSide::Both), what, operand: Box::new(operand) })
    }

    /// `POSITION(part IN text)`, `POSITION(part, text [, start])`: both become calls with plain arguments.
    fn position_call(&mut self) -> Result<ExpressionKind> {
        let name = self.name_of_any_word()?;
        self.expect_symbol("(")?;
        let part = self.position_operand()?;
        let mut arguments = vec![part];
        if self.eat_keyword("IN") {
            arguments.push(self.expression()?);
        } else {
            while self.eat_symbol(",") {
                arguments.push(self.expression()?);
            }
        }
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Function(Box::new(FunctionCall { name: name.into(), arguments })))
    }

    fn system_privilege(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let privilege = self.name()?;
        self.expect_symbol(")")?;
        Ok(ExpressionKind::SystemPrivilege(privilege))
    }

    /// HASH, ENCRYPT and their siblings.
    fn keyword_call(&mut self) -> Result<ExpressionKind> {
        let name = self.name()?;
        self.expect_symbol("(")?;
        let operand = self.expression()?;
        let mut arguments = Vec::new();
        for (words, is_required) in clauses_of(name.as_str()) {
            if *is_required || self.at_any_keyword(words) {
                arguments.push(self.keyword_argument(words)?);
            }
        }
        self.expect_symbol(")")?;
        Ok(ExpressionKind::KeywordFunction(Box::new(KeywordFunctionCall { name, operand, arguments })))
    }

    fn keyword_argument(&mut self, words: &[&str]) -> Result<KeywordArgument> {
        const NAMES: &[&str] = &["USING", "MODE", "HASH"];
        const VALUES: &[&str] = &["KEY", "IV", "COUNTER", "CTR_LENGTH", "LPARAM", "SALT_LENGTH", "SIGNATURE"];
        let takes_name = self.at_any_keyword(NAMES);
        let takes_value = self.at_any_keyword(VALUES);
        if !self.at_any_keyword(words) {
            return Err(self.unexpected());
        }
        let keyword = self.name_of_any_word()?;
        let value = if takes_name {
            KeywordArgumentValue::Name(self.name()?)
        } else if takes_value {
            KeywordArgumentValue::Expression(self.expression()?)
        } else {
            KeywordArgumentValue::None
        };
        Ok(KeywordArgument { keyword, value })
    }
}

/// The clauses of a function behind its first argument, in their order, and whether each must be there.
fn clauses_of(function: &str) -> &'static [(&'static [&'static str], bool)] {
    match function {
        "ENCRYPT" | "DECRYPT" => &[
            (&["USING"], true),
            (&["MODE"], false),
            (&["KEY"], true),
            (&["IV"], false),
            (&["CTR_BIG_ENDIAN", "CTR_LITTLE_ENDIAN"], false),
            (&["COUNTER", "CTR_LENGTH"], false),
        ],
        "RSA_ENCRYPT" | "RSA_DECRYPT" => {
            &[(&["KEY"], true), (&["LPARAM"], false), (&["HASH"], false), (&["PKCS_1_5"], false)]
        }
        "RSA_SIGN_HASH" => {
            &[(&["KEY"], true), (&["HASH"], false), (&["SALT_LENGTH"], false), (&["PKCS_1_5"], false)]
        }
        "RSA_VERIFY_HASH" => &[
            (&["SIGNATURE"], true),
            (&["KEY"], true),
            (&["HASH"], false),
            (&["SALT_LENGTH"], false),
            (&["PKCS_1_5"], false),
        ],
        "CRYPT_HASH" => &[(&["USING"], true)],
        _ => &[(&["USING"], false)],
    }
}
