//! The definitions of a database, read from its system tables, and those among them that a restore could not run.

use std::collections::{HashMap, HashSet};
use std::fmt;

use farbird_types::Value;

use super::columns::{self, Form, TableOf};
use super::{BlobShape, BlobSink, Database};
use crate::attribute::{
    check, constraint, field, function, function_argument, index, package, physical, privilege, procedure,
    procedure_parameter, reference, relation, role, trigger,
};
use crate::record::{Attribute, Record, RecordKind};

/// BLR of domains and columns, views, triggers, routines, indexes.
const DEFAULT_BLR: u8 = 15;
const VALIDATION_BLR: u8 = 20;
const COMPUTED_BLR: u8 = 18;
const TRIGGER_BLR: u8 = 2;
const PROCEDURE_BLR: u8 = 8;
const FUNCTION_BLR: u8 = 13;
const EXPRESSION_BLR: u8 = 11;
const CONDITION_BLR: u8 = 13;
/// The longest BLR that says nothing: its version and its end. Servers that have none show this.
const EMPTY_PROGRAM_BYTES: usize = 2;
/// RDB$RELATION_TYPE of views.
const VIEW: i64 = 1;
/// Types that Firebird 3 does not have: DECFLOAT, INT128, and those with time zones.
const TYPES_SINCE_4: [i64; 7] = [24, 25, 26, 28, 29, 30, 31];
/// In RDB$OBJECT_TYPE, kinds behind this one have another number since Firebird 4.
const SHIFTED_KINDS: i64 = 19;
/// The beginning of names of security classes that SQL makes.
const SECURITY_CLASS: &[u8] = b"SQL$1";
/// How many sequences one query asks for.
const SEQUENCES_PER_QUERY: usize = 50;

/// Something that is not in the backup, since there is no BLR of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LeftOut {
    DomainDefault(String),
    DomainCheck(String),
    /// COMPUTED BY.
    Column {
        table: String,
        column: String,
    },
    Default {
        table: String,
        column: String,
    },
    /// Of an expression, or of a part of the rows.
    Index {
        table: String,
        name: String,
    },
    View(String),
    Package(String),
    Procedure(String),
    Function(String),
    Check {
        table: String,
        name: String,
    },
    /// With actions, which are triggers.
    ForeignKey {
        table: String,
        name: String,
    },
    Trigger(String),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::DomainDefault(name) => write!(out, "default of domain {name}"),
            LeftOut::DomainCheck(name) => write!(out, "check of domain {name}"),
            LeftOut::Column { table, column } => write!(out, "column {column} of table {table}"),
            LeftOut::Default { table, column } => write!(out, "default of column {column} of table {table}"),
            LeftOut::Index { table, name } => write!(out, "index {name} of table {table}"),
            LeftOut::View(name) => write!(out, "view {name}"),
            LeftOut::Package(name) => write!(out, "package {name}"),
            LeftOut::Procedure(name) => write!(out, "procedure {name}"),
            LeftOut::Function(name) => write!(out, "function {name}"),
            LeftOut::Check { table, name } | LeftOut::ForeignKey { table, name } => {
                write!(out, "constraint {name} of table {table}")
            }
            LeftOut::Trigger(name) => write!(out, "trigger {name}"),
        }
    }
}

/// A table or view with what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct RelationOf {
    pub(super) record: Record,
    pub(super) fields: Vec<Record>,
    /// What a view reads.
    pub(super) views: Vec<Record>,
    pub(super) indexes: Vec<Record>,
}

impl RelationOf {
    pub(super) fn name(&self) -> String {
        self.record.name(relation::NAME).unwrap_or_default()
    }

    pub(super) fn is_view(&self) -> bool {
        self.record.bytes(relation::VIEW_BLR).is_some()
            || self.record.bytes(relation::VIEW_SOURCE2).is_some()
            || self.record.number(relation::TYPE) == Some(VIEW)
    }

    pub(super) fn is_external(&self) -> bool {
        self.record.bytes(relation::EXT_FILE_NAME).is_some()
    }
}

/// A routine with its parameters.
#[derive(Debug, Clone)]
pub(super) struct RoutineOf {
    pub(super) record: Record,
    pub(super) parameters: Vec<Record>,
}

