//! Source texts are kept as Firebird keeps them in RDB$..._SOURCE (recorded from Firebird 3.0.11): word for word, with the
//! comments before and behind, without the white space around.

use farbird_sql::ast::{
    ColumnConstraintKind, ColumnGeneration, DdlStatement, IndexKey, RoutineDefinition, StatementKind,
    TableConstraintKind, TableElement,
};
use farbird_sql::{
    ParseOptions, parse_check, parse_computed, parse_default, parse_psql_body, parse_query, parse_statement,
};

fn ddl(text: &str) -> DdlStatement {
    match parse_statement(text, &ParseOptions::default()).unwrap().kind {
        StatementKind::Ddl(ddl) => *ddl,
        other => panic!("no definition: {other}"),
    }
}

#[test]
fn domains() {
    let DdlStatement::CreateDomain(domain) =
        ddl("create domain d as int  default  -5 /* c1 */ not null check /* c2 */ (value > 0  ) /* c3 */")
    else {
        panic!()
    };
    assert_eq!(domain.default.unwrap().source.text, "default  -5 /* c1 */");
    assert_eq!(domain.check.unwrap().source.text, "check /* c2 */ (value > 0  ) /* c3 */");
}

#[test]
fn tables() {
    let DdlStatement::CreateTable(table) = ddl(
        "create table t (a int /* x */ default /* y */ 5 /* z */ not null, b computed by  ( a + 1 ) , c int check ( c > 0 ), \
         constraint ck check(a > 1) /* t */ )",
    ) else {
        panic!()
    };
    let mut sources = Vec::new();
    for element in &table.elements {
        match element {
            TableElement::Column(column) => {
                match &column.generation {
                    ColumnGeneration::Stored { default: Some(default) } => sources.push(&default.source.text),
                    ColumnGeneration::Computed(computed) => sources.push(&computed.source.text),
                    _ => {}
                }
                for constraint in &column.constraints {
                    if let ColumnConstraintKind::Check(check) = &constraint.kind {
                        sources.push(&check.source.text);
                    }
                }
            }
            TableElement::Constraint(constraint) => {
                if let TableConstraintKind::Check(check) = &constraint.kind {
                    sources.push(&check.source.text);
                }
            }
        }
    }
    assert_eq!(
        sources,
        ["/* x */ default /* y */ 5 /* z */", "( a + 1 )", "check ( c > 0 )", "check(a > 1) /* t */"]
    );
}

#[test]
fn indexes_and_views() {
    let DdlStatement::CreateIndex(index) = ddl("create index i on t computed by ( a + 1 ) /* e */") else {
        panic!()
    };
    let IndexKey::Computed(computed) = index.key else { panic!() };
    assert_eq!(computed.source.text, "( a + 1 ) /* e */");
    let DdlStatement::DefineView(view) =
        ddl("create view v (x) as /* lead */ select a from t where a > 5 /* in */ with check option -- tail")
    else {
        panic!()
    };
    assert_eq!(view.source.text, "/* lead */ select a from t where a > 5 /* in */ with check option -- tail");
}

#[test]
fn routines() {
    let DdlStatement::DefineProcedure(procedure) = ddl(
        "create procedure p (x int  =  5 , y int default 7) returns (z int)\nas /* before */\n declare v int = 3; -- c\n\
         begin\n z = 1; suspend;\nend -- tail",
    ) else {
        panic!()
    };
    let defaults: Vec<_> = procedure
        .signature
        .parameters
        .iter()
        .map(|parameter| parameter.default.as_ref().unwrap().source.text.as_str())
        .collect();
    assert_eq!(defaults, ["=  5", "default 7"]);
    let RoutineDefinition::Body(body) = procedure.definition else { panic!() };
    assert_eq!(
        body.source.text,
        "/* before */\n declare v int = 3; -- c\nbegin\n z = 1; suspend;\nend -- tail"
    );
    let DdlStatement::DefineTrigger(trigger) =
        ddl("create trigger tr for t before insert as /* q */ begin new.a = 1; end /* w */")
    else {
        panic!()
    };
    assert_eq!(trigger.source.text, "as /* q */ begin new.a = 1; end /* w */");
}

#[test]
fn kept_sources_parse_by_themselves() {
    let options = ParseOptions::default();
    assert!(parse_default("/* x */ default /* y */ 5 /* z */", &options).is_ok());
    assert!(parse_default("=  5", &options).is_ok());
    assert!(parse_check("check(a > 1) /* t */", &options).is_ok());
    assert!(parse_computed("( a + 1 ) /* e */", &options).is_ok());
    assert!(parse_query("/* lead */ select a from t with check option -- tail", &options).is_ok());
    assert!(parse_psql_body("as /* q */ begin new.a = 1; end /* w */", &options).is_ok());
    assert!(parse_psql_body("declare v int; begin end", &options).is_ok());
    assert!(parse_default("default 5 garbage", &options).is_err());
}
