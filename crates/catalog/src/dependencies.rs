//! What uses what: for RDB$DEPENDENCIES, and to refuse dropping what is in use.
//!
//! Uses are found in the sources of the objects by the names that stand in them: a name that is a relation's is a use of
//! the relation, a column's name beside it a use of the column. A variable that happens to be called like a column of
//! a table used in the same body counts as a use of it: dropping is refused once too often rather than once too little.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farbird_sql::{ParseOptions, alternative_quoted, indexes_of_plans};

use crate::privileges::object_type;
use crate::{
    Catalog, Constraint, ConstraintKind, Package, ReferentialAction, Relation, RelationKind, Routine,
};

/// A use of one object by another (a line of RDB$DEPENDENCIES).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Who uses.
    pub dependent: String,
    /// What kind of object that is.
    pub dependent_type: i16,
    /// What is used.
    pub used: String,
    /// What kind of object that is.
    pub used_type: i16,
    /// The package of a routine that is used.
    pub used_package: Option<String>,
    /// The column that is used.
    pub column: Option<String>,
    /// The table that the dependent is a part of (its computed columns, checks and indexes).
    pub owner: Option<String>,
}

/// All uses, in order.
pub fn dependencies(catalog: &Catalog) -> BTreeSet<Dependency> {
    let mut found = Finder { catalog, dependencies: BTreeSet::new() };
    for relation in catalog.relations.values().filter(|it| it.kind != RelationKind::System) {
        found.relation(relation);
    }
    for trigger in catalog.triggers.values() {
        let own = trigger.relation.as_ref().and_then(|name| catalog.relation(name));
        let user =
            User { name: &trigger.name, kind: object_type::TRIGGER, owner: trigger.relation.as_deref() };
        found.body(user, &trigger.source, own, None);
    }
    for procedure in catalog.procedures.values() {
        found.routine(procedure, object_type::PROCEDURE);
    }
    for function in catalog.functions.values() {
        found.routine(function, object_type::FUNCTION);
    }
    for package in catalog.packages.values().filter(|it| !it.is_system()) {
        found.package(package);
    }
    for domain in catalog.domains.values() {
        let user = User { name: &domain.name, kind: object_type::VALIDATION, owner: None };
        if let Some(source) = &domain.check_source {
            found.body(user, source, None, None);
        }
    }
    found.dependencies
}

#[derive(Clone, Copy)]
struct User<'a> {
    name: &'a str,
    kind: i16,
    owner: Option<&'a str>,
}

struct Finder<'a> {
    catalog: &'a Catalog,
    dependencies: BTreeSet<Dependency>,
}

