//! RDB$GET_CONTEXT, RDB$SET_CONTEXT and what else a call can ask about where it runs.
//!
//! Source: Firebird 5 language reference, section RDB$GET_CONTEXT; values as Firebird 4 shows them.

use std::collections::BTreeMap;

use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Text, TextType, Value, isc};

use crate::BlobUtil;
use crate::context::Context;
use crate::result_type::{CONTEXT_VALUE_BYTES_MAX, nullable_as, required, text_kind};
use crate::{Argument, Call, ScalarFunction, argument};
use farbird_catalog::SystemPrivilege;
use farbird_session::Isolation;
use farbird_session::external::ExternalPool;
use farbird_session::trace::Event;

/// What ENGINE_VERSION says: the version of Firebird whose language and catalog this is.
pub const ENGINE_VERSION: &str = "5.0.4";
/// What FARBIRD_VERSION says, a variable that Firebird does not have: who really answers.
pub const FARBIRD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The longest value of a variable: calls are described as shorter, and give all of it to what has room.
const STORED_BYTES_MAX: usize = 32_767;

/// Most variables of one namespace.
const CONTEXT_VARIABLES_MAX: usize = 1_000;

/// What the names and values of a namespace may take together: nobody is charged for them.
const NAMESPACE_BYTES_MAX: usize = 4 << 20;

/// A name and a value that are no longer than this are taken without counting: a thousand of them fit.
const COUNTED_FROM_BYTES: usize = NAMESPACE_BYTES_MAX / CONTEXT_VARIABLES_MAX;

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    ScalarFunction {
        name: "RDB$GET_CONTEXT",
        arity: (2, 2),
        result: |_, _| Ok(ColumnType { sql_type: VALUE_TYPE, nullable: true }),
        parameter_type: context_parameter,
        body: get_context,
        strict: false,
        deterministic: false,
    },
    ScalarFunction {
        name: "RDB$SET_CONTEXT",
        arity: (3, 3),
        result: |_, _| Ok(ColumnType { sql_type: SqlType::INTEGER, nullable: false }),
        parameter_type: context_parameter,
        body: set_context,
        strict: false,
        deterministic: false,
    },
    ScalarFunction {
        name: "RDB$RESET_CONTEXT",
        arity: (1, 1),
        result: |_, arguments| Ok(nullable_as(SqlType::INTEGER, arguments)),
        parameter_type: context_parameter,
        body: reset_context,
        strict: false,
        deterministic: false,
    },
    ScalarFunction {
        name: "RDB$ROLE_IN_USE",
        arity: (1, 1),
        result: |_, arguments| Ok(nullable_as(SqlType::Boolean, arguments)),
        // Of one letter: so does Firebird describe it.
        parameter_type: |_, _| required(SqlType::char(1, CharacterSet::ASCII)),
        body: role_in_use,
        strict: true,
        deterministic: false,
    },
    ScalarFunction {
        name: "RDB$SYSTEM_PRIVILEGE",
        arity: (1, 1),
        result: |_, _| Ok(ColumnType { sql_type: SqlType::Boolean, nullable: false }),
        parameter_type: |_, _| required(SqlType::varchar(63, CharacterSet::UTF8)),
        body: system_privilege,
        strict: true,
        deterministic: false,
    },
    ScalarFunction {
        name: "BLOB_APPEND",
        arity: (2, crate::ARITY_UNBOUNDED),
        result: blob_append_result,
        parameter_type: blob_append_parameter,
        body: blob_append,
        strict: false,
        deterministic: false,
    },
];

const VALUE_TYPE: SqlType = SqlType::Text(TextType {
    varying: true,
    length_chars: CONTEXT_VALUE_BYTES_MAX,
    character_set: CharacterSet::NONE,
    collation: farbird_types::Collation(0),
});

fn context_parameter(index: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    let sql_type = if index < 2 { SqlType::varchar(80, CharacterSet::NONE) } else { VALUE_TYPE };
    Some(ColumnType { sql_type, nullable: true })
}

/// Namespace and name of a variable.
fn place(context: &mut Context<'_>, call: &Call<'_>) -> Result<(String, String)> {
    Ok((part(context, call, 0)?, part(context, call, 1)?))
}

