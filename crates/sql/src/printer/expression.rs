//! Values and predicates.

use super::Printer;
use crate::ast::{
    AggregateArguments, AggregateCall, BinaryOperator, Case, ComparisonOperator, ContextVariable, DatePart,
    ErrorItem, Expression, ExpressionKind, FrameBound, FrameExclusion, FrameUnit, FunctionCall,
    KeywordArgumentValue, KeywordFunctionCall, Literal, Over, Quantifier, RecordKeyKind, TrimSide, Truth,
    UnaryOperator, WindowCall, WindowFrame, WindowSpecification,
};
use crate::lexer::is_identifier;

/// How tightly an expression holds together, loosest first; the parser's levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Comparison,
    Is,
    Sum,
    Product,
    Sign,
    Concatenation,
    Collate,
    At,
    Primary,
}

fn level(kind: &ExpressionKind) -> Level {
    match kind {
        ExpressionKind::Or(_) => Level::Or,
        ExpressionKind::And(_) => Level::And,
        ExpressionKind::Not(_) => Level::Not,
        ExpressionKind::Comparison { .. }
        | ExpressionKind::Quantified { .. }
        | ExpressionKind::Between { .. }
        | ExpressionKind::Like { .. }
        | ExpressionKind::SimilarTo { .. }
        | ExpressionKind::StartingWith { .. }
        | ExpressionKind::Containing { .. }
        | ExpressionKind::InList { .. }
        | ExpressionKind::InQuery { .. } => Level::Comparison,
        // EXISTS binds like a value, but arithmetic does not take it.
        ExpressionKind::Distinct { .. }
        | ExpressionKind::IsNull { .. }
        | ExpressionKind::IsTruth { .. }
        | ExpressionKind::Exists(_)
        | ExpressionKind::Singular(_) => Level::Is,
        ExpressionKind::Binary { operator: BinaryOperator::Add | BinaryOperator::Subtract, .. } => Level::Sum,
        ExpressionKind::Binary { operator: BinaryOperator::Multiply | BinaryOperator::Divide, .. } => {
            Level::Product
        }
        ExpressionKind::Binary { operator: BinaryOperator::Concatenate, .. } => Level::Concatenation,
        ExpressionKind::Unary { .. } => Level::Sign,
        ExpressionKind::Collate { .. } => Level::Collate,
        ExpressionKind::AtTimeZone { .. } => Level::At,
        _ => Level::Primary,
    }
}

impl Printer {
    pub(super) fn expression(&mut self, expression: &Expression) {
        self.operand(expression, Level::Or);
    }

    pub(super) fn expressions(&mut self, expressions: &[Expression]) {
        self.list(expressions, Self::expression);
    }

    /// An expression with its keyword, if there is one.
    pub(super) fn expression_after(&mut self, keyword: &str, expression: Option<&Expression>) {
        if let Some(expression) = expression {
            self.word(keyword).expression(expression);
        }
    }

    /// An expression where only some level binds: in parentheses if it is looser.
    fn operand(&mut self, expression: &Expression, least: Level) {
        if level(&expression.kind) < least {
            self.word("(");
            self.kind(&expression.kind);
            self.tight(")");
        } else {
            self.kind(&expression.kind);
        }
    }

