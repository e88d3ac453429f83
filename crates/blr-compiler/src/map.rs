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

/// Rows of one PARTITION BY and ORDER BY.
#[derive(Debug)]
struct Partition {
    context: u8,
    keys: Vec<Code>,
    order: Code,
    map: Map,
}

/// blr_window. The first partition is that of values which no window computes.
#[derive(Debug)]
pub(crate) struct Windows(Vec<Partition>);

impl Windows {
    pub(crate) fn new(context: u8) -> Windows {
        let order = Code::of(&[code::SORT, 0]);
        Windows(vec![Partition { context, keys: Vec::new(), order, map: Map::default() }])
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
        (keys, order): (Vec<Code>, Code),
        value: &Code,
        context: impl FnOnce() -> Made<u8>,
    ) -> Made<Code> {
        let of_windows = self.0.iter().skip(1);
        let known = of_windows.enumerate().find(|(_, it)| it.keys == keys && it.order == order);
        let place = match known {
            Some((place, _)) => place + 1,
            None => {
                self.0.push(Partition { context: context()?, keys, order, map: Map::default() });
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
            made.more(&[code::PARTITION_BY, partition.context]);
            placed(made.count(partition.keys.len()))?;
            let mut values = partition.map.clone();
            let mut places = Code::new();
            for key in &partition.keys {
                made.piece(key);
                places.piece(&values.place(partition.context, key)?);
            }
            made.piece(&places).piece(&partition.order);
            values.write(&mut made)?;
        }
        Ok(made)
    }
}
