//! The definitions of a database, read from its system tables.

use std::collections::{HashMap, HashSet};

use farbird_types::Value;

use super::columns::{self, Form, TableOf};
use super::left_out::LeftOut;
use super::since_4::needs_firebird_4;
use super::{BlobShape, BlobSink, Database};
use crate::attribute::{
    collation, constraint, database, exception, field, function, function_argument, generator, index,
    mapping, package, physical, privilege, procedure, procedure_parameter, relation, role, trigger,
};
use crate::record::{Attribute, Record, RecordKind};

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
/// The longest name in bytes before Firebird 4.
const NAME_BYTES_BEFORE_4: usize = 31;
/// What a collation says of the library that its server has.
const LIBRARY_VERSIONS: [&str; 2] = ["COLL-VERSION=", "ICU-VERSION="];
/// What uses what; a package's routine counts as the package.
const NEEDS: &str = "select distinct RDB$DEPENDENT_NAME, RDB$DEPENDENT_TYPE, \
                     coalesce(RDB$PACKAGE_NAME, RDB$DEPENDED_ON_NAME), \
                     case when RDB$PACKAGE_NAME is null then RDB$DEPENDED_ON_TYPE else 18 end from RDB$DEPENDENCIES";
/// How many sequences one query asks for.
const SEQUENCES_PER_QUERY: usize = 50;

/// A table or view with what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct RelationOf {
    pub(super) record: Record,
    pub(super) fields: Vec<Record>,
    /// What a view reads.
    pub(super) views: Vec<Record>,
    pub(super) indexes: Vec<Record>,
    /// Whether its rows are left out.
    pub(super) is_passed_over: bool,
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

/// A use of one object by another: their names and kinds, as RDB$DEPENDENCIES numbers them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) user: (String, u64),
    pub(super) used: (String, u64),
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
    /// What the database has and a backup made here has no records of.
    pub(super) without_records: Vec<LeftOut>,
    /// What uses what.
    pub(super) needs: Vec<Need>,
    /// Whether kinds of objects have the numbers of Firebird 4.
    is_new: bool,
}

impl Definitions {
    /// Reads them.
    ///
    /// # Errors
    /// Those of the database.
    pub fn read<D: Database>(database: &D) -> Result<Definitions, D::Error> {
        let (reader, mut definitions) = Definitions::read_without_values(database)?;
        let dialect = definitions.physical.number(physical::SQL_DIALECT).unwrap_or(3);
        reader.sequence_values(&mut definitions.behind_tables, dialect)?;
        Ok(definitions)
    }

    /// Leaves the rows of tables out that are not `taken`.
    ///
    /// # Errors
    /// Those of `taken`.
    pub fn take_rows<E>(&mut self, mut taken: impl FnMut(&str) -> Result<bool, E>) -> Result<(), E> {
        for relation in &mut self.relations {
            relation.is_passed_over = !taken(&relation.name())?;
        }
        Ok(())
    }

    /// Leaves the values of sequences out: they stand at 0 when it is restored.
    pub fn reset_sequences(&mut self) {
        for record in self.behind_tables.iter_mut().filter(|it| it.kind == RecordKind::Generator) {
            record.attributes.retain(|it| it.number != generator::VALUE_INT64);
        }
    }

    /// As [`Definitions::read`], of a database whose sequences are not there yet: `value` gives theirs.
    ///
    /// # Errors
    /// Those of the database.
    pub fn read_with_values<D: Database>(
        database: &D,
        value: impl Fn(&str) -> i64,
    ) -> Result<Definitions, D::Error> {
        let (_, mut definitions) = Definitions::read_without_values(database)?;
        for record in definitions.behind_tables.iter_mut().filter(|it| it.kind == RecordKind::Generator) {
            let value = value(&record.name(generator::GENERATOR).unwrap_or_default());
            let bytes = value.to_le_bytes().to_vec();
            record.attributes.push(Attribute { number: generator::VALUE_INT64, bytes });
        }
        Ok(definitions)
    }

