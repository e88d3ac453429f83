//! Record selection expressions.

use farbird_types::Result;

use crate::code;
use crate::reader::Reader;
use crate::tree::{Aggregate, Expression, Join, Order, RecordSource, Relation, RelationName, Selection};

impl Reader<'_> {
    /// A selection with its code.
    pub(crate) fn selection(&mut self) -> Result<Selection> {
        let singular = self.take_if(code::SINGULAR);
        match self.byte()? {
            code::RSE | code::STREAM => {}
            _ => return Err(self.unexpected("RecordSelExpr")),
        }
        let selection = self.nested(|reader| reader.selection_inside(false))?;
        Ok(Selection { singular, ..selection })
    }

    /// A selection, behind its code. The sources of one that is a source itself become joins within each other, the first
    /// one innermost.
    fn selection_inside(&mut self, is_source: bool) -> Result<Selection> {
        let count = self.byte()?;
        let levels = if is_source { u32::from(count).saturating_sub(1) } else { 0 };
        let sources = self.nested_by(levels, |reader| {
            (0..count).map(|_| reader.record_source()).collect::<Result<Vec<_>>>()
        })?;
        let mut selection = Selection {
            sources,
            join: Join::Inner,
            condition: None,
            order: Vec::new(),
            distinct: Vec::new(),
            first: None,
            skip: None,
            singular: false,
            lock: false,
        };
        loop {
            match self.byte()? {
                code::BOOLEAN => selection.condition = Some(self.condition()?),
                code::FIRST => selection.first = Some(self.value()?),
                code::SKIP => selection.skip = Some(self.value()?),
                code::SORT => selection.order = self.order()?,
                code::PROJECT => selection.distinct = self.values()?,
                code::JOIN_TYPE => {
                    selection.join = match self.byte()? {
                        0 => Join::Inner,
                        1 => Join::Left,
                        2 => Join::Right,
                        3 => Join::Full,
                        _ => return Err(self.unexpected("join type clause")),
                    };
                }
                code::WRITE_LOCK => selection.lock = true,
                // How fast the first records are to come: the planner sees to that.
                code::OPTIMIZE => drop(self.byte()?),
                code::END => break,
                _ => return Err(self.unexpected("record selection expression clause")),
            }
        }
        let is_outer = selection.join != Join::Inner;
        if selection.sources.is_empty()
            || is_outer && (selection.sources.len() != 2 || selection.condition.is_none())
        {
            return Err(self.unexpected("record selection expression clause"));
        }
        Ok(selection)
    }

    fn record_source(&mut self) -> Result<RecordSource> {
        self.nested(|reader| match reader.byte()? {
            code @ (code::RELATION | code::RELATION_ALIAS | code::RELATION_ID | code::RELATION_ID_ALIAS) => {
                reader.relation(code).map(RecordSource::Relation)
            }
            code::RSE | code::STREAM => Ok(RecordSource::Selection(Box::new(reader.selection_inside(true)?))),
            code::PROCEDURE => {
                let name = reader.name()?;
                let context = reader.declare_context()?;
                let count = reader.word()?;
                let arguments = (0..count).map(|_| reader.value()).collect::<Result<_>>()?;
                Ok(RecordSource::Procedure { name, context, arguments })
            }
            code::AGGREGATE => reader.groups().map(|groups| RecordSource::Aggregate(Box::new(groups))),
            _ => Err(reader.unsupported()),
        })
    }

    /// A relation that is stored into, with its code.
    pub(crate) fn stored_relation(&mut self) -> Result<Relation> {
        match self.byte()? {
            code @ (code::RELATION | code::RELATION_ALIAS | code::RELATION_ID | code::RELATION_ID_ALIAS) => {
                self.relation(code)
            }
            _ => Err(self.unexpected("relation")),
        }
    }

    fn relation(&mut self, code: u8) -> Result<Relation> {
        let name = match code {
            code::RELATION | code::RELATION_ALIAS => RelationName::Name(self.name()?),
            _ => RelationName::Id(self.word()?),
        };
        if matches!(code, code::RELATION_ALIAS | code::RELATION_ID_ALIAS) {
            // The alias is for plans; the context names the relation here.
            let length = usize::from(self.byte()?);
            self.slice(length)?;
        }
        Ok(Relation { name, context: self.declare_context()? })
    }

    fn groups(&mut self) -> Result<Aggregate> {
        let context = self.declare_context()?;
        let source = self.selection()?;
        self.expect(code::GROUP_BY, "blr_group_by")?;
        let group_by = self.values()?;
        self.expect(code::MAP, "blr_map")?;
        let count = self.word()?;
        let map = (0..count).map(|_| Ok((self.word()?, self.value()?))).collect::<Result<_>>()?;
        Ok(Aggregate { context, source, group_by, map })
    }

    /// Values behind their number.
    fn values(&mut self) -> Result<Vec<Expression>> {
        let count = self.byte()?;
        (0..count).map(|_| self.value()).collect()
    }

    fn order(&mut self) -> Result<Vec<Order>> {
        let count = self.byte()?;
        let item = |reader: &mut Self| {
            let nulls_first = match reader.peek() {
                code::NULLS_FIRST => Some(true),
                code::NULLS_LAST => Some(false),
                _ => None,
            };
            if nulls_first.is_some() {
                reader.byte()?;
            }
            let descending = reader.byte()? == code::DESCENDING;
            Ok(Order { value: reader.value()?, descending, nulls_first })
        };
        (0..count).map(|_| item(self)).collect()
    }
}