impl Finder<'_> {
    fn relation(&mut self, relation: &Arc<Relation>) {
        if let RelationKind::View { source, .. } = &relation.kind {
            let user = User { name: &relation.name, kind: object_type::VIEW, owner: None };
            self.body(user, source, None, None);
            for column in &relation.columns {
                if let Some((table, base)) = &column.view_origin {
                    let is_view = self.catalog.relation(table).is_some_and(|it| it.is_view());
                    let kind = if is_view { object_type::VIEW } else { object_type::RELATION };
                    self.add(user, table, kind, Some(base));
                }
            }
        }
        let owner = Some(relation.name.as_str());
        for column in &relation.columns {
            if let Some(source) = &column.computed_source {
                let user = User { name: &column.domain, kind: object_type::COMPUTED, owner };
                self.body(user, source, Some(relation), None);
            }
        }
        for index in &relation.indexes {
            if let Some(source) = &index.expression_source {
                let user = User { name: &index.name, kind: object_type::INDEX_EXPRESSION, owner };
                self.body(user, source, Some(relation), None);
            }
            if let Some(source) = index.condition() {
                let user = User { name: &index.name, kind: object_type::INDEX_CONDITION, owner };
                self.body(user, source, Some(relation), None);
            }
        }
        for constraint in &relation.constraints {
            self.constraint(relation, constraint);
        }
    }

    fn constraint(&mut self, relation: &Arc<Relation>, constraint: &Constraint) {
        let owner = Some(relation.name.as_str());
        match &constraint.kind {
            ConstraintKind::Check { source } => {
                for trigger in &constraint.triggers {
                    self.body(
                        User { name: trigger, kind: object_type::TRIGGER, owner },
                        source,
                        Some(relation),
                        None,
                    );
                }
            }
            ConstraintKind::ForeignKey { index, referenced_relation, on_update, on_delete, .. } => {
                let active = [on_update, on_delete]
                    .into_iter()
                    .filter(|action| **action != ReferentialAction::Restrict);
                for (trigger, _) in constraint.triggers.iter().zip(active) {
                    let user = User { name: trigger, kind: object_type::TRIGGER, owner };
                    for column in relation.index(index).iter().flat_map(|index| &index.columns) {
                        self.add(user, &relation.name, object_type::RELATION, Some(column));
                    }
                    self.add(user, referenced_relation, object_type::RELATION, None);
                }
            }
            _ => {}
        }
    }

    fn routine(&mut self, routine: &Arc<Routine>, kind: i16) {
        let user = User { name: &routine.name, kind, owner: None };
        self.body(user, &routine.source, None, None);
        self.parameters(user, routine);
    }

    /// Its header uses the domains of what it declares, its body all else. Its own routines stand there by their names alone.
    fn package(&mut self, package: &Package) {
        let header = User { name: &package.name, kind: object_type::PACKAGE, owner: None };
        let body = User { kind: object_type::PACKAGE_BODY, ..header };
        for routine in package.routines() {
            self.body(body, &routine.source, None, Some(package));
            self.parameters(if routine.private { body } else { header }, routine);
            self.packaged(body, package, &identifiers(&routine.source));
        }
    }

    /// The routines of a package that are among some names.
    fn packaged(&mut self, user: User<'_>, package: &Package, names: &BTreeSet<String>) {
        let kinds =
            [(&package.procedures, object_type::PROCEDURE), (&package.functions, object_type::FUNCTION)];
        for (routines, used_type) in kinds {
            for routine in routines.iter().filter(|routine| names.contains(&routine.name)) {
                self.dependencies.insert(Dependency {
                    dependent: user.name.to_owned(),
                    dependent_type: user.kind,
                    used: routine.name.clone(),
                    used_type,
                    used_package: Some(package.name.clone()),
                    column: None,
                    owner: user.owner.map(str::to_owned),
                });
            }
        }
    }

    fn parameters(&mut self, user: User<'_>, routine: &Routine) {
        for parameter in routine.inputs.iter().chain(&routine.outputs) {
            if let Some(domain) =
                parameter.domain_of_type().filter(|name| self.catalog.domains.contains_key(*name))
            {
                self.add(user, domain, object_type::DOMAIN, None);
            }
            if let Some((table, column)) = &parameter.type_of_column {
                let is_view = self.catalog.relation(table).is_some_and(|it| it.is_view());
                let kind = if is_view { object_type::VIEW } else { object_type::RELATION };
                self.add(user, table, kind, Some(column));
            }
        }
    }

    /// The uses in a source; names of columns may also be those of `own`. The routines of the package that the source is
    /// `within` hide those of their kind and name that are in none.
    fn body(&mut self, user: User<'_>, source: &str, own: Option<&Arc<Relation>>, within: Option<&Package>) {
        let Names { all: names, unqualified, qualified } = Names::of(source);
        // A column of a computed column or a CHECK may be called as some table is: without one of these there is no table.
        let names_relations = BRING_IN_RELATIONS.iter().any(|word| names.contains(*word));
        let relations = names
            .iter()
            .filter(|_| names_relations)
            .filter_map(|name| self.catalog.relation(name))
            .filter(|relation| relation.kind != RelationKind::System)
            .map(|relation| (relation, true));
        let own = own.map(|relation| (relation, false));
        let mut uses = Vec::new();
        for (relation, named) in relations.chain(own) {
            let used_type = if relation.is_view() { object_type::VIEW } else { object_type::RELATION };
            for column in relation.columns.iter().filter(|column| names.contains(&column.name)) {
                uses.push((relation.name.clone(), used_type, Some(column.name.clone())));
            }
            if named {
                uses.push((relation.name.clone(), used_type, None));
            }
        }
        let catalog = self.catalog;
        for name in &unqualified {
            let hides_procedure = within.is_some_and(|package| package.procedure(name).is_some());
            let hides_function = within.is_some_and(|package| package.function(name).is_some());
            let kinds = [
                (catalog.procedures.contains_key(name) && !hides_procedure, object_type::PROCEDURE),
                (catalog.functions.contains_key(name) && !hides_function, object_type::FUNCTION),
                (catalog.exceptions.contains_key(name), object_type::EXCEPTION),
                (catalog.sequences.contains_key(name), object_type::SEQUENCE),
            ];
            uses.extend(kinds.into_iter().filter(|(is, _)| *is).map(|(_, kind)| (name.clone(), kind, None)));
        }
        for (qualifier, members) in &qualified {
            if let Some(package) = catalog.packages.get(qualifier) {
                self.packaged(user, package, members);
            }
        }
        // Only a PLAN clause names indexes.
        if names.contains("PLAN") {
            let indexes = indexes_of_plans(source, &ParseOptions::default());
            let indexes = indexes.into_iter().filter(|name| catalog.index(name).is_some());
            uses.extend(indexes.map(|name| (name, object_type::INDEX, None)));
        }
        for (used, used_type, column) in uses {
            self.add(user, &used, used_type, column.as_deref());
        }
    }

    fn add(&mut self, user: User<'_>, used: &str, used_type: i16, column: Option<&str>) {
        if user.name == used && user.kind == used_type {
            return;
        }
        self.dependencies.insert(Dependency {
            dependent: user.name.to_owned(),
            dependent_type: user.kind,
            used: used.to_owned(),
            used_type,
            used_package: None,
            column: column.map(str::to_owned),
            owner: user.owner.map(str::to_owned),
        });
    }
}