/// All definitions of a database.
#[derive(Debug, Clone)]
pub struct Definitions {
    pub(super) physical: Record,
    pub(super) database: Record,
    pub(super) domains: Vec<Record>,
    pub(super) before_tables: Vec<Record>,
    pub(super) relations: Vec<RelationOf>,
    pub(super) behind_tables: Vec<Record>,
    pub(super) functions: Vec<RoutineOf>,
    pub(super) procedures: Vec<RoutineOf>,
    pub(super) packages: Vec<Record>,
    pub(super) triggers: Vec<Record>,
    pub(super) last: Vec<Record>,
    /// Whether kinds of objects have the numbers of Firebird 4.
    is_new: bool,
}

impl Definitions {
    /// Reads them.
    ///
    /// # Errors
    /// Those of the database.
    pub fn read<D: Database>(database: &D) -> Result<Definitions, D::Error> {
        let reader = Reader { database, known: known_columns(database)? };
        let mut fields = reader.parts(&columns::FIELDS)?;
        let mut views = reader.parts(&columns::VIEW_RELATIONS)?;
        let mut indexes = reader.parts(&columns::INDEXES)?;
        let segments = reader.parts(&columns::INDEX_SEGMENTS)?;
        for record in indexes.values_mut().flatten() {
            let name = record.name(index::NAME).unwrap_or_default();
            // gbak has them behind the flags, where nobody minds the order.
            let columns = segments.get(&vec![name]).into_iter().flatten();
            record.attributes.extend(columns.flat_map(|it| it.attributes.clone()));
        }
        let relations = reader.records(&columns::RELATIONS)?.into_iter().map(|record| {
            let owner = vec![record.name(relation::NAME).unwrap_or_default()];
            RelationOf {
                record,
                fields: fields.remove(&owner).unwrap_or_default(),
                views: views.remove(&owner).unwrap_or_default(),
                indexes: indexes.remove(&owner).unwrap_or_default(),
            }
        });
        let relations: Vec<RelationOf> = relations.collect();
        let mut definitions = Definitions {
            physical: reader.physical()?,
            database: Record { kind: RecordKind::Database, attributes: Vec::new() },
            domains: reader.records(&columns::GLOBAL_FIELDS)?,
            before_tables: reader.all(&columns::BEFORE_TABLES)?,
            relations,
            behind_tables: reader.all(&columns::BEHIND_TABLES)?,
            functions: reader.routines(&columns::FUNCTIONS, &columns::FUNCTION_ARGUMENTS)?,
            procedures: reader.routines(&columns::PROCEDURES, &columns::PROCEDURE_PARAMETERS)?,
            packages: reader.records(&columns::PACKAGES)?,
            triggers: reader.records(&columns::TRIGGERS)?,
            last: reader.all(&columns::LAST)?,
            is_new: reader.known.contains(&("RDB$RELATIONS".to_owned(), "RDB$SQL_SECURITY".to_owned())),
        };
        if let Some(record) = reader.records(&columns::DATABASE)?.into_iter().next() {
            definitions.database = record;
        }
        reader.sequence_values(&mut definitions.behind_tables)?;
        definitions.mark_computed();
        definitions.name_security_classes();
        definitions.say_bounds();
        definitions.leave_collations_to_domains();
        Ok(definitions)
    }

    /// A column whose collation is its domain's says none of its own.
    fn leave_collations_to_domains(&mut self) {
        let collations: HashMap<String, Option<i64>> = self
            .domains
            .iter()
            .map(|it| (it.name(field::NAME).unwrap_or_default(), it.number(field::COLLATION_ID)))
            .collect();
        for record in self.relations.iter_mut().flat_map(|it| &mut it.fields) {
            let of_domain = record.name(field::SOURCE).and_then(|it| collations.get(&it).copied()).flatten();
            if of_domain.is_some() && of_domain == record.number(field::COLLATION_ID) {
                record.attributes.retain(|it| it.number != field::COLLATION_ID);
            }
        }
    }

