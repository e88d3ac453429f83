//! EXECUTE STATEMENT in another database, or in this one as somebody else.
//!
//! Transactions elsewhere belong to the one that runs (WITH COMMON TRANSACTION): the first text for a target begins one, with the
//! same isolation, and it ends when ours ends, just before it. There is no second phase: if ours fails after that, what was done
//! elsewhere is committed, as with Firebird.
//!
//! Source: Firebird 5 language reference, EXECUTE STATEMENT; statuses as Firebird 3 and 5 give them.

use std::sync::Arc;

use farbird_catalog::transaction::Transaction;
use farbird_expression::{BoundExpression, ExecutionContext};
use farbird_function::blob;
use farbird_session::external::{CALLS_MAX, ExternalSources, ExternalTarget, ExternalTransaction};
use farbird_sql::ast::StatementTransaction;
use farbird_types::{Error, Result, Value, isc};
use parking_lot::Mutex;

use crate::external_rows::{ExternalRows, Place, lines_of};
use crate::routine::DynamicStatement;

/// The provider that data sources are of that name none, and the only one.
const PROVIDER: &str = "Firebird";

/// What CURRENT_ROLE shows where there is none.
const NO_ROLE: &str = "NONE";

/// The transactions elsewhere that belong to one of ours.
#[derive(Default)]
struct Elsewhere(Mutex<State>);

#[derive(Default)]
struct State {
    open: Vec<(ExternalTarget, Box<dyn ExternalTransaction>)>,
    /// Why one could not be committed: what was done there is lost, and ours can only be rolled back.
    lost: Option<Error>,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Committed.
    Commit,
    /// Rolled back.
    Rollback,
}

/// Ends the transactions elsewhere that belong to one of ours: called just before that ends.
///
/// # Errors
/// `isc_eds_connection` if one cannot be committed; those that are left are rolled back then, and from now on every commit of ours fails so.
/// A rollback never fails.
pub fn end_external(transaction: &Transaction, end: End) -> Result<()> {
    let mut elsewhere = transaction.kept.get::<Elsewhere>().0.lock();
    let State { open, lost } = std::mem::take(&mut *elsewhere);
    if end == End::Commit {
        elsewhere.lost = lost;
        elsewhere.check()?;
    }
    for (target, external) in open {
        match end {
            End::Commit => {
                if let Err(error) = external.commit() {
                    elsewhere.lost =
                        Some(connection_failed("isc_commit_transaction", &shown(&target), &error));
                    return elsewhere.check();
                }
            }
            End::Rollback => {
                if let Err(error) = external.rollback() {
                    tracing::warn!(?target, %error, "a transaction elsewhere is lost");
                }
            }
        }
    }
    Ok(())
}

/// Whether the transaction has begun others elsewhere, which end with it.
pub fn has_external(transaction: &Transaction) -> bool {
    let elsewhere = transaction.kept.get::<Elsewhere>().0.lock();
    !elsewhere.open.is_empty() || elsewhere.lost.is_some()
}

/// Whether work elsewhere is lost that belonged to the transaction: it can only be rolled back.
pub fn has_lost_external(transaction: &Transaction) -> bool {
    transaction.kept.get::<Elsewhere>().0.lock().lost.is_some()
}