/// Words before the name of a table: of queries, of statements that change rows, of TYPE OF COLUMN.
const BRING_IN_RELATIONS: [&str; 5] = ["FROM", "JOIN", "INTO", "UPDATE", "COLUMN"];

/// The names in a text, as the catalog knows them; strings and comments are skipped.
pub fn identifiers(text: &str) -> BTreeSet<String> {
    Names::of(text).all
}

/// The names in a text by how they stand there.
#[derive(Default)]
struct Names {
    all: BTreeSet<String>,
    /// Those that stand somewhere without a name and a dot before them.
    unqualified: BTreeSet<String>,
    /// Those behind a name and a dot, by that name: `NAME . MEMBER`.
    qualified: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    fn of(text: &str) -> Names {
        let mut names = Names::default();
        // The two tokens before.
        let mut earlier = Token::Other;
        let mut last = Token::Other;
        let mut rest = text;
        while let Some((token, length)) = first_token(rest) {
            rest = rest.get(length..).unwrap_or("");
            let Some(token) = token else { continue };
            if let Token::Name(name) = &token {
                match (earlier, &last) {
                    (Token::Name(qualifier), Token::Dot) => {
                        names.qualified.entry(qualifier).or_default().insert(name.clone());
                    }
                    _ => {
                        names.unqualified.insert(name.clone());
                    }
                }
                names.all.insert(name.clone());
            }
            earlier = last;
            last = token;
        }
        names
    }
}

/// A token as far as names need it.
enum Token {
    /// As the catalog knows it.
    Name(String),
    Dot,
    Other,
}

/// The token at the beginning of a text, none for a blank or a comment, and its length in bytes.
fn first_token(text: &str) -> Option<(Option<Token>, usize)> {
    let first = text.chars().next()?;
    Some(if let Some(comment) = text.strip_prefix("--") {
        (None, 2 + comment.find('\n').unwrap_or(comment.len()))
    } else if let Some(comment) = text.strip_prefix("/*") {
        (None, 2 + comment.find("*/").map_or(comment.len(), |end| end + 2))
    } else if first.is_whitespace() {
        (None, first.len_utf8())
    } else if first == '\'' {
        (Some(Token::Other), quoted_length(text, '\''))
    } else if let Some((_, length)) = alternative_quoted(text) {
        (Some(Token::Other), length)
    } else if first == '"' {
        let length = quoted_length(text, '"');
        let inner = text.get(1..length.saturating_sub(1)).unwrap_or("");
        (Some(Token::Name(inner.replace("\"\"", "\""))), length)
    } else if first.is_alphabetic() || first == '_' {
        let length =
            text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
        (Some(Token::Name(text.get(..length).unwrap_or("").to_ascii_uppercase())), length)
    } else if first == '.' {
        (Some(Token::Dot), 1)
    } else {
        (Some(Token::Other), first.len_utf8())
    })
}

/// The length in bytes of what stands in quotes at the beginning of a text, quotes included; doubled ones belong to it.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut end = 1;
    loop {
        let Some(next) = text.get(end..).and_then(|rest| rest.find(quote)) else { return text.len() };
        end += next + 1;
        if text.get(end..).is_some_and(|rest| rest.starts_with(quote)) {
            end += 1;
        } else {
            return end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_strings_and_comments() {
        let text =
            "select a.\"My col\", 'it''s b' -- c\n from t1 /* d */ where e$1 = q'{it's g}' and \u{e9} = :f";
        let names = identifiers(text);
        let expected = ["A", "AND", "E$1", "F", "FROM", "My col", "SELECT", "T1", "WHERE", "\u{e9}"];
        assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_qualified_name_is_one_behind_a_name_and_a_dot() {
        let names = Names::of("p . a(p/* c */.b, c, 1.d) 'p'.e \"p\".f");
        assert_eq!(names.unqualified.into_iter().collect::<Vec<_>>(), ["C", "D", "E", "P", "p"]);
        let qualified: Vec<_> = names.qualified.values().flatten().collect();
        assert_eq!(qualified, ["A", "B", "F"]);
    }

    #[test]
    fn an_unfinished_string_ends_with_the_text() {
        assert_eq!(identifiers("x 'abc").len(), 1);
        assert_eq!(identifiers("x /* abc").len(), 1);
    }
}