/// A namespace or a name.
fn part(context: &mut Context<'_>, call: &Call<'_>, index: usize) -> Result<String> {
    if call.argument(index).is_null() {
        return Err(Error::new(isc::CTX_BAD_ARGUMENT).with(call.name));
    }
    let text = argument::text(context, call.argument(index))?;
    Ok(text.decode_lossy().trim_end().to_owned())
}

fn invalid_namespace(namespace: &str, function: &str) -> Error {
    Error::new(isc::CTX_NAMESPACE_INVALID).with(namespace).with(function)
}

fn get_context(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let (namespace, name) = place(context, call)?;
    let value = match namespace.as_str() {
        "SYSTEM" => system_variable(context, &name)?.map(String::into_bytes),
        "USER_SESSION" => context.session.context_variables.lock().get(&name).cloned(),
        "USER_TRANSACTION" => context.transaction.context_variables.lock().get(&name).cloned(),
        "DDL_TRIGGER" => return definition_variable(context, &name),
        _ => return Err(invalid_namespace(&namespace, call.name)),
    };
    Ok(match value {
        Some(bytes) => Value::Text(Text::new(bytes, CharacterSet::NONE)),
        None => Value::Null,
    })
}

/// A variable of the namespace DDL_TRIGGER: of the innermost definition whose triggers are running.
fn definition_variable(context: &Context<'_>, name: &str) -> Result<Value> {
    let Some(definition) = context.session.watched_definitions.lock().last().cloned() else {
        return Err(Error::new(isc::SYSF_INVALID_TRIG_NAMESPACE));
    };
    let word = |text: &str| Value::Text(Text::new(text.as_bytes().to_vec(), CharacterSet::NONE));
    let metadata = |text: &str| Value::Text(Text::new(text.as_bytes().to_vec(), CharacterSet::UTF8));
    let renamed = definition.renamed.as_ref();
    Ok(match name {
        "EVENT_TYPE" => word(definition.event.action.word()),
        "OBJECT_TYPE" => word(definition.event.object.words()),
        "DDL_EVENT" => word(&definition.event.to_string()),
        "OBJECT_NAME" => metadata(&definition.object),
        "OLD_OBJECT_NAME" => renamed.map_or(Value::Null, |(old, _)| metadata(old)),
        "NEW_OBJECT_NAME" => renamed.map_or(Value::Null, |(_, new)| metadata(new)),
        "SQL_TEXT" => metadata(&definition.sql),
        // As Firebird says it, with the name in both places.
        _ => return Err(Error::new(isc::CTX_VAR_NOT_FOUND).with(name).with(name)),
    })
}

/// Sets or (with NULL) removes a variable; 1 if it existed before, otherwise 0.
fn set_context(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let (namespace, name) = place(context, call)?;
    let value = match call.argument(2) {
        Value::Null => None,
        value => {
            let text = argument::text(context, value)?;
            if text.bytes().len() > STORED_BYTES_MAX {
                return Err(Error::new(isc::ARITH_EXCEPT).and(isc::STRING_TRUNCATION));
            }
            // Of whatever character set: bytes that are no characters, as those of a key, come back as they are.
            Some(text.bytes().to_vec())
        }
    };
    let mut variables = match namespace.as_str() {
        "USER_SESSION" => context.session.context_variables.lock(),
        "USER_TRANSACTION" => context.transaction.context_variables.lock(),
        _ => return Err(invalid_namespace(&namespace, call.name)),
    };
    let existed = assign(&mut variables, name.clone(), value.clone())?;
    drop(variables);
    let tracer = &context.session.tracer;
    if tracer.wants(Event::Context) {
        let within = context.transaction.traced(context.session);
        let shown = value.as_deref().map(String::from_utf8_lossy);
        tracer.context_set(&namespace, &name, shown.as_deref(), &within);
    }
    Ok(Value::integer(i64::from(existed)))
}

