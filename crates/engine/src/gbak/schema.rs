//! The definitions of a backup, as they come out of it.

use std::collections::{BTreeMap, HashMap};

use farbird_gbak::attribute::{
    check, collation, constraint, database, field, function, function_argument, generator, index, physical,
    procedure, procedure_parameter, reference, relation, trigger,
};
use farbird_gbak::write::Definitions;
use farbird_gbak::{Record, RecordKind};
use farbird_types::CharacterSet;

/// A table or view with what belongs to it.
#[derive(Debug)]
pub(super) struct RelationRecords {
    pub(super) name: String,
    pub(super) record: Record,
    /// Its columns, in the order in which rows have them.
    pub(super) fields: Vec<Record>,
    pub(super) indexes: Vec<Record>,
}

impl RelationRecords {
    pub(super) fn is_view(&self) -> bool {
        /// RDB$RELATION_TYPE of views.
        const VIEW: i64 = 1;
        self.record.bytes(relation::VIEW_BLR).is_some() || self.record.number(relation::TYPE) == Some(VIEW)
    }

    /// Whether its rows are in a file outside of the database.
    pub(super) fn is_external(&self) -> bool {
        self.record.bytes(relation::EXT_FILE_NAME).is_some()
    }

    /// Its columns in the order in which they are shown.
    pub(super) fn columns(&self) -> Vec<&Record> {
        let mut columns: Vec<&Record> = self.fields.iter().collect();
        columns.sort_by_key(|it| it.number(field::POSITION).unwrap_or_default());
        columns
    }
}

/// A procedure or function with its parameters.
#[derive(Debug)]
pub(super) struct RoutineRecords {
    pub(super) name: String,
    /// The package that it is part of.
    pub(super) package: Option<String>,
    pub(super) record: Record,
    /// In no order.
    pub(super) parameters: Vec<Record>,
}

/// All definitions that have been read.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) dialect: u8,
    pub(super) domains: BTreeMap<String, Record>,
    pub(super) relations: Vec<RelationRecords>,
    relation_places: HashMap<String, usize>,
    /// Where an index is: its table's place, and its own among the table's.
    index_places: HashMap<String, (usize, usize)>,
    /// The places of a table's constraints among all.
    constraint_places: HashMap<String, Vec<usize>>,
    pub(super) procedures: Vec<RoutineRecords>,
    pub(super) functions: Vec<RoutineRecords>,
    /// What consists of one record each.
    others: HashMap<RecordKind, Records>,
}

/// The records of one kind.
#[derive(Debug, Default)]
struct Records {
    all: Vec<Record>,
    /// Where the first one of a name is, of kinds whose records are looked up by their names.
    places: HashMap<String, usize>,
}

/// The attribute by which records of a kind are looked up.
fn name_attribute(kind: RecordKind) -> Option<u8> {
    match kind {
        RecordKind::Generator => Some(generator::GENERATOR),
        RecordKind::Check => Some(check::CONSTRAINT_NAME),
        RecordKind::Trigger => Some(trigger::NAME),
        RecordKind::Constraint => Some(constraint::NAME),
        RecordKind::Reference => Some(reference::CONSTRAINT_NAME),
        _ => None,
    }
}

impl Schema {
    /// The definitions of a database that is about to be backed up.
    pub(super) fn of(definitions: &Definitions) -> Schema {
        let mut schema = Schema::default();
        for (table, record) in definitions.records() {
            if record.kind == RecordKind::PhysicalDatabase {
                schema.dialect = if record.number(physical::SQL_DIALECT) == Some(1) { 1 } else { 3 };
            } else {
                schema.add(record.clone(), table.as_deref());
            }
        }
        schema
    }