    fn kind(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Column { qualifier, name } => {
                self.qualified(qualifier.as_ref(), name);
            }
            ExpressionKind::Variable { qualifier, name } => {
                self.word(":").qualified(qualifier.as_ref(), name);
            }
            ExpressionKind::RecordKey { qualifier, kind } => {
                if let Some(qualifier) = qualifier {
                    self.name(qualifier).tight(".");
                }
                self.word(match kind {
                    RecordKeyKind::DbKey => "RDB$DB_KEY",
                    RecordKeyKind::RecordVersion => "RDB$RECORD_VERSION",
                });
            }
            ExpressionKind::ArrayElement { array, subscripts } => {
                self.operand(array, Level::Primary);
                self.tight("[").expressions(subscripts);
                self.tight("]");
            }
            ExpressionKind::Parameter(_) => {
                self.word("?");
            }
            ExpressionKind::ContextVariable(variable) => self.context_variable(*variable),
            ExpressionKind::ErrorContext(item) => {
                self.word(match item {
                    ErrorItem::GdsCode => "RDB$ERROR(GDSCODE)",
                    ErrorItem::SqlCode => "RDB$ERROR(SQLCODE)",
                    ErrorItem::SqlState => "RDB$ERROR(SQLSTATE)",
                    ErrorItem::Exception => "RDB$ERROR(EXCEPTION)",
                    ErrorItem::Message => "RDB$ERROR(MESSAGE)",
                });
            }
            ExpressionKind::DomainValue => {
                self.word("VALUE");
            }
            ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExpressionKind::Binary { left, operator, right } => self.binary(left, *operator, right),
            ExpressionKind::Collate { operand, collation } => {
                self.operand(operand, Level::Collate);
                self.word("COLLATE").name(collation);
            }
            ExpressionKind::AtTimeZone { operand, zone } => {
                self.operand(operand, Level::At);
                self.word("AT");
                match zone {
                    Some(zone) => self.word("TIME ZONE").operand(zone, Level::Primary),
                    None => {
                        self.word("LOCAL");
                    }
                }
            }
            ExpressionKind::Not(operand) => self.word("NOT").operand(operand, Level::Not),
            ExpressionKind::And(operands) => self.flat(operands, "AND", Level::Not),
            ExpressionKind::Or(operands) => self.flat(operands, "OR", Level::And),
            _ => self.predicate_or_call(kind),
        }
    }

    fn predicate_or_call(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Comparison { left, operator, right } => {
                self.operand(left, Level::Comparison);
                self.word(comparison(*operator)).operand(right, Level::Is);
            }
            ExpressionKind::Quantified { left, operator, quantifier, query } => {
                self.operand(left, Level::Comparison);
                self.word(comparison(*operator));
                self.word(match quantifier {
                    Quantifier::Any => "ANY",
                    Quantifier::All => "ALL",
                });
                self.nested_query(query);
            }
            ExpressionKind::Distinct { left, right, negated } => {
                self.operand(left, Level::Is);
                self.word("IS").word_if(*negated, "NOT").word("DISTINCT FROM").operand(right, Level::Sum);
            }
            ExpressionKind::Between { operand, low, high, negated } => {
                self.operand(operand, Level::Comparison);
                self.word_if(*negated, "NOT").word("BETWEEN").operand(low, Level::Sum);
                self.word("AND").operand(high, Level::Sum);
            }
            ExpressionKind::Like { operand, pattern, escape, negated } => {
                self.pattern(operand, *negated, "LIKE", pattern, escape.as_deref());
            }
            ExpressionKind::SimilarTo { operand, pattern, escape, negated } => {
                self.pattern(operand, *negated, "SIMILAR TO", pattern, escape.as_deref());
            }
            ExpressionKind::StartingWith { operand, prefix, negated } => {
                self.pattern(operand, *negated, "STARTING WITH", prefix, None);
            }
            ExpressionKind::Containing { operand, part, negated } => {
                self.pattern(operand, *negated, "CONTAINING", part, None);
            }
            ExpressionKind::InList { operand, list, negated } => {
                self.operand(operand, Level::Comparison);
                self.word_if(*negated, "NOT").word("IN").parentheses(list, Self::expression);
            }
            ExpressionKind::InQuery { operand, query, negated } => {
                self.operand(operand, Level::Comparison);
                self.word_if(*negated, "NOT").word("IN").nested_query(query);
            }
            ExpressionKind::Exists(query) => self.word("EXISTS").nested_query(query),
            ExpressionKind::Singular(query) => self.word("SINGULAR").nested_query(query),
            ExpressionKind::Subquery(query) => self.nested_query(query),
            ExpressionKind::IsNull { operand, negated } => {
                self.operand(operand, Level::Is);
                self.word("IS").word_if(*negated, "NOT").word("NULL");
            }
            ExpressionKind::IsTruth { operand, truth, negated } => {
                self.operand(operand, Level::Is);
                self.word("IS").word_if(*negated, "NOT").word(match truth {
                    Truth::True => "TRUE",
                    Truth::False => "FALSE",
                    Truth::Unknown => "UNKNOWN",
                });
            }
            _ => self.call(kind),
        }
    }

    fn flat(&mut self, operands: &[Expression], keyword: &str, least: Level) {
        for (index, operand) in operands.iter().enumerate() {
            self.word_if(index > 0, keyword).operand(operand, least);
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression) {
        self.word(match operator {
            UnaryOperator::Plus => "+",
            UnaryOperator::Minus => "-",
        });
        // The space keeps two signs from beginning a comment. A number in parentheses stays apart from its sign where
        // both together would make another constant.
        let beyond_bigint = matches!(
            &operand.kind,
            ExpressionKind::Literal(
                Literal::Integer { value: BEYOND_BIGINT, .. }
                    | Literal::Exact { unscaled: BEYOND_BIGINT, .. }
            )
        );
        if beyond_bigint {
            self.word("(");
            self.kind(&operand.kind);
            self.tight(")");
        } else {
            self.operand(operand, Level::Sign);
        }
    }

    fn binary(&mut self, left: &Expression, operator: BinaryOperator, right: &Expression) {
        let (symbol, least, tighter) = match operator {
            BinaryOperator::Add => ("+", Level::Sum, Level::Product),
            BinaryOperator::Subtract => ("-", Level::Sum, Level::Product),
            BinaryOperator::Multiply => ("*", Level::Product, Level::Sign),
            BinaryOperator::Divide => ("/", Level::Product, Level::Sign),
            BinaryOperator::Concatenate => ("||", Level::Concatenation, Level::Collate),
        };
        self.operand(left, least);
        self.word(symbol).operand(right, tighter);
    }

    fn pattern(
        &mut self,
        operand: &Expression,
        negated: bool,
        keyword: &str,
        pattern: &Expression,
        escape: Option<&Expression>,
    ) {
        self.operand(operand, Level::Comparison);
        self.word_if(negated, "NOT").word(keyword).operand(pattern, Level::Is);
        if let Some(escape) = escape {
            self.word("ESCAPE").operand(escape, Level::Is);
        }
    }

    fn context_variable(&mut self, variable: ContextVariable) {
        let text = match variable {
            ContextVariable::CurrentUser => "CURRENT_USER",
            ContextVariable::CurrentRole => "CURRENT_ROLE",
            ContextVariable::CurrentConnection => "CURRENT_CONNECTION",
            ContextVariable::CurrentTransaction => "CURRENT_TRANSACTION",
            ContextVariable::CurrentDate => "CURRENT_DATE",
            ContextVariable::CurrentTime { precision } => return self.time("CURRENT_TIME", precision),
            ContextVariable::CurrentTimestamp { precision } => {
                return self.time("CURRENT_TIMESTAMP", precision);
            }
            ContextVariable::LocalTime { precision } => return self.time("LOCALTIME", precision),
            ContextVariable::LocalTimestamp { precision } => return self.time("LOCALTIMESTAMP", precision),
            ContextVariable::RowCount => "ROW_COUNT",
            ContextVariable::GdsCode => "GDSCODE",
            ContextVariable::SqlCode => "SQLCODE",
            ContextVariable::SqlState => "SQLSTATE",
            ContextVariable::Inserting => "INSERTING",
            ContextVariable::Updating => "UPDATING",
            ContextVariable::Deleting => "DELETING",
            ContextVariable::Resetting => "RESETTING",
        };
        self.word(text);
    }

    fn time(&mut self, name: &str, precision: u8) {
        self.word(&format!("{name}({precision})"));
    }

    // Calls.

    fn call(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Case(case) => self.case(case),
            ExpressionKind::Cast { operand, target, format } => {
                self.word("CAST(").expression(operand);
                self.word("AS").data_type(target);
                self.quoted_after("FORMAT", format.as_ref()).tight(")");
            }
            ExpressionKind::Extract { part, operand } => {
                self.word("EXTRACT(").word(date_part(*part)).word("FROM").expression(operand);
                self.tight(")");
            }
            ExpressionKind::Substring { operand, start, length } => {
                // What could be taken for FROM's text needs no care: FROM is no operator.
                self.word("SUBSTRING(").operand(operand, Level::Sum);
                self.word("FROM").expression(start);
                self.expression_after("FOR", length.as_deref());
                self.tight(")");
            }
            ExpressionKind::SubstringSimilar { operand, pattern, escape } => {
                self.word("SUBSTRING(").operand(operand, Level::Sum);
                self.word("SIMILAR").expression(pattern);
                self.word("ESCAPE").expression(escape);
                self.tight(")");
            }
            ExpressionKind::Trim { side, what, operand } => {
                self.word("TRIM(").word(match side {
                    TrimSide::Both => "BOTH",
                    TrimSide::Leading => "LEADING",
                    TrimSide::Trailing => "TRAILING",
                });
                if let Some(what) = what {
                    self.expression(what);
                }
                self.word("FROM").expression(operand);
                self.tight(")");
            }
            ExpressionKind::Overlay { operand, replacement, start, length } => {
                self.word("OVERLAY(").expression(operand);
                self.word("PLACING").expression(replacement);
                self.word("FROM").expression(start);
                self.expression_after("FOR", length.as_deref());
                self.tight(")");
            }
            ExpressionKind::DateAdd { part, amount, operand } => {
                self.word("DATEADD(").word(date_part(*part)).tight(",").expression(amount);
                self.tight(",").expression(operand);
                self.tight(")");
            }
            ExpressionKind::DateDiff { part, from, to } => {
                self.word("DATEDIFF(").word(date_part(*part)).tight(",").expression(from);
                self.tight(",").expression(to);
                self.tight(")");
            }
            ExpressionKind::PeriodDay { last, part, operand } => {
                self.word(if *last { "LAST_DAY(" } else { "FIRST_DAY(" });
                self.word("OF").word(date_part(*part)).word("FROM").expression(operand);
                self.tight(")");
            }
            ExpressionKind::Function(call) => self.function(call),
            ExpressionKind::KeywordFunction(call) => self.keyword_function(call),
            ExpressionKind::Aggregate(call) => self.aggregate(call),
            ExpressionKind::Window(call) => self.window(call),
            ExpressionKind::Sequence { name, step: None } => {
                self.word("NEXT VALUE FOR").name(name);
            }
            ExpressionKind::Sequence { name, step: Some(step) } => {
                self.word("GEN_ID(").name(name).tight(",").expression(step);
                self.tight(")");
            }
            ExpressionKind::SystemPrivilege(name) => {
                self.word("RDB$SYSTEM_PRIVILEGE(").name(name).tight(")");
            }
            // The kinds that the methods above print.
            _ => {}
        }
    }

    fn case(&mut self, case: &Case) {
        self.word("CASE");
        if let Some(operand) = &case.operand {
            self.expression(operand);
        }
        for branch in &case.branches {
            self.word("WHEN").expression(&branch.when);
            self.word("THEN").expression(&branch.then);
        }
        self.expression_after("ELSE", case.otherwise.as_ref());
        self.word("END");
    }

    fn function(&mut self, call: &FunctionCall) {
        // Names of built-in functions are keywords, which quotes would turn into plain names.
        if call.name.package.is_none() && !call.name.name.quoted && is_identifier(&call.name.name.text) {
            self.word(&call.name.name.text);
        } else {
            self.object_name(&call.name);
        }
        self.tight("(").expressions(&call.arguments);
        self.tight(")");
    }

    fn keyword_function(&mut self, call: &KeywordFunctionCall) {
        self.word(&call.name.text).tight("(").expression(&call.operand);
        for argument in &call.arguments {
            self.word(&argument.keyword.text);
            match &argument.value {
                KeywordArgumentValue::None => {}
                KeywordArgumentValue::Name(name) => {
                    self.name(name);
                }
                KeywordArgumentValue::Expression(value) => self.expression(value),
            }
        }
        self.tight(")");
    }

    fn aggregate(&mut self, call: &AggregateCall) {
        self.word(&call.function.text).tight("(").word_if(call.distinct, "DISTINCT");
        match &call.arguments {
            AggregateArguments::Star => {
                self.word("*");
            }
            AggregateArguments::List(arguments) => self.expressions(arguments),
        }
        self.tight(")");
        if !call.within_group.is_empty() {
            self.word("WITHIN GROUP (").order_by(&call.within_group);
            self.tight(")");
        }
        if let Some(filter) = &call.filter {
            self.word("FILTER (WHERE").expression(filter);
            self.tight(")");
        }
    }

    fn window(&mut self, call: &WindowCall) {
        // FILTER stands before OVER, FROM LAST behind the arguments; no function has both.
        self.aggregate(&call.call);
        self.word_if(call.from_last, "FROM LAST").word("OVER");
        match &call.over {
            Over::Name(name) => {
                self.name(name);
            }
            Over::Specification(specification) => self.window_specification(specification),
        }
    }

    pub(super) fn window_specification(&mut self, specification: &WindowSpecification) {
        self.word("(");
        if let Some(base) = &specification.base {
            self.name(base);
        }
        if !specification.partition_by.is_empty() {
            self.word("PARTITION BY").expressions(&specification.partition_by);
        }
        self.order_by(&specification.order_by);
        if let Some(frame) = &specification.frame {
            self.window_frame(frame);
        }
        self.tight(")");
    }

    fn window_frame(&mut self, frame: &WindowFrame) {
        self.word(match frame.unit {
            FrameUnit::Rows => "ROWS",
            FrameUnit::Range => "RANGE",
        });
        match &frame.end {
            Some(end) => {
                self.word("BETWEEN").frame_bound(&frame.start);
                self.word("AND").frame_bound(end);
            }
            None => self.frame_bound(&frame.start),
        }
        match frame.exclusion {
            FrameExclusion::NoOthers => {}
            FrameExclusion::CurrentRow => {
                self.word("EXCLUDE CURRENT ROW");
            }
            FrameExclusion::Group => {
                self.word("EXCLUDE GROUP");
            }
            FrameExclusion::Ties => {
                self.word("EXCLUDE TIES");
            }
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.word("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.word("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.word("CURRENT ROW"),
            FrameBound::Preceding(value) => {
                self.operand(value, Level::Sum);
                self.word("PRECEDING")
            }
            FrameBound::Following(value) => {
                self.operand(value, Level::Sum);
                self.word("FOLLOWING")
            }
        };
    }
}

