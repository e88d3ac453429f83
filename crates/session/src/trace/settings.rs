//! What a trace session is to show: the elements of a configuration's sections, understood.
//!
//! Each element is obeyed, or refused by its name where there is nothing of the kind here. Names, defaults and the texts of refusals are
//! those of Firebird 5.0.4 (fbtrace.conf). Texts in, values out; patterns are compiled by whoever knows SIMILAR TO.

use farbird_types::error::code_by_symbol;
use farbird_types::{Error, Result, isc};

use super::syntax::{self, Element};
use crate::interrupt::Interrupt;

/// Whether a text is of a pattern; looking for that stops with the interrupt, and then it is not.
pub type Matcher = Box<dyn Fn(&str, &Interrupt) -> bool + Send + Sync>;

/// Compiles a pattern of SIMILAR TO with `\` as escape; the second argument says whether letters' case is ignored.
pub type CompilePattern<'a> = &'a dyn Fn(&str, bool) -> Result<Matcher>;

/// Something that is shown only if it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// Attaching and detaching.
    Connection = 1,
    /// Beginnings and ends of transactions.
    Transaction = 1 << 1,
    /// A statement is prepared.
    Prepare = 1 << 2,
    /// A cursor is closed, a statement forgotten.
    Free = 1 << 3,
    /// A statement begins to run.
    StatementStart = 1 << 4,
    /// A statement has run, or the last row of its cursor was fetched.
    StatementFinish = 1 << 5,
    /// A stored procedure begins.
    ProcedureStart = 1 << 6,
    /// A stored procedure has ended.
    ProcedureFinish = 1 << 7,
    /// A stored function begins.
    FunctionStart = 1 << 8,
    /// A stored function has ended.
    FunctionFinish = 1 << 9,
    /// A trigger begins.
    TriggerStart = 1 << 10,
    /// A trigger has ended.
    TriggerFinish = 1 << 11,
    /// RDB$SET_CONTEXT.
    Context = 1 << 12,
    /// A call fails.
    Error = 1 << 13,
    /// The watched one comes and goes: TRACE_INIT, TRACE_FINI.
    Init = 1 << 14,
    /// Services are attached to, started and left.
    Service = 1 << 15,
    /// Services are asked.
    ServiceQuery = 1 << 16,
}

/// What is shown of a database's attachments, or of the services.
pub struct Settings {
    /// What is shown, as bits of [`Event`].
    events: u32,
    /// The only attachment that is shown; 0 for all.
    pub connection_id: u64,
    /// Plans of statements.
    pub plan: bool,
    /// Plans in their explained form.
    pub explained_plan: bool,
    /// Rows changed, by table.
    pub performance: bool,
    /// Most bytes of a statement's text; 0: all.
    pub sql_bytes_max: usize,
    /// Most bytes of a parameter; 0: all.
    pub argument_bytes_max: usize,
    /// Most parameters; 0: all.
    pub arguments_max: usize,
    /// What took less is not shown when it ends, in milliseconds.
    pub threshold_ms: u64,
    include: Option<Matcher>,
    exclude: Option<Matcher>,
    include_codes: Vec<u32>,
    exclude_codes: Vec<u32>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            events: Event::Init as u32,
            connection_id: 0,
            plan: false,
            explained_plan: false,
            performance: false,
            sql_bytes_max: 300,
            argument_bytes_max: 80,
            arguments_max: 30,
            threshold_ms: 100,
            include: None,
            exclude: None,
            include_codes: Vec::new(),
            exclude_codes: Vec::new(),
        }
    }
}

impl Settings {
    /// What is shown, as bits of [`Event`].
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Whether something is shown.
    pub fn shows(&self, event: Event) -> bool {
        self.events & event as u32 != 0
    }

    /// Whether a statement of this text, or a service of this name, is shown.
    pub fn admits(&self, text: &str, interrupt: &Interrupt) -> bool {
        self.include.as_ref().is_none_or(|include| include(text, interrupt))
            && !self.exclude.as_ref().is_some_and(|exclude| exclude(text, interrupt))
    }

    /// Whether an error is shown.
    pub fn admits_error(&self, error: &Error) -> bool {
        let has_any = |codes: &[u32]| codes.iter().any(|code| error.has(*code));
        (self.include_codes.is_empty() || has_any(&self.include_codes)) && !has_any(&self.exclude_codes)
    }
}

/// What shows that a database is said by a pattern and not by its name.
const PATTERN_CHARACTERS: [char; 11] = ['%', '[', ']', '(', ')', '{', '}', '|', '^', '*', '+'];

/// A configuration, understood.
#[derive(Default)]
pub struct Configuration {
    databases: Vec<DatabaseSection>,
    services: Option<std::sync::Arc<Settings>>,
}

struct DatabaseSection {
    /// None for the section of all databases; a name alone has no matcher.
    pattern: Option<(String, Option<Matcher>)>,
    /// None if it is not enabled: then nothing of the database is shown.
    settings: Option<std::sync::Arc<Settings>>,
}

