//! Counting passes, editors and observers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use seqloom_runtime::failure::lock;

use super::*;
use crate::finish::hooks::HookError;
use crate::partition::frame::template_of;
use crate::partition::order::SortOrder;

/// Records by ordinal: FLAG and how often seen.
type Seen = BTreeMap<u64, (u16, u64)>;

/// Counts records by ordinal.
#[derive(Default)]
struct Counting {
    seen: Mutex<Seen>,
    /// Fails at this ordinal.
    fails_at: Option<u64>,
}

struct Counter<'a> {
    all: &'a Counting,
    seen: Seen,
}

impl RecordVisitor for Counter<'_> {
    fn visit(&mut self, ordinal: u64, record: &RecordRef<'_>) -> Result<(), HookError> {
        if self.all.fails_at == Some(ordinal) {
            return Err(HookError::Test(format!("record {ordinal} is odd")));
        }
        self.seen.entry(ordinal).or_insert((record.flags(), 0)).1 += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), HookError> {
        lock(&self.all.seen).extend(self.seen);
        Ok(())
    }
}

impl VisitorSource for Counting {
    fn visitor(&self) -> Box<dyn RecordVisitor + '_> {
        Box::new(Counter { all: self, seen: Seen::default() })
    }
}

/// Leaves some templates alone, drops some, and gives the others lower qualities and a tag.
struct Editing;

fn edited(template: u64, body: &[u8]) -> Option<Vec<u8>> {
    let record = RecordRef::new(body).unwrap();
    match template % 5 {
        0 => Some(body.to_vec()),
        1 => None,
        _ => {
            let mut out = body.to_vec();
            let qualities = record.aux_start() - record.base_count()..record.aux_start();
            out[qualities].iter_mut().for_each(|quality| *quality /= 2);
            out.extend_from_slice(b"OQZthey were higher\0");
            Some(out)
        }
    }
}

impl RecordEditor for Editing {
    fn edit(
        &mut self,
        ordinal: u64,
        record: &RecordRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Edited, HookError> {
        assert!(out.is_empty());
        Ok(match edited(template_of(ordinal), record.body()) {
            None => Edited::Dropped,
            Some(body) if body == record.body() => Edited::Unchanged,
            Some(body) => {
                out.extend_from_slice(&body);
                Edited::Changed
            }
        })
    }
}

impl EditorSource for Editing {
    fn editor(&self) -> Box<dyn RecordEditor + '_> {
        Box::new(Editing)
    }
}

/// Every record's ordinal and body with its final flag, in input order.
fn flagged(templates: &[Vec<Vec<u8>>]) -> impl Iterator<Item = (u64, Vec<u8>)> {
    (0..).zip(templates).flat_map(|(template, bodies)| {
        (0..).zip(bodies).map(move |(index, body)| {
            let mut body = body.clone();
            set_duplicate(&mut body, is_marked(template));
            (template << 16 | index, body)
        })
    })
}

#[test]
fn a_counting_pass_shows_every_record_once_with_its_final_flag_and_takes_nothing() {
    let templates = templates();
    let (bytes, index, _) = finish(&templates, &SETUP);
    let flags = |body: &[u8]| RecordRef::new(body).unwrap().flags();
    let expected: Seen =
        flagged(&templates).map(|(ordinal, body)| (ordinal, (flags(&body), 1))).collect();
    for threads in [1, 3] {
        for (memory_bytes, chunk_bytes) in MEMORY {
            let setup = Setup { threads, memory_bytes, chunk_bytes, ..SETUP };
            let [visitor, observer] = [Counting::default(), Counting::default()];
            let hooks = Hooks { visitor: Some(&visitor), editor: None, observer: Some(&observer) };
            let (other_bytes, other_index, _) = finish_with(&templates, &setup, hooks).unwrap();
            assert!(other_bytes == bytes && other_index == index, "{setup:?}");
            assert!(visitor.seen.into_inner().unwrap() == expected, "{setup:?}");
            assert!(observer.seen.into_inner().unwrap() == expected, "{setup:?}");
        }
    }
}