/// One more than the largest BIGINT.
const BEYOND_BIGINT: i128 = 1 << 63;

fn comparison(operator: ComparisonOperator) -> &'static str {
    match operator {
        ComparisonOperator::Equal => "=",
        ComparisonOperator::NotEqual => "<>",
        ComparisonOperator::Less => "<",
        ComparisonOperator::LessOrEqual => "<=",
        ComparisonOperator::Greater => ">",
        ComparisonOperator::GreaterOrEqual => ">=",
    }
}

fn date_part(part: DatePart) -> &'static str {
    match part {
        DatePart::Year => "YEAR",
        DatePart::Quarter => "QUARTER",
        DatePart::Month => "MONTH",
        DatePart::Week => "WEEK",
        DatePart::Day => "DAY",
        DatePart::Weekday => "WEEKDAY",
        DatePart::Yearday => "YEARDAY",
        DatePart::Hour => "HOUR",
        DatePart::Minute => "MINUTE",
        DatePart::Second => "SECOND",
        DatePart::Millisecond => "MILLISECOND",
        DatePart::TimezoneHour => "TIMEZONE_HOUR",
        DatePart::TimezoneMinute => "TIMEZONE_MINUTE",
        DatePart::TimezoneName => "TIMEZONE_NAME",
    }
}