    /// gbak expects the bounds of an array right behind the number of its dimensions.
    fn say_bounds(&mut self) {
        let mut bounds: HashMap<String, Vec<Attribute>> = HashMap::new();
        for record in self.before_tables.iter().filter(|it| it.kind == RecordKind::FieldDimensions) {
            let of_domain = bounds.entry(record.name(field::NAME).unwrap_or_default()).or_default();
            let is_bound = |it: &&Attribute| matches!(it.number, field::RANGE_LOW | field::RANGE_HIGH);
            of_domain.extend(record.attributes.iter().filter(is_bound).cloned());
        }
        for record in self.relations.iter_mut().flat_map(|it| &mut it.fields) {
            let place = record.attributes.iter().position(|it| it.number == field::DIMENSIONS);
            let own = record.name(field::SOURCE).and_then(|it| bounds.get(&it));
            match (place, own) {
                (Some(place), Some(own)) => {
                    drop(record.attributes.splice(place + 1..place + 1, own.iter().cloned()));
                }
                (Some(place), None) => drop(record.attributes.remove(place)),
                (None, _) => {}
            }
        }
    }

    /// gbak restores privileges only on what has a security class, whose name it makes anew if it is one of SQL's.
    fn name_security_classes(&mut self) {
        let of_functions = self.functions.iter_mut().map(|it| &mut it.record);
        let single = self.domains.iter_mut().chain(&mut self.before_tables).chain(&mut self.behind_tables);
        for record in single.chain(of_functions) {
            let attribute = match record.kind {
                RecordKind::GlobalField => 25,
                RecordKind::Generator => 5,
                RecordKind::Exception => 6,
                RecordKind::Collation => 11,
                RecordKind::Function => 17,
                _ => continue,
            };
            record.attributes.push(Attribute { number: attribute, bytes: SECURITY_CLASS.to_vec() });
        }
    }

    /// Columns that are computed have no values in rows: that is said of each.
    fn mark_computed(&mut self) {
        let computed: HashSet<String> = self
            .domains
            .iter()
            .filter(|it| it.bytes(COMPUTED_BLR).is_some() || it.bytes(field::COMPUTED_SOURCE2).is_some())
            .filter_map(|it| it.name(field::NAME))
            .collect();
        for record in self.relations.iter_mut().flat_map(|it| &mut it.fields) {
            if record.name(field::SOURCE).is_some_and(|source| computed.contains(&source)) {
                record.attributes.push(number(field::COMPUTED_FLAG, 1));
            }
        }
    }

    /// All records as a backup has them, those of indexes with the name of their table.
    pub fn records(&self) -> impl Iterator<Item = (Option<String>, &Record)> {
        let relations = self.relations.iter().flat_map(|it| {
            std::iter::once(&it.record).chain(&it.fields).chain(&it.views).map(|record| (None, record))
        });
        let indexes =
            self.relations.iter().flat_map(|it| it.indexes.iter().map(|record| (Some(it.name()), record)));
        let routines = self.functions.iter().chain(&self.procedures);
        let routines = routines.flat_map(|it| std::iter::once(&it.record).chain(&it.parameters));
        let others = [&self.physical, &self.database].into_iter();
        let others = others.chain(&self.domains).chain(&self.before_tables).map(|record| (None, record));
        let behind = self.behind_tables.iter().chain(routines).chain(&self.packages);
        let behind = behind.chain(&self.triggers).chain(&self.last).map(|record| (None, record));
        others.chain(relations).chain(indexes).chain(behind)
    }

    /// Whether something of them is not known before Firebird 4.
    pub(super) fn need_format_11(&self) -> bool {
        let types = |it: &Record| it.number(field::TYPE).is_some_and(|it| TYPES_SINCE_4.contains(&it));
        let routines = self.functions.iter().chain(&self.procedures).map(|it| &it.record);
        let said = |record: &Record, attribute| record.bytes(attribute).is_some();
        self.domains.iter().any(types)
            || said(&self.database, 19)
            || self.relations.iter().any(|it| said(&it.record, relation::SQL_SECURITY))
            || routines.clone().any(|it| match it.kind {
                RecordKind::Function => said(it, function::SQL_SECURITY),
                _ => said(it, procedure::SQL_SECURITY),
            })
            || self.triggers.iter().any(|it| said(it, trigger::SQL_SECURITY))
            || self.packages.iter().any(|it| said(it, 9))
            || self
                .of_kind(RecordKind::Role)
                .any(|it| it.number(role::SYS_PRIVILEGES).unwrap_or_default() != 0)
    }