impl Configuration {
    /// Understands a configuration.
    ///
    /// # Errors
    /// `isc_random` with a text that names the line and the element.
    pub fn parse(text: &str, compile: CompilePattern<'_>) -> Result<Configuration> {
        let mut configuration = Configuration { databases: Vec::new(), services: None };
        let (mut has_default, mut has_services) = (false, false);
        for section in syntax::sections(text)? {
            let head = &section.head;
            let is_database = match head.name.as_str() {
                "database" => true,
                "services" => false,
                _ => {
                    let what = "wrong section header, \"database\" or \"service\" is expected";
                    return Err(wrong(&format!("line {}: {what}", head.line)));
                }
            };
            let seen = if is_database { &mut has_default } else { &mut has_services };
            if head.value.is_empty() && std::mem::replace(seen, true) {
                let kind = if is_database { "database" } else { "service" };
                return Err(wrong(&format!(
                    "line {}: second default {kind} section is not allowed",
                    head.line
                )));
            }
            let elements = section.elements.as_deref();
            let elements = elements.ok_or_else(|| wrong("Trace parameters are not present"))?;
            let settings = read(elements, is_database, compile)?.map(std::sync::Arc::new);
            if !is_database {
                configuration.services = settings;
                continue;
            }
            let pattern = match head.value.as_str() {
                "" => None,
                text => {
                    let matcher = match compile(text, false) {
                        Ok(matcher) => Some(matcher),
                        // Names of files may be no patterns: `app-1.fdb`.
                        Err(_) if !text.contains(PATTERN_CHARACTERS) => None,
                        Err(_) => return Err(uncompiled(head.line, text)),
                    };
                    Some((text.trim_matches([' ', '\'']).to_owned(), matcher))
                }
            };
            configuration.databases.push(DatabaseSection { pattern, settings });
        }
        Ok(configuration)
    }

    /// What is shown of a database, by its path or the last part of that: the first section whose pattern it is, or that of all
    /// databases.
    pub fn of_database(&self, path: &str, interrupt: &Interrupt) -> Option<std::sync::Arc<Settings>> {
        let is_of = |(text, matcher): &(String, Option<Matcher>)| {
            path == text
                || path.strip_suffix(text.as_str()).is_some_and(|before| before.ends_with('/'))
                || matcher.as_ref().is_some_and(|matcher| matcher(path, interrupt))
        };
        let exact = self.databases.iter().find(|section| section.pattern.as_ref().is_some_and(is_of));
        let section = exact.or_else(|| self.databases.iter().find(|section| section.pattern.is_none()));
        section?.settings.clone()
    }

    /// What is shown of the services.
    pub fn of_services(&self) -> Option<std::sync::Arc<Settings>> {
        self.services.clone()
    }
}

/// The settings of a section; none if it is not enabled.
fn read(elements: &[Element], is_database: bool, compile: CompilePattern<'_>) -> Result<Option<Settings>> {
    let mut settings = Settings::default();
    let mut enabled = false;
    for element in elements {
        if element.value.is_empty() {
            return Err(wrong(&format!(
                "line {}: element \"{}\" have no attribute value set",
                element.line, element.name
            )));
        }
        let understood = understand(&mut settings, &mut enabled, element, compile)?
            || match is_database {
                true => understand_database(&mut settings, element)?,
                false => understand_service(&mut settings, element)?,
            };
        if !understood {
            return Err(wrong(&format!("line {}: element \"{}\" is unknown", element.line, element.name)));
        }
    }
    Ok(enabled.then_some(settings))
}

