//! `(a AND b) OR (a AND c)` becomes `a AND (b OR c)`: then `a` can be a join's key or an index's bound.

use farbird_expression::Expression;

use crate::rewrite::joins::Joins;

/// Takes what all alternatives of an OR ask for out of them.
pub(super) fn apply(joins: &mut Joins) {
    let conditions = std::mem::take(&mut joins.conditions);
    for condition in conditions {
        match condition {
            Expression::Or(alternatives) if !alternatives.iter().any(Expression::is_volatile) => {
                let mut common = Vec::new();
                factored(alternatives, &|conjunct| joins.cannot_fail(conjunct), &mut common);
                joins.conditions.append(&mut common);
            }
            other => joins.conditions.push(other),
        }
    }
}

/// What may fail is taken out only where it is evaluated for each row anyway: at the beginning of the first alternative.
fn factored(
    alternatives: Vec<Expression>,
    cannot_fail: &dyn Fn(&Expression) -> bool,
    out: &mut Vec<Expression>,
) {
    let mut lists: Vec<Vec<Expression>> = alternatives
        .into_iter()
        .map(|alternative| {
            let mut conjuncts = Vec::new();
            alternative.into_conjuncts(&mut conjuncts);
            conjuncts
        })
        .collect();
    let Some(first) = lists.first().cloned() else { return };
    for conjunct in first {
        let is_first = lists.first().is_some_and(|list| list.first() == Some(&conjunct));
        if lists.iter().all(|list| list.contains(&conjunct)) && (is_first || cannot_fail(&conjunct)) {
            lists.iter_mut().for_each(|list| list.retain(|other| *other != conjunct));
            out.push(conjunct);
        }
    }
    // An alternative that asks for nothing more is met by all that is left.
    if !lists.iter().any(Vec::is_empty) {
        out.push(Expression::Or(lists.into_iter().map(Expression::all).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(place: usize) -> Expression {
        Expression::Column(place)
    }

    #[test]
    fn what_all_alternatives_ask_for_is_asked_for_once() {
        let both = |second| Expression::And(vec![column(0), second]);
        let mut out = Vec::new();
        factored(vec![both(column(1)), both(column(2))], &|_| false, &mut out);
        assert_eq!(out, [column(0), Expression::Or(vec![column(1), column(2)])]);
    }

    #[test]
    fn an_alternative_without_more_makes_the_others_needless() {
        let mut out = Vec::new();
        factored(vec![column(0), Expression::And(vec![column(0), column(1)])], &|_| false, &mut out);
        assert_eq!(out, [column(0)]);
    }

    #[test]
    fn alternatives_that_share_nothing_stay() {
        let mut out = Vec::new();
        factored(vec![column(0), column(1)], &|_| true, &mut out);
        assert_eq!(out, [Expression::Or(vec![column(0), column(1)])]);
    }
    #[test]
    fn what_may_fail_stays_behind_what_comes_before_it() {
        let alternatives = || {
            let first = Expression::And(vec![column(0), column(1)]);
            vec![first, Expression::And(vec![column(2), column(1)])]
        };
        let mut out = Vec::new();
        factored(alternatives(), &|_| false, &mut out);
        assert_eq!(out, [Expression::Or(alternatives())]);
        out.clear();
        factored(alternatives(), &|_| true, &mut out);
        assert_eq!(out, [column(1), Expression::Or(vec![column(0), column(2)])]);
    }
}