    fn of_kind(&self, kind: RecordKind) -> impl Iterator<Item = &Record> {
        self.last.iter().filter(move |it| it.kind == kind)
    }

    /// Gives what is numbered or written differently the form that a format has.
    pub(super) fn adapt(&mut self, format: i32) {
        let shift = match (self.is_new, format >= 11) {
            (true, false) => -1,
            (false, true) => 1,
            _ => 0,
        };
        for record in &mut self.last {
            if record.kind == RecordKind::Role && format < 11 {
                record.attributes.retain(|it| it.number != role::SYS_PRIVILEGES);
            }
            let kind = record.number(privilege::OBJ_TYPE).unwrap_or_default();
            if record.kind == RecordKind::UserPrivilege
                && shift != 0
                && kind > SHIFTED_KINDS + i64::from(shift < 0)
            {
                record.attributes.retain(|it| it.number != privilege::OBJ_TYPE);
                record.attributes.push(number(privilege::OBJ_TYPE, kind + shift));
            }
        }
    }

    /// Takes out what has a source and no BLR, and what cannot be without it. Gives what was taken out.
    pub(super) fn leave_out(&mut self) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        let computed = self.leave_out_of_domains(&mut left_out);
        self.leave_out_of_relations(&computed, &mut left_out);
        let broken = self.leave_out_triggers(&mut left_out);
        self.leave_out_constraints(&broken, &mut left_out);
        self.leave_out_routines(&mut left_out);
        self.leave_out_privileges(&left_out);
        self.leave_out_unused_domains();
        left_out
    }

    /// Gives the domains of computed columns that cannot be.
    fn leave_out_of_domains(&mut self, left_out: &mut Vec<LeftOut>) -> HashSet<String> {
        let mut computed = HashSet::new();
        for record in &mut self.domains {
            let name = record.name(field::NAME).unwrap_or_default();
            if has_only(record, field::COMPUTED_SOURCE2, COMPUTED_BLR) {
                computed.insert(name.clone());
            }
            if has_only(record, field::DEFAULT_SOURCE, DEFAULT_BLR) {
                record.attributes.retain(|it| it.number != field::DEFAULT_SOURCE);
                left_out.push(LeftOut::DomainDefault(name.clone()));
            }
            if has_only(record, field::VALIDATION_SOURCE2, VALIDATION_BLR) {
                record.attributes.retain(|it| it.number != field::VALIDATION_SOURCE2);
                left_out.push(LeftOut::DomainCheck(name));
            }
        }
        computed
    }

    fn leave_out_of_relations(&mut self, computed: &HashSet<String>, left_out: &mut Vec<LeftOut>) {
        self.relations.retain(|relation| {
            let stays = !relation.is_view() || relation.record.bytes(relation::VIEW_BLR).is_some();
            if !stays {
                left_out.push(LeftOut::View(relation.name()));
            }
            stays
        });
        for relation in &mut self.relations {
            let table = relation.name();
            let name = |record: &Record, attribute| record.name(attribute).unwrap_or_default();
            relation.fields.retain_mut(|record| {
                let column = name(record, field::NAME);
                if computed.contains(&name(record, field::SOURCE)) {
                    left_out.push(LeftOut::Column { table: table.clone(), column });
                    return false;
                }
                if has_only(record, field::DEFAULT_SOURCE, DEFAULT_BLR) {
                    record.attributes.retain(|it| it.number != field::DEFAULT_SOURCE);
                    left_out.push(LeftOut::Default { table: table.clone(), column });
                }
                true
            });
            relation.indexes.retain(|record| {
                let stays = !has_only(record, index::EXPRESSION_SOURCE, EXPRESSION_BLR)
                    && !has_only(record, index::CONDITION_SOURCE, CONDITION_BLR);
                if !stays {
                    left_out.push(LeftOut::Index { table: table.clone(), name: name(record, index::NAME) });
                }
                stays
            });
        }
    }

    /// Gives the triggers that are gone: some are those of constraints.
    fn leave_out_triggers(&mut self, left_out: &mut Vec<LeftOut>) -> HashSet<String> {
        let views: HashSet<&String> = left_out
            .iter()
            .filter_map(|it| if let LeftOut::View(name) = it { Some(name) } else { None })
            .collect();
        let mut gone = HashSet::new();
        let mut own = Vec::new();
        self.triggers.retain(|record| {
            let name = record.name(trigger::NAME).unwrap_or_default();
            let table = record.name(trigger::RELATION_NAME).unwrap_or_default();
            let runs = record.bytes(TRIGGER_BLR).is_some() || record.bytes(trigger::ENGINE_NAME).is_some();
            if runs && !views.contains(&table) {
                return true;
            }
            if record.number(trigger::SYSTEM_FLAG).unwrap_or_default() == 0 {
                own.push(LeftOut::Trigger(name.clone()));
            }
            gone.insert(name);
            false
        });
        left_out.extend(own);
        gone
    }

    fn leave_out_constraints(&mut self, broken: &HashSet<String>, left_out: &mut Vec<LeftOut>) {
        let checked: HashMap<String, Vec<String>> = self.of_kind(RecordKind::Check).fold(
            HashMap::new(),
            |mut found: HashMap<String, Vec<String>>, record| {
                let name = record.name(check::CONSTRAINT_NAME).unwrap_or_default();
                found.entry(name).or_default().extend(record.name(check::TRIGGER_NAME));
                found
            },
        );
        let (mut gone, mut indexes, mut triggers) = (HashSet::new(), HashSet::new(), HashSet::new());
        for record in self.of_kind(RecordKind::Constraint) {
            let name = record.name(constraint::NAME).unwrap_or_default();
            let kind = record.name(constraint::TYPE).unwrap_or_default();
            let parts = checked.get(&name).map(Vec::as_slice).unwrap_or_default();
            // What stands there of a NOT NULL is its column.
            if kind == "NOT NULL" || !parts.iter().any(|it| broken.contains(it)) {
                continue;
            }
            let table = record.name(constraint::REL_NAME).unwrap_or_default();
            left_out.push(match kind.as_str() {
                "CHECK" => LeftOut::Check { table, name: name.clone() },
                _ => LeftOut::ForeignKey { table, name: name.clone() },
            });
            triggers.extend(parts.iter().cloned());
            indexes.extend(record.name(constraint::INDEX).filter(|it| !it.is_empty()));
            gone.insert(name);
        }
        self.triggers.retain(|it| !it.name(trigger::NAME).is_some_and(|name| triggers.contains(&name)));
        for relation in &mut self.relations {
            relation.indexes.retain(|it| !it.name(index::NAME).is_some_and(|name| indexes.contains(&name)));
        }
        self.last.retain(|record| {
            let attribute = match record.kind {
                RecordKind::Constraint => constraint::NAME,
                RecordKind::Reference => reference::CONSTRAINT_NAME,
                RecordKind::Check => check::CONSTRAINT_NAME,
                _ => return true,
            };
            !record.name(attribute).is_some_and(|name| gone.contains(&name))
        });
    }

    fn leave_out_routines(&mut self, left_out: &mut Vec<LeftOut>) {
        let mut packages: HashSet<String> = HashSet::new();
        self.packages.retain(|record| {
            let name = record.name(package::NAME).unwrap_or_default();
            let of_package = |it: &RoutineOf, attribute| it.record.name(attribute).as_ref() == Some(&name);
            let runs =
                self.functions.iter().all(|it| {
                    !of_package(it, function::PACKAGE_NAME) || it.record.bytes(FUNCTION_BLR).is_some()
                }) && self.procedures.iter().all(|it| {
                    !of_package(it, procedure::PACKAGE_NAME) || it.record.bytes(PROCEDURE_BLR).is_some()
                });
            if !runs {
                left_out.push(LeftOut::Package(name.clone()));
                packages.insert(name);
            }
            runs
        });
        let mut stays =
            |record: &Record, blr, engine, module: Option<u8>, owner, name, made: fn(String) -> LeftOut| {
                let package = record.name(owner).filter(|it| !it.is_empty());
                if let Some(package) = package {
                    return !packages.contains(&package);
                }
                let external = record.bytes(engine).is_some()
                    || module.and_then(|it| record.name(it)).is_some_and(|it| !it.is_empty());
                let stays = external || record.bytes(blr).is_some();
                if !stays {
                    left_out.push(made(record.name(name).unwrap_or_default()));
                }
                stays
            };
        self.functions.retain(|it| {
            stays(
                &it.record,
                FUNCTION_BLR,
                function::ENGINE_NAME,
                Some(function::MODULE_NAME),
                function::PACKAGE_NAME,
                function::NAME,
                LeftOut::Function,
            )
        });
        self.procedures.retain(|it| {
            stays(
                &it.record,
                PROCEDURE_BLR,
                procedure::ENGINE_NAME,
                None,
                procedure::PACKAGE_NAME,
                procedure::NAME,
                LeftOut::Procedure,
            )
        });
    }

    /// Privileges on what is gone, and of it.
    fn leave_out_privileges(&mut self, left_out: &[LeftOut]) {
        let mut gone: HashSet<(i64, &str)> = HashSet::new();
        let mut columns: HashSet<(&str, &str)> = HashSet::new();
        for it in left_out {
            match it {
                LeftOut::View(name) => gone.extend([(0, name.as_str()), (1, name.as_str())]),
                LeftOut::Trigger(name) => gone.extend([(2, name.as_str())]),
                LeftOut::Procedure(name) => gone.extend([(5, name.as_str())]),
                LeftOut::Function(name) => gone.extend([(15, name.as_str())]),
                LeftOut::Package(name) => gone.extend([(18, name.as_str())]),
                LeftOut::Column { table, column } => drop(columns.insert((table, column))),
                _ => {}
            }
        }
        self.last.retain(|record| {
            if record.kind != RecordKind::UserPrivilege {
                return true;
            }
            let name = |attribute| record.name(attribute).unwrap_or_default();
            let kind = |attribute| record.number(attribute).unwrap_or_default();
            let (object, user, column) =
                (name(privilege::OBJECT_NAME), name(privilege::USER), name(privilege::FIELD_NAME));
            !gone.contains(&(kind(privilege::OBJ_TYPE), object.as_str()))
                && !gone.contains(&(kind(privilege::USER_TYPE), user.as_str()))
                && !columns.contains(&(object.as_str(), column.as_str()))
        });
    }

    /// Domains that hold what one column or parameter says of itself, and whose column is gone.
    fn leave_out_unused_domains(&mut self) {
        let mut used: HashSet<String> = HashSet::new();
        let fields = self.relations.iter().flat_map(|it| &it.fields).map(|it| (it, field::SOURCE));
        let inputs = self.procedures.iter().flat_map(|it| &it.parameters);
        let inputs = inputs.map(|it| (it, procedure_parameter::FIELD_SOURCE));
        let arguments = self.functions.iter().flat_map(|it| &it.parameters);
        let arguments = arguments.map(|it| (it, function_argument::FIELD_SOURCE));
        for (record, attribute) in fields.chain(inputs).chain(arguments) {
            used.extend(record.name(attribute));
        }
        self.domains.retain(|it| {
            let name = it.name(field::NAME).unwrap_or_default();
            let implicit = name
                .strip_prefix("RDB$")
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit()));
            !implicit || used.contains(&name)
        });
    }
}