/// Takes in an element of either section; false if it is none.
fn understand(
    settings: &mut Settings,
    enabled: &mut bool,
    element: &Element,
    compile: CompilePattern<'_>,
) -> Result<bool> {
    let pattern = || {
        let of_text = |_| wrong(&format!("error while compiling regular expression \"{}\"", element.value));
        compile(&element.value, true).map(Some).map_err(of_text)
    };
    match element.name.as_str() {
        "enabled" => *enabled = truth(element)?,
        "include_filter" => settings.include = pattern()?,
        "exclude_filter" => settings.exclude = pattern()?,
        "log_errors" => settings.set(Event::Error, element)?,
        "log_initfini" => settings.set(Event::Init, element)?,
        "include_gds_codes" => settings.include_codes = codes(element)?,
        "exclude_gds_codes" => settings.exclude_codes = codes(element)?,
        // Calls that end well warn of nothing, but for an attach that asks for what is not obeyed.
        "log_warnings" => refuse_unless_off(element, "warnings are not traced")?,
        "log_filename" => {
            return Err(unsupported(element, "a trace session has no file; its client gets it"));
        }
        "max_log_size" if element.value.trim() != "0" => {
            return Err(unsupported(element, "a trace session has no file; its client gets it"));
        }
        "max_log_size" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn understand_database(settings: &mut Settings, element: &Element) -> Result<bool> {
    match element.name.as_str() {
        "connection_id" => settings.connection_id = number(element)?,
        "log_connections" => settings.set(Event::Connection, element)?,
        "log_transactions" => settings.set(Event::Transaction, element)?,
        "log_statement_prepare" => settings.set(Event::Prepare, element)?,
        "log_statement_free" => settings.set(Event::Free, element)?,
        "log_statement_start" => settings.set(Event::StatementStart, element)?,
        "log_statement_finish" => settings.set(Event::StatementFinish, element)?,
        "log_procedure_start" => settings.set(Event::ProcedureStart, element)?,
        "log_procedure_finish" => settings.set(Event::ProcedureFinish, element)?,
        "log_function_start" => settings.set(Event::FunctionStart, element)?,
        "log_function_finish" => settings.set(Event::FunctionFinish, element)?,
        "log_trigger_start" => settings.set(Event::TriggerStart, element)?,
        "log_trigger_finish" => settings.set(Event::TriggerFinish, element)?,
        "log_context" => settings.set(Event::Context, element)?,
        "print_plan" => settings.plan = truth(element)?,
        "explain_plan" => settings.explained_plan = truth(element)?,
        "print_perf" => settings.performance = truth(element)?,
        "max_sql_length" => settings.sql_bytes_max = size(element)?,
        "max_arg_length" => settings.argument_bytes_max = size(element)?,
        "max_arg_count" => settings.arguments_max = size(element)?,
        "time_threshold" => settings.threshold_ms = number(element)?,
        "log_procedure_compile" | "log_function_compile" | "log_trigger_compile" => {
            refuse_unless_off(element, "compiling of routines is not traced")?;
        }
        "log_blr_requests" | "print_blr" => refuse_unless_off(element, "requests in BLR are not traced")?,
        "log_dyn_requests" | "print_dyn" => refuse_unless_off(element, "there are no requests in DYN")?,
        "log_sweep" => refuse_unless_off(element, "sweeps are not traced; farbird admin shows them")?,
        // They bound what cannot be switched on.
        "max_blr_length" | "max_dyn_length" => {
            number(element)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn understand_service(settings: &mut Settings, element: &Element) -> Result<bool> {
    match element.name.as_str() {
        "log_services" => settings.set(Event::Service, element)?,
        "log_service_query" => settings.set(Event::ServiceQuery, element)?,
        _ => return Ok(false),
    }
    Ok(true)
}

impl Settings {
    fn set(&mut self, event: Event, element: &Element) -> Result<()> {
        match truth(element)? {
            true => self.events |= event as u32,
            false => self.events &= !(event as u32),
        }
        Ok(())
    }
}

fn truth(element: &Element) -> Result<bool> {
    match element.value.to_uppercase().as_str() {
        "1" | "ON" | "YES" | "TRUE" => Ok(true),
        "0" | "OFF" | "NO" | "FALSE" => Ok(false),
        _ => Err(no_value(element, "boolean")),
    }
}

/// The number that a value begins with.
fn number(element: &Element) -> Result<u64> {
    let value = element.value.trim_start();
    let end = value.find(|character: char| !character.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().map_err(|_| no_value(element, "integer"))
}

fn size(element: &Element) -> Result<usize> {
    number(element).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// Codes of errors: numbers, or names without their `isc_`.
fn codes(element: &Element) -> Result<Vec<u32>> {
    let mut codes = Vec::new();
    for item in element.value.split([' ', ',']).filter(|item| !item.is_empty()) {
        let code = item.parse().ok().filter(|code| *code != 0);
        codes.push(code.or_else(|| code_by_symbol(item)).ok_or_else(|| {
            let text =
                format!("Error parsing error codes filter: \n\t{}\n\tbad item is: {item}", element.value);
            Error::new(isc::RANDOM).with(text)
        })?);
    }
    Ok(codes)
}

fn refuse_unless_off(element: &Element, why: &str) -> Result<()> {
    if truth(element)? { Err(unsupported(element, why)) } else { Ok(()) }
}

fn unsupported(element: &Element, why: &str) -> Error {
    Error::new(isc::WISH_LIST).and_all(wrong(&format!(
        "line {}: element \"{}\" is not supported: {why}",
        element.line, element.name
    )))
}

fn no_value(element: &Element, kind: &str) -> Error {
    wrong(&format!(
        "line {}, element \"{}\": \"{}\" is not a valid {kind} value",
        element.line, element.name, element.value
    ))
}

fn uncompiled(line: usize, pattern: &str) -> Error {
    wrong(&format!("line {line}: error while compiling regular expression \"{pattern}\""))
}

fn wrong(what: &str) -> Error {
    Error::new(isc::RANDOM).with(format!("error while parsing trace configuration\n\t{what}"))
}
