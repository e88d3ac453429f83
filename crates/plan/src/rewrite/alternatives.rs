//! `(a = 1 AND b = 2) OR (a = 3 AND b = 4)`, with `a` and `b` of different tables, also says `a = 1 OR a = 3`: then each table
//! can be read by what is asked of it, before it is joined. Only what cannot fail is asked of rows to which the rest of an
//! alternative might not let it come.

use farbird_expression::Expression;

use crate::rewrite::joins::Joins;

/// Adds what the alternatives of an OR over several tables say of each of them.
pub(super) fn apply(joins: &mut Joins) {
    let mut more = Vec::new();
    for condition in &joins.conditions {
        let Expression::Or(alternatives) = condition else { continue };
        if condition.is_volatile() || condition.runs_code() {
            continue;
        }
        let sources = joins.sources_of(condition);
        if sources.len() < 2 {
            continue;
        }
        for source in sources {
            more.extend(about(alternatives, &|part| {
                let of_part = joins.sources_of(part);
                of_part.len() == 1 && of_part.contains(&source) && joins.cannot_fail(part)
            }));
        }
    }
    joins.conditions.extend(more);
}

/// What the alternatives say in conjuncts of one kind; nothing if one of them says nothing.
fn about(alternatives: &[Expression], is_wanted: &dyn Fn(&Expression) -> bool) -> Option<Expression> {
    let mut said = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        let mut conjuncts = Vec::new();
        alternative.clone().into_conjuncts(&mut conjuncts);
        conjuncts.retain(is_wanted);
        if conjuncts.is_empty() {
            return None;
        }
        said.push(Expression::all(conjuncts));
    }
    said.dedup();
    Some(match said.len() {
        1 => said.swap_remove(0),
        _ => Expression::Or(said),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(place: usize) -> Expression {
        Expression::Column(place)
    }

    #[test]
    fn each_kind_of_conjunct_becomes_a_condition_of_its_own() {
        let alternatives =
            [Expression::And(vec![column(0), column(1)]), Expression::And(vec![column(2), column(3)])];
        let even = |part: &Expression| matches!(part, Expression::Column(place) if place % 2 == 0);
        assert_eq!(about(&alternatives, &even), Some(Expression::Or(vec![column(0), column(2)])));
    }

    #[test]
    fn an_alternative_that_says_nothing_lets_everything_through() {
        let alternatives = [Expression::And(vec![column(0), column(1)]), column(3)];
        let even = |part: &Expression| matches!(part, Expression::Column(place) if place % 2 == 0);
        assert_eq!(about(&alternatives, &even), None);
    }
}