    fn read_without_values<D: Database>(database: &D) -> Result<(Reader<'_, D>, Definitions), D::Error> {
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
                is_passed_over: false,
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
            without_records: reader.without_records()?,
            needs: reader.needs()?,
            is_new: reader.known.contains(&("RDB$RELATIONS".to_owned(), "RDB$SQL_SECURITY".to_owned())),
        };
        if let Some(record) = reader.records(&columns::DATABASE)?.into_iter().next() {
            definitions.database = record;
        }
        definitions.mark_computed();
        definitions.leave_long_mappings_out();
        definitions.name_security_classes();
        definitions.say_bounds();
        definitions.leave_collations_to_domains();
        definitions.leave_versions_of_libraries();
        Ok((reader, definitions))
    }

    /// A collation is made of the library that the other server has, whose version is another one.
    fn leave_versions_of_libraries(&mut self) {
        let collations = self.before_tables.iter_mut().filter(|it| it.kind == RecordKind::Collation);
        for record in collations {
            let Some(said) = record.source(collation::SPECIFIC_ATTR, None) else { continue };
            let is_version = |part: &&str| LIBRARY_VERSIONS.iter().any(|it| part.trim().starts_with(it));
            let rest: Vec<&str> = said.split(';').filter(|part| !is_version(part)).collect();
            let rest = rest.join(";");
            record.attributes.retain(|it| it.number != collation::SPECIFIC_ATTR || !rest.is_empty());
            for attribute in record.attributes.iter_mut().filter(|it| it.number == collation::SPECIFIC_ATTR) {
                attribute.bytes = [rest.as_bytes(), &[0]].concat();
            }
        }
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
                RecordKind::GlobalField => field::SECURITY_CLASS,
                RecordKind::Generator => generator::SECURITY_CLASS,
                RecordKind::Exception => exception::SECURITY_CLASS,
                RecordKind::Collation => collation::SECURITY_CLASS,
                RecordKind::Function => function::SECURITY_CLASS,
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
            .filter(|it| {
                it.bytes(field::COMPUTED_BLR).is_some() || it.bytes(field::COMPUTED_SOURCE2).is_some()
            })
            .filter_map(|it| it.name(field::NAME))
            .collect();
        for record in self.relations.iter_mut().flat_map(|it| &mut it.fields) {
            if record.name(field::SOURCE).is_some_and(|source| computed.contains(&source)) {
                record.attributes.push(number(field::COMPUTED_FLAG, 1));
            }
        }
    }

    /// What the database has and there are no records of.
    pub fn without_records(&self) -> &[LeftOut] {
        &self.without_records
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
        // Those of expressions are not kept: Firebird 3 computes others.
        let types = |it: &Record| {
            it.number(field::TYPE).is_some_and(|it| TYPES_SINCE_4.contains(&it))
                && !Definitions::is_computed(it)
        };
        let routines = self.functions.iter().chain(&self.procedures).map(|it| &it.record);
        let said = |record: &Record, attribute| record.bytes(attribute).is_some();
        self.domains.iter().any(types)
            || self.records().any(|(_, it)| has_long_name(it))
            || self.programs().any(needs_firebird_4)
            || said(&self.database, database::SQL_SECURITY)
            || self.relations.iter().any(|it| said(&it.record, relation::SQL_SECURITY))
            || routines.clone().any(|it| match it.kind {
                RecordKind::Function => said(it, function::SQL_SECURITY),
                _ => said(it, procedure::SQL_SECURITY),
            })
            || self.triggers.iter().any(|it| said(it, trigger::SQL_SECURITY))
            || self.packages.iter().any(|it| said(it, package::SQL_SECURITY))
            || self
                .of_kind(RecordKind::Role)
                .any(|it| it.number(role::SYS_PRIVILEGES).unwrap_or_default() != 0)
    }

    /// Programs of views, columns, triggers and routines.
    fn programs(&self) -> impl Iterator<Item = &[u8]> {
        let columns = self.domains.iter().filter_map(|it| it.bytes(field::COMPUTED_BLR));
        let views = self.relations.iter().filter_map(|it| it.record.bytes(relation::VIEW_BLR));
        let triggers = self.triggers.iter().filter_map(|it| it.bytes(trigger::BLR));
        let procedures = self.procedures.iter().filter_map(|it| it.record.bytes(procedure::BLR));
        let functions = self.functions.iter().filter_map(|it| it.record.bytes(function::BLR));
        columns.chain(views).chain(triggers).chain(procedures).chain(functions)
    }

    /// What a mapping maps can be longer than gbak counts.
    fn leave_long_mappings_out(&mut self) {
        let is_long = |record: &mut Record| {
            record.kind == RecordKind::Mapping
                && record.bytes(mapping::FROM).is_some_and(|from| from.len() > usize::from(u8::MAX))
        };
        let long = self.last.extract_if(.., is_long);
        let left_out = long.map(|it| LeftOut::Mapping(it.name(mapping::NAME).unwrap_or_default()));
        self.without_records.extend(left_out);
    }

    pub(super) fn of_kind(&self, kind: RecordKind) -> impl Iterator<Item = &Record> {
        self.last.iter().filter(move |it| it.kind == kind)
    }

    /// Gives what is numbered or written differently the form that a format has.
    pub(super) fn adapt(&mut self, format: i32) {
        if format < 11 {
            self.describe_computed_as_before_4();
        }
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
}

/// Whether something has a name that is too long for Firebird 3.
fn has_long_name(record: &Record) -> bool {
    let attribute = match record.kind {
        RecordKind::Trigger => trigger::NAME,
        RecordKind::FunctionArgument => function_argument::ARG_NAME,
        RecordKind::GlobalField => field::NAME,
        RecordKind::Field => field::NAME,
        RecordKind::Relation => relation::NAME,
        RecordKind::Index => index::NAME,
        RecordKind::Generator => generator::GENERATOR,
        RecordKind::Exception => exception::NAME,
        RecordKind::Procedure => procedure::NAME,
        RecordKind::ProcedureParameter => procedure_parameter::NAME,
        RecordKind::Function => function::NAME,
        RecordKind::Package => package::NAME,
        RecordKind::Constraint => constraint::NAME,
        RecordKind::Collation => collation::NAME,
        RecordKind::Role => role::NAME,
        RecordKind::Mapping => mapping::NAME,
        RecordKind::UserPrivilege => privilege::USER,
        _ => return false,
    };
    record.name(attribute).is_some_and(|it| it.len() > NAME_BYTES_BEFORE_4)
}