#[test]
fn what_editors_make_is_written_indexed_and_observed() {
    let templates = templates();
    let observer = Counting::default();
    let hooks = Hooks { visitor: None, editor: Some(&Editing), observer: Some(&observer) };
    let setup = Setup { remove: true, ..SETUP };
    let (bytes, index, finished) = finish_with(&templates, &setup, hooks).unwrap();

    let kept = |&(ordinal, _): &(u64, Vec<u8>)| !is_marked(template_of(ordinal));
    let mut expected: Vec<_> = flagged(&templates)
        .filter(kept)
        .filter_map(|(ordinal, body)| Some((ordinal, edited(template_of(ordinal), &body)?)))
        .collect();
    assert!(lock(&observer.seen).keys().eq(expected.iter().map(|(ordinal, _)| ordinal)));
    expected.sort_by(|(_, left), (_, right)| {
        let [left, right] = [left, right].map(|body| RecordRef::new(body).unwrap());
        SortOrder::Coordinate.compare(&left, &right)
    });
    let written = records(&bytes);
    assert!(written.iter().map(|(_, body)| body).eq(expected.iter().map(|(_, body)| body)));
    let all = templates.iter().map(Vec::len).sum::<usize>() as u64;
    let Finished { records_written, records_removed, records_dropped, .. } = finished;
    assert!(records_dropped > 0 && records_removed > 0);
    assert_eq!(records_written + records_removed + records_dropped, all);
    assert_eq!(records_written, expected.len() as u64);

    for (memory_bytes, chunk_bytes) in MEMORY {
        let setup = Setup { threads: 3, memory_bytes, chunk_bytes, ..setup };
        let hooks = Hooks { observer: None, ..hooks };
        let (other_bytes, other_index, _) = finish_with(&templates, &setup, hooks).unwrap();
        assert!(other_bytes == bytes && other_index == index, "{setup:?}");
    }
}

#[test]
fn an_error_of_a_hook_ends_the_phase() {
    let templates = &templates()[..2000];
    for (as_visitor, memory_bytes) in [(true, 0), (true, 1 << 30), (false, 0), (false, 1 << 30)] {
        let counting = Counting { fails_at: Some(1500 << 16), ..Counting::default() };
        let hook: Option<&dyn VisitorSource> = Some(&counting);
        let hooks = match as_visitor {
            true => Hooks { visitor: hook, ..Hooks::default() },
            false => Hooks { observer: hook, ..Hooks::default() },
        };
        let setup = Setup { threads: 3, memory_bytes, ..SETUP };
        let error = finish_with(templates, &setup, hooks).unwrap_err();
        assert_eq!(error.to_string(), "record 98304000 is odd");
    }
}

/// FLAG takes part in Picard's order: it is the one that is written.
#[test]
fn records_are_sorted_by_their_final_flags() {
    let record = |flags| vec![body("same", flags, 0, 5, 50)];
    // Template 3 is marked, 4 is not.
    let mut templates = vec![record(0x200); 3];
    templates.extend([record(0x40), record(0x140)]);
    for (order, expected) in [
        (SortOrder::CoordinatePicard, [0x140, 0x200, 0x200, 0x200, 0x440]),
        (SortOrder::Coordinate, [0x200, 0x200, 0x200, 0x440, 0x140]),
    ] {
        for memory_bytes in [0, 1 << 30] {
            let setup = Setup { order, memory_bytes, ..SETUP };
            let (bytes, ..) = finish(&templates, &setup);
            let flags = |(_, body): (_, Vec<u8>)| RecordRef::new(&body).unwrap().flags();
            assert!(records(&bytes).into_iter().map(flags).eq(expected), "{order:?}");
        }
    }
}
