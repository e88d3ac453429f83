//! Takes out of the definitions what Firebird could not run without BLR.

use std::collections::{HashMap, HashSet};

use super::definitions::{Definitions, RoutineOf};
use super::left_out::LeftOut;
use crate::attribute::{
    check, constraint, field, function, function_argument, index, package, privilege, procedure,
    procedure_parameter, reference, relation, trigger,
};
use crate::record::{Record, RecordKind};

/// Kinds of objects, as RDB$DEPENDENCIES numbers them. A package's body counts as the package.
const TABLE: u64 = 0;
const VIEW: u64 = 1;
const TRIGGER: u64 = 2;
const COMPUTED: u64 = 3;
const VALIDATION: u64 = 4;
const PROCEDURE: u64 = 5;
const FUNCTION: u64 = 15;
const PACKAGE: u64 = 18;
const PACKAGE_BODY: u64 = 19;
const RELATIONS: [u64; 2] = [TABLE, VIEW];

/// The kind and name of an object.
type Object = (u64, String);

/// An object of a dependency: tables and views are one, a package and its body too.
fn object((name, kind): &(String, u64)) -> Object {
    let kind = match *kind {
        TABLE => VIEW,
        PACKAGE_BODY => PACKAGE,
        other => other,
    };
    (kind, name.clone())
}

