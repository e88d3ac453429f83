//! The packages that come with every database: RDB$TIME_ZONE_UTIL, RDB$PROFILER and RDB$BLOB_UTIL.
//!
//! Their routines are declared by data/system-routines.tsv, recorded from Firebird 5.0.4. A body is PSQL over a built-in function of
//! `package.routine`, which only the routines of the package can name; nobody is shown it. So inputs, defaults, constraints, privileges
//! and error stacks are those of any routine. What RDB$PROFILER does stands in `psql::profiler`.

use std::sync::{Arc, OnceLock};

use farbird_types::SqlType;

use crate::system_tables::{SYSTEM_OWNER, domains, table};
use crate::{Package, Routine, RoutineEngine, RoutineParameter, SourceStart};

/// What TRANSITIONS does: a row for each span that the moments between its inputs are in.
const TRANSITIONS: &str = r#"
declare moment timestamp with time zone;
begin
  moment = rdb$from_timestamp;
  while (moment <= rdb$to_timestamp) do
  begin
    rdb$start_timestamp = transition_start(rdb$time_zone_name, moment);
    rdb$end_timestamp = transition_end(rdb$time_zone_name, moment);
    rdb$zone_offset = transition_offset(rdb$time_zone_name, moment);
    rdb$dst_offset = transition_summer(rdb$time_zone_name, moment);
    rdb$effective_offset = rdb$zone_offset + rdb$dst_offset;
    suspend;
    moment = transition_next(rdb$time_zone_name, moment);
  end
end"#;

/// The packages, with their routines in the order of their numbers.
pub fn packages() -> &'static [Arc<Package>] {
    static PACKAGES: OnceLock<Vec<Arc<Package>>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let mut packages: Vec<Package> = Vec::new();
        for fields in table(include_str!("../data/system-routines.tsv")) {
            let [package, kind, routine, number, direction, parameter, domain, not_null, default] = *fields
            else {
                continue;
            };
            let package = package_of(&mut packages, package);
            let name = package.name.clone();
            let routines = if kind == "function" { &mut package.functions } else { &mut package.procedures };
            if routines.last().is_none_or(|last| last.name != routine) {
                routines.push(Arc::new(declared(&name, routine, number.parse().unwrap_or(0))));
            }
            let Some(routine) = routines.last_mut().map(Arc::make_mut) else { continue };
            let parameter = RoutineParameter {
                name: parameter.to_owned(),
                sql_type: domains().get(domain).map_or(SqlType::Null, |domain| domain.sql_type),
                precision: None,
                segment_size: None,
                domain: Some(domain.to_owned()),
                type_of_domain: None,
                type_of_column: None,
                not_null: not_null == "1",
                default_source: Some(default).filter(|it| !it.is_empty()).map(str::to_owned),
                description: None,
            };
            let list = if direction == "in" { &mut routine.inputs } else { &mut routine.outputs };
            list.push(parameter);
        }
        packages.into_iter().map(with_bodies).map(Arc::new).collect()
    })
}

/// A package as the program has it, with the comments that a database keeps.
pub(crate) fn with_comments_of(stored: &Package) -> Package {
    let Some(own) = packages().iter().find(|package| package.name == stored.name) else {
        return stored.clone();
    };
    let mut package = Package { description: stored.description.clone(), ..Package::clone(own) };
    for routine in package.procedures.iter_mut().chain(&mut package.functions) {
        if let Some(commented) = stored.routines().find(|it| it.name == routine.name) {
            comment_like(Arc::make_mut(routine), commented);
        }
    }
    package
}

fn comment_like(routine: &mut Routine, commented: &Routine) {
    routine.description.clone_from(&commented.description);
    let parameters = routine.inputs.iter_mut().chain(&mut routine.outputs);
    for parameter in parameters {
        let mut stored = commented.inputs.iter().chain(&commented.outputs);
        parameter.description =
            stored.find(|it| it.name == parameter.name).and_then(|it| it.description.clone());
    }
}

fn package_of<'p>(packages: &'p mut Vec<Package>, name: &str) -> &'p mut Package {
    let place = packages.iter().position(|package| package.name == name).unwrap_or_else(|| {
        packages.push(Package {
            name: name.to_owned(),
            owner: SYSTEM_OWNER.to_owned(),
            header_source: String::new(),
            body_source: None,
            header_hidden: false,
            body_hidden: false,
            body_is_valid: Some(true),
            procedures: Vec::new(),
            functions: Vec::new(),
            sql_security_definer: Some(false),
            description: None,
        });
        packages.len() - 1
    });
    &mut packages[place]
}

fn declared(package: &str, name: &str, id: u32) -> Routine {
    Routine {
        id,
        name: name.to_owned(),
        package: Some(package.to_owned()),
        private: false,
        owner: SYSTEM_OWNER.to_owned(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        selectable: name == "TRANSITIONS",
        deterministic: false,
        source: String::new(),
        source_start: SourceStart::default(),
        source_hidden: false,
        sql_security_definer: Some(false),
        description: None,
        engine: RoutineEngine::System,
    }
}

fn with_bodies(mut package: Package) -> Package {
    let call = |routine: &Routine| {
        let inputs: Vec<String> = routine.inputs.iter().map(|input| format!("\"{}\"", input.name)).collect();
        format!("{}({})", routine.name, inputs.join(", "))
    };
    if package.name == "RDB$PROFILER" {
        package
            .functions
            .iter_mut()
            .map(Arc::make_mut)
            .for_each(|it| it.source = "begin return null; end".to_owned());
        package.procedures.iter_mut().map(Arc::make_mut).for_each(|it| it.source = "begin end".to_owned());
        return package;
    }
    for function in package.functions.iter_mut().map(Arc::make_mut) {
        function.source = format!("begin return {}; end", call(function));
    }
    for procedure in package.procedures.iter_mut().map(Arc::make_mut) {
        procedure.source = match procedure.selectable {
            true => TRANSITIONS.to_owned(),
            false => format!("declare done boolean; begin done = {}; end", call(procedure)),
        };
    }
    package
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_firebird_5() {
        let shown: Vec<String> = packages()
            .iter()
            .map(|it| format!("{} {} {}", it.name, it.procedures.len(), it.functions.len()))
            .collect();
        assert_eq!(shown, ["RDB$TIME_ZONE_UTIL 1 1", "RDB$PROFILER 7 1", "RDB$BLOB_UTIL 2 5"]);
        let routines: Vec<&Arc<Routine>> = packages().iter().flat_map(|it| it.routines()).collect();
        assert_eq!(routines.len(), 17);
        for routine in routines {
            let mut parameters = routine.inputs.iter().chain(&routine.outputs);
            assert!(parameters.all(|it| it.sql_type != SqlType::Null), "{}", routine.name);
        }
    }
}
