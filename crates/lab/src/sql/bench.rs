//! Has all sides do the same work in turn, compares what they answer, and keeps the figures.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::answer::{Answer, Tolerance, USUAL};
use super::estimates::{self, OperatorEstimate};
use super::figure::{Figure, Outcome};
use super::guard::{Patience, Stop};
use super::side::{Dialect, Rows, Side, TableDefinition, Visitor};
use super::statements::{Statement, Variables};
use crate::articles::Observer;
use crate::{Failure, Result};

/// How often what is measured is repeated, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Runs of each statement on each side.
    pub runs: usize,
    /// The longest that a statement may take.
    pub timeout: Duration,
}

/// A run of the benchmark: who takes part, and what came of it.
pub struct Bench<'a> {
    pub(super) sides: &'a mut [Box<dyn Side>],
    pub(super) limits: Limits,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) stop: &'a Stop,
    /// What came of it so far.
    pub figures: Vec<Figure>,
    /// In place of that, if it is not measured how long statements take: what the planner expected, and what came of it.
    pub estimates: Option<Vec<OperatorEstimate>>,
}

/// A table that is loaded, and its rows.
pub(super) struct Loaded<'a> {
    pub(super) definition: &'a TableDefinition,
    /// About how many there are.
    pub(super) row_count: u64,
    pub(super) rows: Box<Rows<'a>>,
}

/// What filling tables took.
pub(super) struct Filled {
    name: String,
    loading: Duration,
    /// `None` without indexes.
    indexing: Option<Duration>,
}

/// An answer that is known beforehand.
pub(super) struct Reference {
    pub(super) answer: Answer,
    pub(super) tolerance: Tolerance,
}

/// Rows between two looks whether the user wants to stop.
const LOOK_ROWS: u64 = 4_096;

impl<'a> Bench<'a> {
    /// Nobody is asked yet.
    pub fn new(
        sides: &'a mut [Box<dyn Side>],
        limits: Limits,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Bench<'a> {
        Bench { sides, limits, observer, stop, figures: Vec::new(), estimates: None }
    }

    /// The same statements, of which Farbird is asked what it expects and what comes of it.
    #[must_use]
    pub fn for_estimates(mut self) -> Self {
        self.estimates = Some(Vec::new());
        self
    }