/// Removes all variables of a namespace; gives how many there were.
fn reset_context(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let namespace = part(context, call, 0)?;
    let mut variables = match namespace.as_str() {
        "USER_SESSION" => context.session.context_variables.lock(),
        "USER_TRANSACTION" => context.transaction.context_variables.lock(),
        _ => return Err(invalid_namespace(&namespace, call.name)),
    };
    let count = std::mem::take(&mut *variables).len();
    Ok(Value::integer(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn assign(variables: &mut BTreeMap<String, Vec<u8>>, name: String, value: Option<Vec<u8>>) -> Result<bool> {
    match value {
        None => Ok(variables.remove(&name).is_some()),
        Some(_) if variables.len() >= CONTEXT_VARIABLES_MAX && !variables.contains_key(&name) => {
            Err(Error::new(isc::CTX_TOO_BIG))
        }
        Some(value) if is_too_much(variables, &name, &value) => Err(Error::new(isc::CTX_TOO_BIG)),
        Some(value) => Ok(variables.insert(name, value).is_some()),
    }
}

/// Whether a variable would take its namespace past what it may have.
fn is_too_much(variables: &BTreeMap<String, Vec<u8>>, name: &str, value: &[u8]) -> bool {
    let added = name.len() + value.len();
    let others = variables.iter().filter(|(known, _)| *known != name);
    added > COUNTED_FROM_BYTES
        && others.map(|(name, value)| name.len() + value.len()).sum::<usize>() + added > NAMESPACE_BYTES_MAX
}

/// A variable of the namespace SYSTEM; `None` is NULL.
fn system_variable(context: &Context<'_>, name: &str) -> Result<Option<String>> {
    let session = context.session;
    let client = &session.options.client;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let truth = |truth: bool| Some(if truth { "TRUE" } else { "FALSE" }.to_owned());
    let settings = || session.settings.lock();
    let catalog = || context.transaction.current_catalog();
    let parameters = &context.transaction.parameters;
    Ok(match name {
        "ENGINE_VERSION" => Some(ENGINE_VERSION.to_owned()),
        "FARBIRD_VERSION" => Some(FARBIRD_VERSION.to_owned()),
        "DB_NAME" => {
            let is_administrator = context.actor().is_administrator(&catalog());
            Some(context.database.shown_path(is_administrator))
        }
        "DB_GUID" => known(&catalog().database.guid),
        "DB_FILE_ID" => known(&catalog().database.guid),
        "GLOBAL_CN" => Some(context.transaction.store.snapshot().0.to_string()),
        "REPLICA_MODE" | "REPLICATION_SEQUENCE" => None,
        "EXT_CONN_POOL_SIZE" => Some(external_pool(context).size.to_string()),
        "EXT_CONN_POOL_IDLE_COUNT" => Some(external_pool(context).idle.to_string()),
        "EXT_CONN_POOL_ACTIVE_COUNT" => Some(external_pool(context).active.to_string()),
        "EXT_CONN_POOL_LIFETIME" => Some(external_pool(context).lifetime.as_secs().to_string()),
        "SESSION_ID" => Some(session.id.to_string()),
        "NETWORK_PROTOCOL" => known(&client.protocol),
        "CLIENT_ADDRESS" => known(&client.address),
        "CLIENT_HOST" => known(&client.host),
        "CLIENT_OS_USER" => known(&client.os_user),
        "CLIENT_PID" => client.process_id.map(|id| id.to_string()),
        "CLIENT_PROCESS" => known(&client.process_name),
        "CLIENT_VERSION" => known(&client.client_version),
        "WIRE_COMPRESSED" => truth(client.wire_compressed),
        "WIRE_ENCRYPTED" => truth(!client.wire_crypt.is_empty()),
        "WIRE_CRYPT_PLUGIN" => known(&client.wire_crypt),
        "CURRENT_USER" => Some(session.options.user.clone()),
        "EFFECTIVE_USER" => Some(context.actor().user),
        "CURRENT_ROLE" => Some(settings().role.clone().unwrap_or_else(|| "NONE".to_owned())),
        "SESSION_TIMEZONE" => Some(settings().time_zone.to_string()),
        "SESSION_IDLE_TIMEOUT" => Some(session.interrupt.idle.seconds().to_string()),
        "STATEMENT_TIMEOUT" => {
            Some(settings().statement_timeout.map_or(0, |timeout| timeout.as_millis()).to_string())
        }
        "PARALLEL_WORKERS" => Some(session.parallel_workers().to_string()),
        "DECFLOAT_ROUND" => Some(settings().decimal.rounding.name().to_owned()),
        "DECFLOAT_TRAPS" => Some(settings().decimal.traps.to_string()),
        "TRANSACTION_ID" => Some(context.transaction.store.id().0.to_string()),
        "ISOLATION_LEVEL" => Some(
            match parameters.isolation {
                Isolation::Snapshot => "SNAPSHOT",
                Isolation::TableStability => "CONSISTENCY",
                Isolation::ReadCommitted => "READ COMMITTED",
            }
            .to_owned(),
        ),
        "LOCK_TIMEOUT" => Some(match parameters.lock_timeout {
            None => "-1".to_owned(),
            Some(timeout) => timeout.as_secs().to_string(),
        }),
        "READ_ONLY" => truth(parameters.read_only),
        "SNAPSHOT_NUMBER" => match parameters.isolation {
            Isolation::ReadCommitted => None,
            _ => Some(context.transaction.store.snapshot().0.to_string()),
        },
        _ => return Err(Error::new(isc::CTX_VAR_NOT_FOUND).with(name).with("SYSTEM")),
    })
}

/// The pool of connections to other databases; where nobody connects it is as it would be at first.
fn external_pool(context: &Context<'_>) -> ExternalPool {
    context.database.external.get().map(|sources| sources.pool()).unwrap_or_default()
}

/// Whether a role is among those in use.
fn role_in_use(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let name = argument::text(context, call.argument(0))?;
    let roles = context.actor().roles(&context.transaction.current_catalog());
    Ok(Value::Boolean(roles.contains(name.decode_lossy().trim_end())))
}

/// Whether a system privilege is in use.
fn system_privilege(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let name = argument::text(context, call.argument(0))?;
    let catalog = context.transaction.current_catalog();
    let actor = context.actor();
    let privilege = SystemPrivilege::named(name.decode_lossy().trim_end());
    Ok(Value::Boolean(privilege.is_some_and(|privilege| actor.has(&catalog, privilege))))
}

// ---- BLOB_APPEND ----

/// The kind of the first argument that is not NULL.
fn blob_append_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let first = arguments.iter().map(Argument::sql_type).find(|sql_type| **sql_type != SqlType::Null);
    let sql_type = match first {
        None => SqlType::BLOB_BINARY,
        Some(blob @ SqlType::Blob { .. }) => *blob,
        Some(SqlType::Text(text)) if text.character_set == CharacterSet::OCTETS => SqlType::BLOB_BINARY,
        Some(SqlType::Text(text)) => {
            SqlType::Blob { subtype: 1, character_set: text.character_set, collation: text.collation }
        }
        Some(_) => SqlType::blob_text(CharacterSet::ASCII),
    };
    Ok(ColumnType { sql_type, nullable: arguments.iter().all(|argument| argument.column_type.nullable) })
}

fn blob_append_parameter(index: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    let first = arguments.first().map_or(CharacterSet::NONE, |first| text_kind(first.sql_type()).0);
    required(match index {
        0 => SqlType::blob_text(CharacterSet::UTF8),
        _ => SqlType::varchar(80 / u32::from(first.bytes_per_character()), first),
    })
}

/// All arguments that are not NULL, one after the other, in a new BLOB; NULL if all are.
fn blob_append(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let SqlType::Blob { subtype, character_set, .. } = *call.result_type() else {
        return Ok(Value::Null);
    };
    let set = if subtype == 1 { character_set } else { CharacterSet::OCTETS };
    let mut bytes = Vec::new();
    let mut any = false;
    for value in call.arguments {
        if value.is_null() {
            continue;
        }
        any = true;
        let text = argument::text_in(context, value, set)?;
        bytes.extend_from_slice(text.bytes());
    }
    if !any {
        return Ok(Value::Null);
    }
    let result = argument::text_result(context, bytes, set, call.result_type())?;
    if let Value::Blob(id) = result {
        let from = match call.argument(0) {
            Value::Blob(from) => Some(*from),
            _ => None,
        };
        BlobUtil::of(context.transaction).appended(from, id);
    }
    Ok(result)
}