impl Definitions {
    /// Takes out what has a source and no BLR, and what cannot be without it. Gives what was taken out.
    pub(super) fn leave_out(&mut self) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        self.leave_out_users_of_what_is_gone();
        let computed = self.leave_out_of_domains(&mut left_out);
        self.leave_out_of_relations(&computed, &mut left_out);
        let broken = self.leave_out_triggers(&mut left_out);
        self.leave_out_constraints(&broken, &mut left_out);
        self.leave_out_routines(&mut left_out);
        self.leave_out_privileges(&left_out);
        self.leave_out_unused_domains();
        left_out
    }

    /// What has BLR and uses something that has none loses its own: it could not run.
    fn leave_out_users_of_what_is_gone(&mut self) {
        let mut gone = self.without_programs();
        let mut users: HashMap<Object, Vec<Object>> = HashMap::new();
        for need in self.needs.iter().filter(|it| it.user.1 != TABLE) {
            users.entry(object(&need.used)).or_default().push(object(&need.user));
        }
        let mut pending: Vec<Object> = gone.iter().cloned().collect();
        while let Some(next) = pending.pop() {
            for user in users.get(&next).into_iter().flatten() {
                if gone.insert(user.clone()) {
                    pending.push(user.clone());
                }
            }
        }
        let is_gone = |kind, name: Option<String>| gone.contains(&(kind, name.unwrap_or_default()));
        let drop_program = |record: &mut Record, program| record.attributes.retain(|it| it.number != program);
        for record in &mut self.domains {
            if is_gone(COMPUTED, record.name(field::NAME)) {
                drop_program(record, field::COMPUTED_BLR);
            }
            if is_gone(VALIDATION, record.name(field::NAME)) {
                drop_program(record, field::VALIDATION_BLR);
            }
        }
        for relation in self.relations.iter_mut().filter(|it| it.is_view()) {
            if is_gone(VIEW, Some(relation.name())) {
                drop_program(&mut relation.record, relation::VIEW_BLR);
            }
        }
        for record in &mut self.triggers {
            if is_gone(TRIGGER, record.name(trigger::NAME)) {
                drop_program(record, trigger::BLR);
            }
        }
        for (routines, kind, name, package, program) in [
            (&mut self.procedures, PROCEDURE, procedure::NAME, procedure::PACKAGE_NAME, procedure::BLR),
            (&mut self.functions, FUNCTION, function::NAME, function::PACKAGE_NAME, function::BLR),
        ] {
            for routine in routines {
                let package = routine.record.name(package).filter(|it| !it.is_empty());
                let gone = match package {
                    Some(package) => is_gone(PACKAGE, Some(package)),
                    None => is_gone(kind, routine.record.name(name)),
                };
                if gone {
                    drop_program(&mut routine.record, program);
                }
            }
        }
    }

    /// Views, triggers, routines and packages that have a source and no BLR.
    fn without_programs(&self) -> HashSet<Object> {
        let views = self.relations.iter().filter(|it| it.is_view());
        let views = views.filter(|it| it.record.bytes(relation::VIEW_BLR).is_none());
        let views = views.map(|it| (VIEW, it.name()));
        let triggers = self
            .triggers
            .iter()
            .filter(|it| it.bytes(trigger::BLR).is_none() && it.bytes(trigger::ENGINE_NAME).is_none());
        let triggers = triggers.map(|it| (TRIGGER, it.name(trigger::NAME).unwrap_or_default()));
        let routines = |routines: &[RoutineOf], kind, name, package, program, engine, module: Option<u8>| {
            let external = move |it: &Record| {
                it.bytes(engine).is_some()
                    || module.and_then(|module| it.name(module)).is_some_and(|it| !it.is_empty())
            };
            let gone = routines.iter().map(|it| &it.record);
            let gone = gone.filter(move |it| it.bytes(program).is_none() && !external(it));
            let objects = gone.map(move |it| match it.name(package).filter(|it| !it.is_empty()) {
                Some(package) => (PACKAGE, package),
                None => (kind, it.name(name).unwrap_or_default()),
            });
            objects.collect::<Vec<Object>>()
        };
        let procedures = routines(
            &self.procedures,
            PROCEDURE,
            procedure::NAME,
            procedure::PACKAGE_NAME,
            procedure::BLR,
            procedure::ENGINE_NAME,
            None,
        );
        let functions = routines(
            &self.functions,
            FUNCTION,
            function::NAME,
            function::PACKAGE_NAME,
            function::BLR,
            function::ENGINE_NAME,
            Some(function::MODULE_NAME),
        );
        views.chain(triggers).chain(procedures).chain(functions).collect()
    }

    /// Gives the domains of computed columns that cannot be.
    fn leave_out_of_domains(&mut self, left_out: &mut Vec<LeftOut>) -> HashSet<String> {
        let mut computed = HashSet::new();
        for record in &mut self.domains {
            let name = record.name(field::NAME).unwrap_or_default();
            if has_only(record, field::COMPUTED_SOURCE2, field::COMPUTED_BLR) {
                computed.insert(name.clone());
            }
            if has_only(record, field::DEFAULT_SOURCE, field::DEFAULT_BLR) {
                record.attributes.retain(|it| it.number != field::DEFAULT_SOURCE);
                left_out.push(LeftOut::DomainDefault(name.clone()));
            }
            if has_only(record, field::VALIDATION_SOURCE2, field::VALIDATION_BLR) {
                record.attributes.retain(|it| it.number != field::VALIDATION_SOURCE2);
                left_out.push(LeftOut::DomainCheck(name));
            }
        }
        computed
    }

    fn leave_out_of_relations(&mut self, computed: &HashSet<String>, left_out: &mut Vec<LeftOut>) {
        let mut views = Vec::new();
        self.relations.retain(|relation| {
            let stays = !relation.is_view() || relation.record.bytes(relation::VIEW_BLR).is_some();
            if !stays {
                views.push(relation.name());
            }
            stays
        });
        let needs = self.needs.iter().filter(|it| it.user.1 == VIEW && RELATIONS.contains(&it.used.1));
        let needs: Vec<_> = needs.map(|it| (it.user.0.clone(), it.used.0.clone())).collect();
        left_out.extend(by_need(&views, &needs).into_iter().map(LeftOut::View));
        for relation in &mut self.relations {
            let table = relation.name();
            let name = |record: &Record, attribute| record.name(attribute).unwrap_or_default();
            relation.fields.retain_mut(|record| {
                let column = name(record, field::NAME);
                if computed.contains(&name(record, field::SOURCE)) {
                    left_out.push(LeftOut::Column { table: table.clone(), column });
                    return false;
                }
                if has_only(record, field::DEFAULT_SOURCE, field::DEFAULT_BLR) {
                    record.attributes.retain(|it| it.number != field::DEFAULT_SOURCE);
                    left_out.push(LeftOut::Default { table: table.clone(), column });
                }
                true
            });
            relation.indexes.retain(|record| {
                // gbak before Firebird 5 does not know of conditions, and cannot pass over them.
                let partial = record.bytes(index::CONDITION_SOURCE).is_some();
                let stays = !partial && !has_only(record, index::EXPRESSION_SOURCE, index::EXPRESSION_BLR);
                if !stays {
                    let name = name(record, index::NAME);
                    left_out.push(LeftOut::Index { table: table.clone(), name, partial });
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
            let runs = record.bytes(trigger::BLR).is_some() || record.bytes(trigger::ENGINE_NAME).is_some();
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
            let runs = self.functions.iter().all(|it| {
                !of_package(it, function::PACKAGE_NAME) || it.record.bytes(function::BLR).is_some()
            }) && self.procedures.iter().all(|it| {
                !of_package(it, procedure::PACKAGE_NAME) || it.record.bytes(procedure::BLR).is_some()
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
                function::BLR,
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
                procedure::BLR,
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

/// Names in such an order that each comes behind those which it needs. Else they stay as they are.
fn by_need(names: &[String], needs: &[(String, String)]) -> Vec<String> {
    let known: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut needed: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, need) in needs.iter().filter(|(_, need)| known.contains(need.as_str())) {
        needed.entry(name).or_default().push(need);
    }
    let (mut order, mut begun) = (Vec::new(), HashSet::new());
    for name in names {
        // Those whose needs have been met are true.
        let mut waiting = vec![(name.as_str(), false)];
        while let Some((name, is_met)) = waiting.pop() {
            if is_met {
                order.push(name.to_owned());
            } else if begun.insert(name) {
                waiting.push((name, true));
                waiting.extend(needed.get(name).into_iter().flatten().map(|need| (*need, false)));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::by_need;

    #[test]
    fn what_is_needed_comes_first() {
        let names = ["A", "B", "C", "D"].map(str::to_owned);
        let pair = |name: &str, need: &str| (name.to_owned(), need.to_owned());
        let needs = [pair("A", "C"), pair("C", "D"), pair("D", "C"), pair("B", "T"), pair("C", "B")];
        assert_eq!(by_need(&names, &needs), ["B", "D", "C", "A"]);
        assert_eq!(by_need(&names, &[]), names);
    }
}