    /// As [`Bench::fill`]; the figures `load` and `indexes` are what it took for all tables.
    ///
    /// # Errors
    /// As [`Bench::fill`].
    pub(super) fn load(
        &mut self,
        section: &'static str,
        tables: &[Loaded<'_>],
        has_indexes: bool,
        dialects: &[Dialect],
    ) -> Result<()> {
        for Filled { name, loading, indexing } in self.fill(tables, has_indexes, dialects)? {
            let mut figure = Figure::new(section, "load", "loading all tables, without indexes", &name);
            figure.add(milliseconds(loading));
            self.figures.push(figure);
            if let Some(indexing) = indexing {
                let title = "primary keys and ordinary indexes of all tables";
                let mut figure = Figure::new(section, "indexes", title, &name);
                figure.add(milliseconds(indexing));
                self.figures.push(figure);
            }
        }
        Ok(())
    }

    /// Makes and fills tables on every side whose dialect takes part.
    ///
    /// # Errors
    /// What a side cannot load cannot be compared: the first failure.
    pub(super) fn fill(
        &mut self,
        tables: &[Loaded<'_>],
        has_indexes: bool,
        dialects: &[Dialect],
    ) -> Result<Vec<Filled>> {
        let forever = Patience { limit: None, stop: self.stop };
        let mut all = Vec::new();
        for side in self.sides.iter_mut().filter(|side| dialects.contains(&side.dialect())) {
            let name = side.name().to_owned();
            let told = |failure| in_words(failure, &format!("{name} cannot be loaded"));
            let mut loading = Duration::ZERO;
            for table in tables {
                side.run(&table.definition.create(), &forever).map_err(told)?;
                self.observer.begin(&format!("{name}: loading {}", table.definition.name), table.row_count);
                let start = Instant::now();
                side.load(table.definition, &counted(&table.rows, &RefCell::new(self.observer)))
                    .map_err(told)?;
                loading += start.elapsed();
            }
            let mut indexing = None;
            // DuckDB works without: its indexes serve only to find single rows.
            if has_indexes && side.dialect() != Dialect::DuckDb {
                self.observer.begin(&format!("{name}: indexes"), 0);
                let mut sum = Duration::ZERO;
                for sql in tables.iter().flat_map(|table| table.definition.create_indexes()) {
                    sum += side.run(&sql, &forever).map_err(told)?;
                }
                indexing = Some(sum);
            }
            side.settle().map_err(told)?;
            all.push(Filled { name, loading, indexing });
        }
        Ok(all)
    }

    /// Has every side execute a statement so often, each once before any does it again, so that what else the machine does
    /// hits all alike; compares the answers of the last run. A side that fails or takes too long is not asked again.
    ///
    /// # Errors
    /// The user wants no more.
    pub(super) fn measure(
        &mut self,
        section: &'static str,
        statement: &Statement,
        variables: Variables<'_>,
        reference: Option<Reference>,
    ) -> Result<()> {
        if self.estimates.is_some() {
            return self.estimate(section, statement, variables);
        }
        let mut figures: Vec<Option<(Figure, Option<Answer>)>> = self
            .sides
            .iter()
            .map(|side| {
                statement.text(side.dialect(), variables)?;
                Some((Figure::new(section, statement.name, statement.title, side.name()), None))
            })
            .collect();
        let units = figures.iter().flatten().count() * self.limits.runs;
        self.observer.begin(&format!("{section} {}", statement.name), units as u64);
        for round in 0..self.limits.runs {
            let mut variables = variables.to_vec();
            variables.push(("round", round.to_string()));
            for (side, place) in self.sides.iter_mut().zip(&mut figures) {
                let Some((figure, answer)) = place else { continue };
                if figure.outcome == Outcome::Done {
                    let patience = Patience { limit: Some(self.limits.timeout), stop: self.stop };
                    match execute(side.as_mut(), statement, &variables, round, &patience) {
                        Ok((given, took)) => {
                            figure.add(milliseconds(took));
                            *answer = Some(given);
                        }
                        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                        Err(failure @ Failure::TimedOut(_)) => {
                            figure.end(Outcome::TimedOut, failure.to_string());
                        }
                        Err(failure) => figure.end(Outcome::Failed, failure.to_string()),
                    }
                }
                self.observer.advance(1);
            }
        }
        let mut figures: Vec<(Figure, Option<Answer>)> = figures.into_iter().flatten().collect();
        compare(&mut figures, &statement.order, reference);
        self.figures.extend(figures.into_iter().map(|(figure, _)| figure));
        Ok(())
    }
}

impl Bench<'_> {
    /// Asks what the planner expects of a statement, and what comes of it.
    fn estimate(
        &mut self,
        section: &'static str,
        statement: &Statement,
        variables: Variables<'_>,
    ) -> Result<()> {
        self.observer.begin(&format!("{section} {}: estimates", statement.name), self.sides.len() as u64);
        for side in self.sides.iter_mut() {
            let patience = Patience { limit: Some(self.limits.timeout), stop: self.stop };
            let found = estimates::of_statement(side.as_mut(), section, statement, variables, &patience)?;
            self.estimates.get_or_insert_default().extend(found);
            self.observer.advance(1);
        }
        Ok(())
    }
}

/// The same rows, told to who looks on, and ended when nobody wants any more.
fn counted<'r>(
    rows: &'r Rows<'_>,
    observer: &'r RefCell<&mut dyn Observer>,
) -> impl Fn(&mut Visitor<'_>) -> Result<()> + 'r {
    move |visit| {
        let mut count = 0;
        rows(&mut |row| {
            visit(row)?;
            count += 1;
            if count % LOOK_ROWS == 0 {
                let mut observer = observer.borrow_mut();
                observer.advance(LOOK_ROWS);
                if observer.is_interrupted() {
                    return Err(Failure::Interrupted);
                }
            }
            Ok(())
        })
    }
}

/// One run of a statement: what it gives, or what its check gives behind it.
fn execute(
    side: &mut dyn Side,
    statement: &Statement,
    variables: Variables<'_>,
    round: usize,
    patience: &Patience<'_>,
) -> Result<(Answer, Duration)> {
    let dialect = side.dialect();
    if let Some(setup) = statement.setup(dialect, variables).filter(|_| round == 0) {
        side.run(&setup, patience)?;
    }
    let text = statement.text(dialect, variables).unwrap_or_default();
    match statement.check(dialect, variables) {
        None => side.answer(&text, patience),
        Some(check) => {
            let took = side.run(&text, patience)?;
            let (answer, _) = side.answer(&check, patience)?;
            Ok((answer, took))
        }
    }
}

/// Says of each answer whether it is right: that of the standard where there is one, or else that which most sides gave.
fn compare(figures: &mut [(Figure, Option<Answer>)], order: &[usize], reference: Option<Reference>) {
    for (figure, answer) in figures.iter_mut() {
        figure.row_count = answer.as_ref().map(Answer::len);
        figure.number_sum = answer.as_ref().map(Answer::number_sum);
    }
    let reference = reference.or_else(|| {
        let answers: Vec<&Answer> = figures.iter().filter_map(|(_, answer)| answer.as_ref()).collect();
        let agreeing = |answer: &Answer| {
            answers.iter().filter(|other| answer.difference(other, order, USUAL).is_none()).count()
        };
        // Of two opinions the last one counts: it is that of another database, not of the one that is tested.
        let most = answers.iter().max_by_key(|answer| agreeing(answer))?;
        Some(Reference { answer: (*most).clone(), tolerance: USUAL })
    });
    let Some(Reference { answer: right, tolerance }) = reference else { return };
    for (figure, answer) in figures.iter_mut() {
        let difference = answer.as_ref().and_then(|answer| right.difference(answer, order, tolerance));
        // A side that has failed later says so.
        if let Some(difference) = difference
            && figure.outcome == Outcome::Done
        {
            figure.end(Outcome::Differs, difference);
        }
    }
}

/// The same failure with a few words before it; an interruption stays one.
pub(super) fn in_words(failure: Failure, words: &str) -> Failure {
    match failure {
        Failure::Interrupted => Failure::Interrupted,
        failure => Failure::Other(format!("{words}: {failure}")),
    }
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(number: &str) -> (Figure, Option<Answer>) {
        let mut answer = Answer::default();
        answer.push([Some(number.to_owned())]);
        (Figure::new("tpch", "Q1", "", ""), Some(answer))
    }

    #[test]
    fn the_one_who_answers_otherwise_is_told() {
        let mut figures = [figure("2"), figure("1.0"), figure("1")];
        compare(&mut figures, &[], None);
        let outcomes: Vec<Outcome> = figures.iter().map(|(figure, _)| figure.outcome).collect();
        assert_eq!(outcomes, [Outcome::Differs, Outcome::Done, Outcome::Done]);
        assert_eq!(figures[0].0.number_sum, Some(2.0));
        let mut two = [figure("2"), figure("1")];
        compare(&mut two, &[], None);
        assert_eq!(two[0].0.outcome, Outcome::Differs);
        assert_eq!(two[1].0.outcome, Outcome::Done);
    }

    #[test]
    fn what_is_known_beforehand_is_right_whoever_says_otherwise() {
        let (_, answer) = figure("3");
        let reference = Reference { answer: answer.expect("an answer"), tolerance: USUAL };
        let mut figures = [figure("2"), figure("2"), figure("3")];
        compare(&mut figures, &[], Some(reference));
        let outcomes: Vec<Outcome> = figures.iter().map(|(figure, _)| figure.outcome).collect();
        assert_eq!(outcomes, [Outcome::Differs, Outcome::Differs, Outcome::Done]);
    }
}
