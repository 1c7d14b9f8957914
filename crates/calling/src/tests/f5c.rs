//! Against the files of f5c's own tests.

use std::fs;

use super::real_reads::{Scalings, aligned, assert_same, folder, reads, scalings};
use crate::events::Events;
use crate::events::detect::{DetectOptions, DetectScratch, detect, samples_to_pa};

#[test]
fn events_are_those_of_f5c_on_one_read() {
    let Some(folder) = folder() else { return };
    let text = fs::read_to_string(folder.join("single_read/read1.events.exp")).unwrap();
    let fasta = fs::read_to_string(folder.join("single_read/read1.fasta")).unwrap();
    let name = fasta[1..].split_ascii_whitespace().next().unwrap().to_owned();
    let reads = reads(&folder);
    let read = reads.iter().find(|read| read.name() == name).unwrap();
    let (mut samples_pa, mut events) = (Vec::new(), Events::default());
    samples_to_pa(&read.signal, &mut samples_pa);
    detect(&mut DetectScratch::default(), &samples_pa, &DetectOptions::DNA, &mut events);
    // {start,length,mean,stdv,-1,-1}, six decimals.
    let mut count = 0;
    for row in text.split('{').skip(1) {
        let expected: Vec<&str> = row.split(',').take(4).collect();
        let ours = [
            format!("{}", events.start_samples[count]),
            format!("{:.6}", events.length_samples[count]),
            format!("{:.6}", events.mean_pa[count]),
            format!("{:.6}", events.stdv_pa[count]),
        ];
        assert_eq!(ours, expected.as_slice(), "event {count}");
        count += 1;
    }
    assert_eq!(count, events.len());
    assert!(count > 1000);
}

#[test]
fn scalings_are_those_of_f5c() {
    let Some(folder) = folder() else { return };
    let expected = scalings(&fs::read_to_string(folder.join("eventalign.summary.exp")).unwrap());
    let reads = reads(&folder);
    let mut pairs = Vec::new();
    for (read, aligned) in reads.iter().zip(aligned(&reads)) {
        // One read is not in the summary: it is not in the BAM file that f5c was given.
        let Some(&expected) = expected.get(&read.name()) else { continue };
        let aligned = aligned.unwrap_or_else(|why| panic!("{}: {why}", read.name()));
        pairs.push((Scalings::from(aligned.scaling), expected));
    }
    assert_eq!(pairs.len(), 111);
    assert_same(&pairs);
}