    /// Takes a record of definitions. `relation` is the table whose data are being read.
    pub(super) fn add(&mut self, record: Record, data_of: Option<&str>) {
        match record.kind {
            RecordKind::GlobalField => {
                self.domains.insert(record.name(field::NAME).unwrap_or_default(), record);
            }
            RecordKind::Relation => {
                let name = record.name(relation::NAME).unwrap_or_default();
                self.relation_places.insert(name.clone(), self.relations.len());
                let (fields, indexes) = (Vec::new(), Vec::new());
                self.relations.push(RelationRecords { name, record, fields, indexes });
            }
            RecordKind::Field => {
                if let Some(relation) = self.relations.last_mut() {
                    relation.fields.push(record);
                }
            }
            RecordKind::Index => {
                let place = data_of.and_then(|name| self.relation_places.get(name)).copied();
                let found = place.and_then(|place| Some((place, self.relations.get_mut(place)?)));
                if let Some((place, relation)) = found {
                    let name = record.name(index::NAME).unwrap_or_default();
                    self.index_places.entry(name).or_insert((place, relation.indexes.len()));
                    relation.indexes.push(record);
                }
            }
            RecordKind::Procedure => self.procedures.push(RoutineRecords {
                name: record.name(procedure::NAME).unwrap_or_default(),
                package: record.name(procedure::PACKAGE_NAME),
                record,
                parameters: Vec::new(),
            }),
            RecordKind::Function => self.functions.push(RoutineRecords {
                name: record.name(function::NAME).unwrap_or_default(),
                package: record.name(function::PACKAGE_NAME),
                record,
                parameters: Vec::new(),
            }),
            RecordKind::ProcedureParameter => {
                if let Some(routine) = self.procedures.last_mut() {
                    routine.parameters.push(record);
                }
            }
            RecordKind::FunctionArgument => {
                if let Some(routine) = self.functions.last_mut() {
                    routine.parameters.push(record);
                }
            }
            // Marks, and what follows from other definitions.
            RecordKind::RelationEnd
            | RecordKind::ProcedureEnd
            | RecordKind::FunctionEnd
            | RecordKind::View
            | RecordKind::SystemType
            | RecordKind::SecurityClass
            | RecordKind::TriggerMessage
            | RecordKind::GeneratorOfRelation => {}
            _ => self.add_other(record),
        }
    }

    fn add_other(&mut self, record: Record) {
        let records = self.others.entry(record.kind).or_default();
        let place = records.all.len();
        if let Some(name) = name_attribute(record.kind).and_then(|attribute| record.name(attribute)) {
            records.places.entry(name).or_insert(place);
        }
        if record.kind == RecordKind::Constraint
            && let Some(table) = record.name(constraint::REL_NAME)
        {
            self.constraint_places.entry(table).or_default().push(place);
        }
        records.all.push(record);
    }

    pub(super) fn all(&self, kind: RecordKind) -> &[Record] {
        self.others.get(&kind).map_or(&[], |records| records.all.as_slice())
    }

    /// The character set that texts have by default.
    pub(super) fn default_character_set(&self) -> CharacterSet {
        let name = self.all(RecordKind::Database).first().and_then(|it| it.name(database::DFL_CHARSET));
        name.and_then(|name| CharacterSet::by_name(&name)).unwrap_or(CharacterSet::NONE)
    }

    /// What of a kind has this name: the first one, as of a CHECK's two triggers. Nothing of kinds that have no names here.
    pub(super) fn named(&self, kind: RecordKind, name: &str) -> Option<&Record> {
        let records = self.others.get(&kind)?;
        records.places.get(name).and_then(|place| records.all.get(*place))
    }

    /// The place of a table among all.
    pub(super) fn relation_place(&self, name: &str) -> Option<usize> {
        self.relation_places.get(name).copied()
    }

    pub(super) fn relation(&self, name: &str) -> Option<&RelationRecords> {
        self.relation_places.get(name).and_then(|place| self.relations.get(*place))
    }

    /// The domain behind a column: a named one, or the one that holds what the column says of itself.
    pub(super) fn domain_of(&self, column: &Record) -> Option<&Record> {
        self.domains.get(&column.name(field::SOURCE)?)
    }

