//! The scheduler without threads: which record is next, and what may be held.

use seqloom_io::alignments::AlignmentOptions;

use super::*;

const LIMITS: Limits = Limits {
    workers: 4,
    window_bytes: 1 << 20,
    working_bytes: 100,
    prepaid_bytes: 10,
    block_bytes: 1 << 10,
};

/// A SAM file of mapped records with CIGARs of these lengths at these positions.
fn sam(records: &[(u32, u32)]) -> String {
    let mut text = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n".to_owned();
    for (number, (position, length)) in records.iter().enumerate() {
        text += &format!("r{number}\t0\tc\t{position}\t60\t{length}M\t*\t0\t0\t*\t*\n");
    }
    text
}

fn source(folder: &std::path::Path, records: &[(u32, u32)]) -> AlignmentSource {
    let path = folder.join("in.sam");
    std::fs::write(&path, sam(records)).unwrap();
    AlignmentSource::open(&[path], AlignmentOptions::default()).unwrap()
}

/// A read takes ten bytes per base to work on, and one for its result.
fn cost(bases: u64) -> Cost {
    Cost { working_bytes: bases * 10, result_bytes: bases }
}

const ALL: Filter = Filter { min_mapping_quality: 0, region: None, has_secondary: false };

fn fill(scheduler: &mut Scheduler<'_>) -> Result<(), CallError> {
    let mut scratch = seqloom_io::alignments::AlignmentScratch::default();
    while scheduler.may_fetch() {
        assert!(matches!(scheduler.next_task(), Ok(Task::Fetch)));
        let fetched = scheduler.source.fetch(&mut scratch).unwrap().map(|block| {
            let found = scan(&block.bytes, &scheduler.filter);
            Scanned { block, found }
        });
        scheduler.fetched(fetched, &cost)?;
    }
    Ok(())
}

fn take(scheduler: &mut Scheduler<'_>) -> Option<Job> {
    match scheduler.next_task() {
        Ok(Task::Call(job)) => Some(job),
        Ok(Task::Fetch) => panic!("nothing is left to fetch"),
        Err(_) => None,
    }
}

#[test]
fn the_longest_that_fits_is_taken_first() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), &[(1, 1), (2, 3), (3, 9), (4, 3), (5, 500)]);
    let mut scheduler = Scheduler::new(&source, ALL, LIMITS);
    fill(&mut scheduler).unwrap();
    // Of 100 and 10 that are prepaid, 90 take 80; then 30 take 20 each of what is left, and the
    // first may start whatever it takes. The 5,000 wait for their turn.
    let mut jobs: Vec<Job> = std::iter::from_fn(|| take(&mut scheduler)).collect();
    let order: Vec<u64> = jobs.iter().map(|job| job.ordinal).collect();
    assert_eq!(order, [2, 1, 0]);
    // What the longest gives back lets the other one of three bases in.
    scheduler.called(&mut jobs[0], 5);
    assert_eq!(take(&mut scheduler).map(|job| job.ordinal), Some(3));
}

#[test]
fn the_first_may_start_whatever_it_takes_and_the_front_moves_on() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), &[(1, 500), (2, 400), (3, 1)]);
    let mut scheduler = Scheduler::new(&source, ALL, LIMITS);
    fill(&mut scheduler).unwrap();
    let mut last = take(&mut scheduler).unwrap();
    assert_eq!(last.ordinal, 2, "it is the only one that fits");
    let mut first = take(&mut scheduler).unwrap();
    assert_eq!(first.ordinal, 0, "it is the one that is waited for");
    assert!(take(&mut scheduler).is_none());
    for job in [&mut last, &mut first] {
        scheduler.called(job, 7);
    }
    assert!(take(&mut scheduler).is_none(), "the front has not moved yet");
    scheduler.committed(first.held_bytes);
    let mut middle = take(&mut scheduler).unwrap();
    assert_eq!(middle.ordinal, 1);
    scheduler.called(&mut middle, 0);
    scheduler.committed(middle.held_bytes);
    scheduler.committed(last.held_bytes);
    assert!(scheduler.is_complete());
    assert_eq!((scheduler.window_bytes, scheduler.working_bytes), (0, 0));
    assert!(matches!(scheduler.next_task(), Err(Idle::Finished)));
    assert_eq!(scheduler.records(), 3);
}

#[test]
fn a_read_grows_if_it_fits_or_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), &[(1, 2), (2, 2)]);
    let mut scheduler = Scheduler::new(&source, ALL, LIMITS);
    fill(&mut scheduler).unwrap();
    let first = take(&mut scheduler).unwrap();
    let mut second = take(&mut scheduler).unwrap();
    assert_eq!((first.sequence, second.sequence), (0, 1));
    assert!(scheduler.try_grow(1, 50));
    assert!(!scheduler.try_grow(1, 500));
    assert!(scheduler.try_grow(0, 500));
    assert!(!scheduler.try_grow(1, 51), "the first has taken it all");
    assert!(scheduler.try_grow(1, 20), "less is always possible");
    scheduler.called(&mut second, 0);
    assert_eq!(scheduler.working_bytes, 490);
}

#[test]
fn records_out_of_order_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), &[(1, 2), (5, 2), (4, 2)]);
    let mut scheduler = Scheduler::new(&source, ALL, LIMITS);
    let error = fill(&mut scheduler).unwrap_err();
    assert!(matches!(&error, CallError::Unsorted { name, .. } if name == "r2"), "{error}");
}

#[test]
fn reading_ends_after_the_region() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<(u32, u32)> = (1..900).map(|position| (position, 1)).collect();
    let path = folder.path().join("in.sam");
    std::fs::write(&path, sam(&records)).unwrap();
    let options = AlignmentOptions { block_bytes: 500, ..AlignmentOptions::default() };
    let source = AlignmentSource::open(&[path], options).unwrap();
    let region = super::super::record::Region { reference_id: 0, start: 20, end: 30 };
    let filter = Filter { min_mapping_quality: 0, region: Some(region), has_secondary: false };
    let mut scheduler = Scheduler::new(&source, filter, LIMITS);
    fill(&mut scheduler).unwrap();
    assert_eq!(scheduler.records(), 10);
    let (read, all) = (source.bytes_read(), source.total_bytes().unwrap());
    assert!(read < all / 4, "{read} bytes of {all} were read");
    let mut called = Vec::new();
    while let Some(mut job) = take(&mut scheduler) {
        scheduler.called(&mut job, 0);
        called.extend((job.unit.record < job.unit.end).then_some(job.ordinal));
    }
    called.sort_unstable();
    assert_eq!(called, (0..10).collect::<Vec<u64>>());
}