pub(super) fn number(attribute: u8, value: i64) -> Attribute {
    Attribute { number: attribute, bytes: i32::try_from(value).unwrap_or_default().to_le_bytes().to_vec() }
}

/// Something that backups made here have no records of, as a query for two names.
struct WithoutRecords {
    /// A table and its column that servers with such things have.
    name: &'static str,
    column: &'static str,
    sql: &'static str,
    made: fn(String, String) -> LeftOut,
}

const WITHOUT_RECORDS: [WithoutRecords; 5] = [
    WithoutRecords {
        name: "RDB$FILTERS",
        column: "RDB$FUNCTION_NAME",
        sql: "select RDB$FUNCTION_NAME, RDB$MODULE_NAME from RDB$FILTERS \
              where coalesce(RDB$SYSTEM_FLAG, 0) <> 1 order by 1",
        made: |name, _| LeftOut::Filter(name),
    },
    WithoutRecords {
        name: "RDB$FILES",
        column: "RDB$SHADOW_NUMBER",
        sql: "select RDB$FILE_NAME, RDB$FILE_NAME from RDB$FILES where RDB$SHADOW_NUMBER > 0 order by 1",
        made: |file, _| LeftOut::Shadow(file),
    },
    WithoutRecords {
        name: "RDB$PUBLICATIONS",
        column: "RDB$ACTIVE_FLAG",
        sql: "select RDB$PUBLICATION_NAME, RDB$OWNER_NAME from RDB$PUBLICATIONS \
              where RDB$ACTIVE_FLAG = 1 order by 1",
        made: |name, _| LeftOut::Publication(name),
    },
    WithoutRecords {
        name: "RDB$PUBLICATION_TABLES",
        column: "RDB$TABLE_NAME",
        sql: "select RDB$TABLE_NAME, RDB$PUBLICATION_NAME from RDB$PUBLICATION_TABLES order by 2, 1",
        made: |table, publication| LeftOut::Published { table, publication },
    },
    WithoutRecords {
        name: "RDB$CHARACTER_SETS",
        column: "RDB$DEFAULT_COLLATE_NAME",
        sql: "select RDB$DEFAULT_COLLATE_NAME, RDB$CHARACTER_SET_NAME from RDB$CHARACTER_SETS \
              where RDB$DEFAULT_COLLATE_NAME <> RDB$CHARACTER_SET_NAME order by 2",
        made: |collation, character_set| LeftOut::DefaultCollation { collation, character_set },
    },
];

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

    fn knows(&self, table: &str, column: &str) -> bool {
        self.known.contains(&(table.to_owned(), column.to_owned()))
    }

    fn needs(&self) -> Result<Vec<Need>, D::Error> {
        let mut needs = Vec::new();
        if self.knows("RDB$DEPENDENCIES", "RDB$PACKAGE_NAME") {
            self.database.query(NEEDS, &mut |row| {
                if let [user, user_kind, used, used_kind] = row {
                    let object = |name, kind| Some((name_of(name)?, count_of(kind)?));
                    needs.extend(
                        object(user, user_kind)
                            .zip(object(used, used_kind))
                            .map(|(user, used)| Need { user, used }),
                    );
                }
                Ok(())
            })?;
        }
        Ok(needs)
    }

    fn without_records(&self) -> Result<Vec<LeftOut>, D::Error> {
        let mut found = Vec::new();
        for table in WITHOUT_RECORDS {
            if self.knows(table.name, table.column) {
                found.extend(self.pairs(table.sql)?.into_iter().map(|(name, of)| (table.made)(name, of)));
            }
        }
        Ok(found)
    }

    /// The rows of a query for two names.
    fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>, D::Error> {
        let mut pairs = Vec::new();
        self.database.query(sql, &mut |row| {
            if let [first, second] = row {
                pairs.push((name_of(first).unwrap_or_default(), name_of(second).unwrap_or_default()));
            }
            Ok(())
        })?;
        Ok(pairs)
    }

    /// Adds to each sequence its value.
    fn sequence_values(&self, records: &mut [Record], dialect: i64) -> Result<(), D::Error> {
        let mut sequences: Vec<&mut Record> =
            records.iter_mut().filter(|it| it.kind == RecordKind::Generator).collect();
        for chunk in sequences.chunks_mut(SEQUENCES_PER_QUERY) {
            let names = chunk.iter().map(|it| it.name(generator::GENERATOR).unwrap_or_default());
            let list: Vec<String> =
                names.map(|name| format!("gen_id({}, 0)", quoted(&name, dialect))).collect();
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

/// A name in a query: dialect 1 has no quoted ones.
pub(super) fn quoted(name: &str, dialect: i64) -> String {
    match dialect {
        1 => name.to_owned(),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
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