    /// The generators that users see.
    pub(super) fn sequences(&self) -> impl Iterator<Item = &Record> {
        self.all(RecordKind::Generator)
            .iter()
            .filter(|it| it.number(generator::SYSFLAG).unwrap_or_default() == 0)
            // Made by gbak for fields of older databases.
            .filter(|it| !it.name(generator::GENERATOR).unwrap_or_default().starts_with("RDB$"))
    }

    /// The generator behind an identity column.
    pub(super) fn identity_generator(&self, column: &Record) -> Option<&Record> {
        let name = column.name(field::GENERATOR_NAME)?;
        self.named(RecordKind::Generator, &name)
    }

    /// The constraints of a table.
    pub(super) fn constraints_of(&self, table: &str) -> impl Iterator<Item = &Record> {
        let all = self.all(RecordKind::Constraint);
        let places = self.constraint_places.get(table).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| all.get(*place))
    }

    /// What RDB$CHECK_CONSTRAINTS says of a constraint: the column of a NOT NULL, the trigger of a CHECK.
    pub(super) fn check_of(&self, constraint_name: &str) -> Option<String> {
        self.named(RecordKind::Check, constraint_name)?.name(check::TRIGGER_NAME)
    }

    /// The condition of a CHECK: its triggers have it as their source.
    pub(super) fn check_source(&self, constraint_name: &str) -> Option<String> {
        let name = self.check_of(constraint_name)?;
        self.named(RecordKind::Trigger, &name)?.source(trigger::SOURCE2, Some(trigger::SOURCE))
    }

    /// An index by its name, with its table.
    pub(super) fn index(&self, name: &str) -> Option<(&RelationRecords, &Record)> {
        let (table, place) = *self.index_places.get(name)?;
        let relation = self.relations.get(table)?;
        Some((relation, relation.indexes.get(place)?))
    }

    /// A constraint by its name.
    pub(super) fn constraint(&self, name: &str) -> Option<&Record> {
        self.named(RecordKind::Constraint, name)
    }

    /// The name of a collation by its number in a character set.
    pub(super) fn collation_name(&self, character_set: i64, number: i64) -> Option<String> {
        let own = self.all(RecordKind::Collation).iter().find(|it| {
            it.number(collation::CS_ID) == Some(character_set) && it.number(collation::ID) == Some(number)
        });
        if let Some(own) = own {
            return own.name(collation::NAME);
        }
        let set = CharacterSet::by_id(u8::try_from(character_set).ok()?)?;
        let number = farbird_types::Collation(u32::try_from(number).ok()?);
        set.collation_name(number).map(str::to_owned)
    }
}

/// Whether a domain is the one that holds what one column, parameter or result says of itself.
pub(super) fn is_implicit(domain: &str) -> bool {
    domain
        .strip_prefix("RDB$")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit()))
}

/// The parameters in (`output` is false) or out, in order.
pub(super) fn procedure_parameters(routine: &RoutineRecords, output: bool) -> Vec<&Record> {
    let number = |it: &Record, attribute| it.number(attribute).unwrap_or_default();
    let mut found: Vec<&Record> = routine
        .parameters
        .iter()
        .filter(|it| (number(it, procedure_parameter::TYPE) != 0) == output)
        .collect();
    found.sort_by_key(|it| number(it, procedure_parameter::NUMBER));
    found
}

/// The arguments of a function, in order, and its result.
pub(super) fn function_arguments(routine: &RoutineRecords) -> (Vec<&Record>, Option<&Record>) {
    let position = |it: &Record| it.number(function_argument::POSITION).unwrap_or_default();
    let result = routine.record.number(function::RETURN_ARG).unwrap_or_default();
    let mut arguments: Vec<&Record> = routine.parameters.iter().filter(|it| position(it) != result).collect();
    arguments.sort_by_key(|it| position(it));
    (arguments, routine.parameters.iter().find(|it| position(it) == result))
}