impl State {
    fn check(&self) -> Result<()> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

/// Where a text is to run; none: here, in the session's own name.
///
/// # Errors
/// `isc_eds_provider_not_found`; those of the expressions.
pub(super) fn target(
    statement: &DynamicStatement,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<ExternalTarget>> {
    let mut text = |value: &Option<_>| -> Result<Option<String>> {
        Ok(optional_text(value.as_ref(), context)?.filter(|text| !text.is_empty()))
    };
    let (source, user) = (text(&statement.data_source)?, text(&statement.user)?);
    let (password, role) = (text(&statement.password)?, text(&statement.role)?);
    let session = context.session;
    let own_user = &session.options.user;
    let own_role = session.settings.lock().role.clone();
    let is_own_role = role.as_deref().is_none_or(|role| role == own_role.as_deref().unwrap_or(NO_ROLE));
    let is_own = source.is_none()
        && password.is_none()
        && user.as_ref().is_none_or(|user| user == own_user)
        && is_own_role;
    if is_own {
        return Ok(None);
    }
    // As in Firebird only whoever says nothing but a ROLE is taken for who is attached: who has logged in, whom mappings then make the same
    // user again.
    let is_own_login = source.is_none() && user.is_none() && password.is_none();
    let login = if is_own_login { &session.server.login } else { own_user };
    let user = user.unwrap_or_else(|| login.clone());
    Ok(Some(ExternalTarget {
        data_source: source.map(|source| of_provider(&source)).transpose()?,
        own_database: context.database.path.clone(),
        user,
        password: password.unwrap_or_default(),
        role,
        is_own_login,
    }))
}

/// A data source without the name of its provider.
fn of_provider(source: &str) -> Result<String> {
    match source.split_once("::") {
        Some((provider, rest)) if provider.eq_ignore_ascii_case(PROVIDER) => Ok(rest.to_owned()),
        // An address of IPv6 has such colons, too.
        Some((provider, _)) if provider.chars().all(char::is_alphanumeric) && !provider.is_empty() => {
            Err(Error::new(isc::EDS_PROVIDER_NOT_FOUND).with(provider))
        }
        _ => Ok(source.to_owned()),
    }
}

/// A target as errors show it.
fn shown(target: &ExternalTarget) -> String {
    match &target.data_source {
        Some(source) => format!("{PROVIDER}::{source}"),
        None => format!("{PROVIDER}::"),
    }
}

/// Runs a text without a loop; gives the one row of what has columns.
///
/// # Errors
/// As [`open`]; `isc_sing_select_err` if there are several rows.
pub(super) fn singleton(
    statement: &DynamicStatement,
    target: ExternalTarget,
    sql: String,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    let mut rows = open(statement, target, sql, inputs, context)?;
    rows.singleton(context)
}

/// Runs a text.
///
/// # Errors
/// `isc_exec_sql_max_call_exceeded` in a session that is too deep in others; `isc_eds_connection` and `isc_eds_statement` with what the
/// other server says; `isc_eds_input_prm_mismatch` and `isc_eds_output_prm_mismatch` for values and targets that are not as many
/// as the text has.
pub(super) fn open(
    statement: &DynamicStatement,
    target: ExternalTarget,
    sql: String,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<ExternalRows> {
    let source = shown(&target);
    let Some(sources) = context.database.external.get().cloned() else {
        let nobody =
            Error::new(isc::RANDOM).with("this process connects to no other databases: a server does");
        return Err(connection_failed("attach", &source, &nobody));
    };
    let is_autonomous = statement.transaction == Some(StatementTransaction::Autonomous);
    let place = Place { sql, source };
    let (prepared, autonomous) = match is_autonomous {
        true => {
            let mut own = begin(&*sources, &target, &place, context)?;
            let prepared = place.of_statement("isc_dsql_prepare", own.prepare(&place.sql), context)?;
            (prepared, Some(own))
        }
        false => {
            let transaction = context.transaction;
            let mut elsewhere = transaction.kept.get::<Elsewhere>().0.lock();
            elsewhere.check()?;
            let known = elsewhere.open.iter().position(|(known, _)| *known == target);
            let known = match known {
                Some(known) => known,
                None => {
                    elsewhere.open.push((target.clone(), begin(&*sources, &target, &place, context)?));
                    elsewhere.open.len() - 1
                }
            };
            let Some((_, external)) = elsewhere.open.get_mut(known) else {
                return Err(Error::internal("a transaction elsewhere that has gone"));
            };
            (place.of_statement("isc_dsql_prepare", external.prepare(&place.sql), context)?, None)
        }
    };
    ExternalRows::start(prepared, autonomous, place, statement.targets.len(), inputs, context)
}

fn begin(
    sources: &dyn ExternalSources,
    target: &ExternalTarget,
    place: &Place,
    context: &ExecutionContext<'_>,
) -> Result<Box<dyn ExternalTransaction>> {
    let interrupt: &Arc<_> = &context.session.interrupt;
    let caller = &context.session.options.client.caller;
    if caller.depth + 1 >= CALLS_MAX {
        return Err(Error::new(isc::EXEC_SQL_MAX_CALL_EXCEEDED));
    }
    sources.begin(target, caller, &context.transaction.parameters, interrupt).map_err(|error| {
        match (context.check_interrupt(), &target.data_source) {
            (Err(stopped), _) => stopped,
            // As in Firebird a login here fails as any login does.
            (Ok(()), None) => error,
            (Ok(()), Some(_)) => connection_failed("attach", &place.source, &error),
        }
    })
}

/// "Execute statement error at attach": what the other server says, a line for each code.
fn connection_failed(call: &str, source: &str, error: &Error) -> Error {
    Error::new(isc::EDS_CONNECTION).with(call).with(lines_of(error)).with(source)
}

/// A clause of the statement; none if it is not there or NULL.
fn optional_text(
    value: Option<&BoundExpression>,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    match value.evaluate(context)? {
        Value::Null => Ok(None),
        value => Ok(Some(blob::text_of(&value, context)?.decode_lossy().trim_end().to_owned())),
    }
}
