//! The records of one template, in buffers that are recycled from template to template.

/// Bodies of a template's records in input order, some of which may have been removed.
#[derive(Debug, Default)]
pub(crate) struct TemplateRecords {
    /// The first `len` are in use.
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Debug, Default)]
struct Slot {
    body: Vec<u8>,
    is_removed: bool,
}

impl TemplateRecords {
    /// Forgets all records and keeps their buffers.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a record.
    pub(crate) fn push(&mut self, body: &[u8]) {
        if self.len == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = &mut self.slots[self.len];
        slot.is_removed = false;
        slot.body.clear();
        slot.body.extend_from_slice(body);
        self.len += 1;
    }

    /// Number of records, removed ones included: indices go from 0 up to it.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots[..self.len].get(index).filter(|slot| !slot.is_removed)
    }

    /// Body of a record; `None` when it was removed.
    #[must_use]
    pub(crate) fn body(&self, index: usize) -> Option<&[u8]> {
        self.slot(index).map(|slot| slot.body.as_slice())
    }

    /// Body of a record, to be changed; `None` when it was removed.
    #[must_use]
    pub(crate) fn body_mut(&mut self, index: usize) -> Option<&mut Vec<u8>> {
        let slot = self.slots[..self.len].get_mut(index).filter(|slot| !slot.is_removed);
        slot.map(|slot| &mut slot.body)
    }

    /// Bodies of two mates, to be changed; `None` when they are the same or one was removed.
    #[must_use]
    pub(crate) fn mates_mut(&mut self, mates: [usize; 2]) -> Option<[&mut Vec<u8>; 2]> {
        let slots = self.slots[..self.len].get_disjoint_mut(mates).ok()?;
        slots.iter().all(|slot| !slot.is_removed).then(|| slots.map(|slot| &mut slot.body))
    }

    /// Removes a record from the output.
    pub(crate) fn remove(&mut self, index: usize) {
        if let Some(slot) = self.slots[..self.len].get_mut(index) {
            slot.is_removed = true;
        }
    }

    /// Bodies of the records that were not removed, in input order.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &[u8]> {
        self.slots[..self.len].iter().filter(|slot| !slot.is_removed).map(|it| it.body.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_in_order_and_buffers_recycled() {
        let mut records = TemplateRecords::default();
        assert_eq!(records.len(), 0);
        for body in [&b"one"[..], b"two", b"three"] {
            records.push(body);
        }
        records.remove(1);
        records.remove(9);
        assert_eq!((records.len(), records.body(0), records.body(1)), (3, Some(&b"one"[..]), None));
        assert!(records.mates_mut([0, 1]).is_none() && records.mates_mut([0, 0]).is_none());
        let [a, b] = records.mates_mut([2, 0]).unwrap();
        std::mem::swap(a, b);
        records.body_mut(0).unwrap().push(b'!');
        assert_eq!(records.kept().collect::<Vec<_>>(), [&b"three!"[..], b"one"]);
        records.clear();
        assert!(records.len() == 0 && records.body(0).is_none());
        assert!(records.body_mut(0).is_none());
        records.push(b"x");
        assert_eq!(records.kept().collect::<Vec<_>>(), [b"x"]);
    }
}
