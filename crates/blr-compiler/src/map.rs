//! Where values of groups and windows are kept: maps, whose places are filled as expressions ask for them.

use farbird_blr::{Code, code};

use crate::failure::{Made, placed};

/// Values of a map, each once.
#[derive(Debug, Clone, Default)]
struct Map(Vec<Code>);

impl Map {
    fn place(&mut self, context: u8, value: &Code) -> Made<Code> {
        let place = self.0.iter().position(|known| known == value).unwrap_or_else(|| {
            self.0.push(value.clone());
            self.0.len() - 1
        });
        Ok(Code::place(context, placed(u16::try_from(place).ok())?))
    }

    fn write(&self, made: &mut Code) -> Made<()> {
        map(made, self.0.iter())
    }
}

/// blr_map with its values.
pub(crate) fn map<'v>(made: &mut Code, values: impl ExactSizeIterator<Item = &'v Code>) -> Made<()> {
    made.byte(code::MAP);
    values_of_map(made, values)
}

fn values_of_map<'v>(made: &mut Code, values: impl ExactSizeIterator<Item = &'v Code>) -> Made<()> {
    placed(made.long_count(values.len()))?;
    for (place, value) in values.enumerate() {
        placed(made.long_count(place))?.piece(value);
    }
    Ok(())
}

/// blr_aggregate.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(crate) context: u8,
    /// GROUP BY.
    keys: Vec<Code>,
    map: Map,
}

impl Grouping {
    pub(crate) fn new(context: u8, keys: Vec<Code>) -> Grouping {
        Grouping { context, keys, map: Map::default() }
    }

    pub(crate) fn place(&mut self, value: &Code) -> Made<Code> {
        self.map.place(self.context, value)
    }

    pub(crate) fn is_key(&self, value: &Code) -> bool {
        self.keys.contains(value)
    }

    /// The record source over that of the rows.
    pub(crate) fn write(&self, rows: &Code) -> Made<Code> {
        let mut made = Code::of(&[code::AGGREGATE, self.context]);
        made.piece(rows).byte(code::GROUP_BY);
        placed(made.count(self.keys.len()))?;
        for key in &self.keys {
            made.piece(key);
        }
        self.map.write(&mut made)?;
        Ok(made)
    }
}

/// What the rows of a window are.
#[derive(Debug, PartialEq)]
pub(crate) struct WindowRows {
    /// PARTITION BY.
    pub(crate) keys: Vec<Code>,
    /// ORDER BY: how many keys, and the keys.
    pub(crate) order: Code,
    /// ROWS or RANGE.
    pub(crate) frame: Option<Code>,
}

/// Rows of one PARTITION BY, ORDER BY and frame.
#[derive(Debug)]
struct Partition {
    context: u8,
    rows: WindowRows,
    map: Map,
}

impl Partition {
    /// What every Firebird that has windows knows.
    fn write_plain(&self, made: &mut Code) -> Made<()> {
        made.more(&[code::PARTITION_BY, self.context]);
        placed(made.count(self.rows.keys.len()))?;
        let values = self.write_keys(made)?;
        made.byte(code::SORT).piece(&self.rows.order);
        values.write(made)
    }

    /// What came with frames: each part with a number of its own.
    fn write_framed(&self, made: &mut Code, frame: &Code) -> Made<()> {
        made.more(&[code::WINDOW_PARTS, self.context]);
        let mut values = self.map.clone();
        if !self.rows.keys.is_empty() {
            placed(made.byte(code::WINDOW_PARTITION).count(self.rows.keys.len()))?;
            values = self.write_keys(made)?;
        }
        if self.rows.order != Code::of(&[0]) {
            made.byte(code::WINDOW_ORDER).piece(&self.rows.order);
        }
        made.byte(code::WINDOW_MAP);
        values_of_map(made, values.0.iter())?;
        made.piece(frame).byte(code::END);
        Ok(())
    }

    /// Keys, and behind them their places among the values, which are handed back.
    fn write_keys(&self, made: &mut Code) -> Made<Map> {
        let mut values = self.map.clone();
        let mut places = Code::new();
        for key in &self.rows.keys {
            made.piece(key);
            places.piece(&values.place(self.context, key)?);
        }
        made.piece(&places);
        Ok(values)
    }
}

/// blr_window. The first partition is that of values which no window computes, or one over all rows.
#[derive(Debug)]
pub(crate) struct Windows(Vec<Partition>);

impl Windows {
    pub(crate) fn new(context: u8) -> Windows {
        let rows = WindowRows { keys: Vec::new(), order: Code::of(&[0]), frame: None };
        Windows(vec![Partition { context, rows, map: Map::default() }])
    }

    pub(crate) fn contexts(&self) -> Vec<u8> {
        self.0.iter().map(|it| it.context).collect()
    }

    pub(crate) fn plain_place(&mut self, value: &Code) -> Made<Code> {
        let plain = placed(self.0.first_mut())?;
        plain.map.place(plain.context, value)
    }

    /// The place of a window's value. `context` makes a context for rows that no window had so far.
    pub(crate) fn place(
        &mut self,
        rows: WindowRows,
        value: &Code,
        context: impl FnOnce() -> Made<u8>,
    ) -> Made<Code> {
        let place = match self.0.iter().position(|it| it.rows == rows) {
            Some(place) => place,
            None => {
                self.0.push(Partition { context: context()?, rows, map: Map::default() });
                self.0.len() - 1
            }
        };
        let partition = placed(self.0.get_mut(place))?;
        partition.map.place(partition.context, value)
    }

    /// The record source over that of the rows.
    pub(crate) fn write(&self, rows: &Code) -> Made<Code> {
        let mut made = Code::of(&[code::WINDOW]);
        made.piece(rows);
        placed(made.count(self.0.len()))?;
        for partition in &self.0 {
            match &partition.rows.frame {
                None => partition.write_plain(&mut made)?,
                Some(frame) => partition.write_framed(&mut made, frame)?,
            }
        }
        Ok(made)
    }
}