/// Whether a source is there without its BLR.
fn has_only(record: &Record, source: u8, program: u8) -> bool {
    record.bytes(source).is_some() && record.bytes(program).is_none()
}

fn number(attribute: u8, value: i64) -> Attribute {
    Attribute { number: attribute, bytes: i32::try_from(value).unwrap_or_default().to_le_bytes().to_vec() }
}

/// Records by what they belong to.
type Parts = HashMap<Vec<String>, Vec<Record>>;

/// The columns of system tables that the server has.
fn known_columns<D: Database>(database: &D) -> Result<HashSet<(String, String)>, D::Error> {
    let mut known = HashSet::new();
    let sql = "select RDB$RELATION_NAME, RDB$FIELD_NAME from RDB$RELATION_FIELDS \
               where RDB$RELATION_NAME starting with 'RDB$'";
    database.query(sql, &mut |row| {
        if let [table, column] = row {
            known.insert((name_of(table).unwrap_or_default(), name_of(column).unwrap_or_default()));
        }
        Ok(())
    })?;
    Ok(known)
}

struct Reader<'d, D> {
    database: &'d D,
    known: HashSet<(String, String)>,
}

impl<D: Database> Reader<'_, D> {
    fn all(&self, tables: &[&TableOf]) -> Result<Vec<Record>, D::Error> {
        let mut records = Vec::new();
        for table in tables {
            records.extend(self.records(table)?);
        }
        Ok(records)
    }

    fn records(&self, table: &TableOf) -> Result<Vec<Record>, D::Error> {
        let mut records = Vec::new();
        self.each(table, |_, record| records.push(record))?;
        Ok(records)
    }

    fn parts(&self, table: &TableOf) -> Result<Parts, D::Error> {
        let mut parts = Parts::new();
        self.each(table, |owner, record| parts.entry(owner).or_default().push(record))?;
        Ok(parts)
    }

    fn routines(&self, table: &TableOf, of_parameters: &TableOf) -> Result<Vec<RoutineOf>, D::Error> {
        let mut parameters = self.parts(of_parameters)?;
        let (package, name) = match table.kind {
            RecordKind::Function => (function::PACKAGE_NAME, function::NAME),
            _ => (procedure::PACKAGE_NAME, procedure::NAME),
        };
        let with_parameters = |record: Record| {
            let owner = vec![record.name(package).unwrap_or_default(), record.name(name).unwrap_or_default()];
            RoutineOf { record, parameters: parameters.remove(&owner).unwrap_or_default() }
        };
        Ok(self.records(table)?.into_iter().map(with_parameters).collect())
    }

    /// Hands over each record of a query, with what it belongs to.
    fn each(&self, table: &TableOf, mut take: impl FnMut(Vec<String>, Record)) -> Result<(), D::Error> {
        let is_known = |column: &str| {
            let (prefix, name) = column.split_once('.').unwrap_or_default();
            let of = table.tables.iter().find(|(it, _)| *it == prefix).map(|(_, table)| *table);
            of.is_some_and(|of| self.known.contains(&(of.to_owned(), name.to_owned())))
        };
        if !table.tables.iter().all(|(_, name)| self.known.iter().any(|(known, _)| known == name)) {
            return Ok(());
        }
        let owner: Vec<&str> = table
            .owner
            .iter()
            .map(|it| if is_known(it) { *it } else { "cast(null as varchar(1))" })
            .collect();
        let columns: Vec<_> = table.columns.iter().filter(|(_, column, _)| is_known(column)).collect();
        let mut list: Vec<String> = owner.iter().map(|it| (*it).to_owned()).collect();
        for (_, column, form) in &columns {
            list.push((*column).to_owned());
            if matches!(form, Form::Source | Form::Program) {
                list.push(format!("octet_length({column})"));
            }
        }
        let sql = format!("select {} from {}", list.join(", "), table.from);
        self.database.query(&sql, &mut |row| {
            let mut values = row.iter();
            let owner = values.by_ref().take(owner.len()).map(|it| name_of(it).unwrap_or_default()).collect();
            let mut record = Record { kind: table.kind, attributes: Vec::new() };
            for (attribute, _, form) in &columns {
                let value = values.next().unwrap_or(&Value::Null);
                let bytes = match form {
                    Form::Source | Form::Program => {
                        let bytes = values.next().and_then(count_of).unwrap_or_default();
                        self.contents(value, bytes)?
                    }
                    _ => plain_bytes(value, *form),
                };
                record.attributes.extend(bytes.and_then(|bytes| formed(*attribute, *form, bytes)));
            }
            take(owner, record);
            Ok(())
        })
    }

    fn contents(&self, value: &Value, bytes: u64) -> Result<Option<Vec<u8>>, D::Error> {
        let Value::Blob(id) = value else { return Ok(None) };
        let mut sink = Whole(Vec::new());
        self.database.blob(*id, bytes, &mut sink)?;
        Ok(Some(sink.0).filter(|it| !it.is_empty()))
    }

    fn physical(&self) -> Result<Record, D::Error> {
        let mut record = Record { kind: RecordKind::PhysicalDatabase, attributes: Vec::new() };
        let sql =
            "select MON$PAGE_SIZE, MON$SWEEP_INTERVAL, MON$SQL_DIALECT, MON$READ_ONLY from MON$DATABASE";
        self.database.query(sql, &mut |row| {
            let attributes = [
                physical::PAGE_SIZE,
                physical::SWEEP_INTERVAL,
                physical::SQL_DIALECT,
                physical::DB_READ_ONLY,
            ];
            for (attribute, value) in attributes.into_iter().zip(row) {
                let is_said = attribute != physical::DB_READ_ONLY || count_of(value) == Some(1);
                let bytes = plain_bytes(value, Form::Number).filter(|_| is_said);
                record.attributes.extend(bytes.map(|bytes| Attribute { number: attribute, bytes }));
            }
            Ok(())
        })?;
        Ok(record)
    }

    /// Adds to each sequence its value.
    fn sequence_values(&self, records: &mut [Record]) -> Result<(), D::Error> {
        use crate::attribute::generator;
        let mut sequences: Vec<&mut Record> =
            records.iter_mut().filter(|it| it.kind == RecordKind::Generator).collect();
        for chunk in sequences.chunks_mut(SEQUENCES_PER_QUERY) {
            let names = chunk.iter().map(|it| it.name(generator::GENERATOR).unwrap_or_default());
            let list: Vec<String> =
                names.map(|name| format!("gen_id(\"{}\", 0)", name.replace('"', "\"\""))).collect();
            let sql = format!("select {} from RDB$DATABASE", list.join(", "));
            self.database.query(&sql, &mut |row| {
                for (record, value) in chunk.iter_mut().zip(row) {
                    let bytes = plain_bytes(value, Form::Long);
                    let value = bytes.map(|bytes| Attribute { number: generator::VALUE_INT64, bytes });
                    record.attributes.extend(value);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// A BLOB of the system tables, in memory as the record that it belongs to.
struct Whole(Vec<u8>);

impl<E> BlobSink<E> for Whole {
    fn begin(&mut self, _shape: BlobShape) -> Result<(), E> {
        Ok(())
    }

    fn segment(&mut self, bytes: &[u8]) -> Result<(), E> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// A name as system tables have it.
pub(super) fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => {
            Some(String::from_utf8_lossy(text.bytes()).trim_end_matches([' ', '\0']).to_owned())
        }
        _ => None,
    }
}

/// A count, or a length.
pub(super) fn count_of(value: &Value) -> Option<u64> {
    match value {
        Value::Integer { unscaled, scale: 0 } => u64::try_from(*unscaled).ok(),
        _ => None,
    }
}

/// The bytes of what is no BLOB; `None` for NULL.
fn plain_bytes(value: &Value, form: Form) -> Option<Vec<u8>> {
    match (value, form) {
        (Value::Text(text), Form::Bytes) => Some(text.bytes().to_vec()),
        (Value::Text(text), Form::Message { .. }) => Some(text.bytes().to_vec()),
        (Value::Text(_), _) => name_of(value).map(String::into_bytes),
        (Value::Boolean(value), _) => Some(vec![u8::from(*value)]),
        (Value::Integer { unscaled, .. }, Form::Long) => Some(unscaled.to_le_bytes().to_vec()),
        (Value::Integer { unscaled, .. }, _) => match i32::try_from(*unscaled) {
            Ok(number) => Some(number.to_le_bytes().to_vec()),
            Err(_) => Some(unscaled.to_le_bytes().to_vec()),
        },
        _ => None,
    }
}

/// An attribute of these bytes; `None` if there is nothing to be said.
fn formed(attribute: u8, form: Form, mut bytes: Vec<u8>) -> Option<Attribute> {
    let number = match form {
        Form::Message { long } if bytes.len() > usize::from(u8::MAX) => long,
        // A trigger on definitions has more bits than four bytes have.
        Form::Number if bytes.len() > 4 => trigger::TYPE2,
        _ => attribute,
    };
    match form {
        Form::Source => bytes.push(0),
        Form::Program if bytes.len() <= EMPTY_PROGRAM_BYTES => return None,
        _ => {}
    }
    Some(Attribute { number, bytes })
}
