//! PLAN.

use std::collections::BTreeSet;

use super::ParseOptions;
use super::cursor::Parser;
use crate::ast::{Name, Plan, PlanAccess};
use crate::lexer::TokenKind;
use farbird_types::Result;

/// The names of the indexes in the PLAN clauses of a text, which may be a piece of a definition: nothing else of it is looked at.
pub fn indexes_of_plans(text: &str, options: &ParseOptions) -> BTreeSet<String> {
    let mut parser = Parser::new(text, *options);
    let mut names = BTreeSet::new();
    while !matches!(parser.peek(), TokenKind::End) {
        match parser.at_keyword("PLAN") {
            true => {
                if let Ok(Some(plan)) = parser.plan() {
                    add_indexes(&plan, &mut names);
                }
            }
            false => {
                parser.take();
            }
        }
    }
    names
}

fn add_indexes(plan: &Plan, names: &mut BTreeSet<String>) {
    match plan {
        Plan::Join(items) | Plan::Merge(items) | Plan::Hash(items) | Plan::Sort(items) => {
            items.iter().for_each(|item| add_indexes(item, names));
        }
        Plan::Table { access: PlanAccess::Natural, .. } => {}
        Plan::Table { access: PlanAccess::Index(indexes), .. } => {
            names.extend(indexes.iter().map(|name| name.text.clone()));
        }
        Plan::Table { access: PlanAccess::Order { index, indexes }, .. } => {
            names.extend(indexes.iter().chain([index]).map(|name| name.text.clone()));
        }
    }
}

impl Parser<'_> {
    /// `[PLAN plan]`.
    pub(super) fn plan(&mut self) -> Result<Option<Plan>> {
        if self.eat_keyword("PLAN") { self.plan_expression().map(Some) } else { Ok(None) }
    }

    /// `[JOIN | SORT MERGE | MERGE | HASH | SORT] (item, ...)`.
    fn plan_expression(&mut self) -> Result<Plan> {
        let outer = self.enter()?;
        let make = if self.eat_keyword("MERGE") {
            Plan::Merge
        } else if self.eat_keyword("HASH") {
            Plan::Hash
        } else if self.eat_keyword("SORT") {
            if self.eat_keyword("MERGE") { Plan::Merge } else { Plan::Sort }
        } else {
            self.eat_keyword("JOIN");
            Plan::Join
        };
        let items = self.parenthesised_list(Self::plan_item)?;
        self.leave(outer);
        Ok(make(items))
    }

    fn plan_item(&mut self) -> Result<Plan> {
        let nested_by_word = self.at_any_keyword(&["HASH", "SORT"])
            && (self.symbol_ahead(1, "(") || self.keyword_ahead(1, "MERGE"));
        if nested_by_word || self.at_any_keyword(&["JOIN", "MERGE"]) || self.at_symbol("(") {
            return self.plan_expression();
        }
        let mut path = vec![self.name()?];
        while self.at_name() {
            path.push(self.name()?);
        }
        Ok(Plan::Table { path, access: self.plan_access()? })
    }

    fn plan_access(&mut self) -> Result<PlanAccess> {
        if self.eat_keyword("NATURAL") {
            return Ok(PlanAccess::Natural);
        }
        if self.at_keyword("INDEX") {
            return Ok(PlanAccess::Index(self.plan_indexes()?));
        }
        self.expect_keyword("ORDER")?;
        let index = self.name()?;
        let indexes = if self.at_keyword("INDEX") { self.plan_indexes()? } else { Vec::new() };
        Ok(PlanAccess::Order { index, indexes })
    }

    /// `INDEX (index, ...)`.
    fn plan_indexes(&mut self) -> Result<Vec<Name>> {
        self.take();
        self.parenthesised_list(Self::name)
    }
}
