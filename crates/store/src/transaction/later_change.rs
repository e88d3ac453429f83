//! What a transaction itself has made of a row since a view was taken: a statement that goes through rows under its view
//! asks, since triggers and cascades that it sets off may have changed a row that it has yet to come to.

use farbird_types::Value;

use super::{Core, Transaction};
use crate::changes;
use crate::decoder::RowDecoder;
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::OwnRow;
use crate::{Projection, ReadView, RelationLayout, Result, RowId};

/// What became of a row after a view of it was taken.
#[derive(Debug, Clone, PartialEq)]
pub enum LaterChange {
    /// It was deleted.
    Deleted,
    /// It is this now, by slot.
    Row(Vec<Value>),
}

impl Transaction {
    /// What this transaction has made of a row since it took the view; `None` if it left the row alone.
    pub fn changed_since(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row: RowId,
    ) -> Result<Option<LaterChange>> {
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        let core = self.core()?;
        let Some(writes) = core.writes.relation(layout.id) else { return Ok(None) };
        let later = match writes.latest_change(row) {
            Some((change, _)) if change <= view.change() => return Ok(None),
            Some((_, OwnRow::Deleted)) => Some(LaterChange::Deleted),
            Some((_, OwnRow::Row { format, bytes })) => {
                let projection = Projection::all();
                let mut values = Vec::new();
                let decoder = RowDecoder::new(&self.store.inner, layout, &projection);
                decoder.decode(row, format, bytes, &mut values)?;
                Some(LaterChange::Row(values))
            }
            None if core.spilled.is_empty() => None,
            None => self.spilled_since(&core, layout, view, row)?,
        };
        Ok(later)
    }

    fn spilled_since(
        &self,
        core: &Core,
        layout: &RelationLayout,
        view: &ReadView,
        row: RowId,
    ) -> Result<Option<LaterChange>> {
        let inner = &self.store.inner;
        let snapshot = inner.snapshot();
        let spilled = inner.spilled.find(core.id);
        for entry in changes::scan(&*snapshot, layout.id, row, row)? {
            let (key, value) = entry?;
            let (_, writer, change) = changes::parse(&key)?;
            if writer != core.id || spilled.as_ref().is_none_or(|spilled| spilled.is_undone(change)) {
                continue;
            }
            // The newest change of each transaction comes first.
            if change <= view.change() {
                return Ok(None);
            }
            return match StoredVersion::decode(&value, row)?.content {
                VersionContent::Deleted => Ok(Some(LaterChange::Deleted)),
                VersionContent::Row { format, bytes } => {
                    let projection = Projection::all();
                    let mut values = Vec::new();
                    let decoder = RowDecoder::new(inner, layout, &projection);
                    decoder.decode(row, format, bytes, &mut values)?;
                    Ok(Some(LaterChange::Row(values)))
                }
            };
        }
        Ok(None)
    }
}
