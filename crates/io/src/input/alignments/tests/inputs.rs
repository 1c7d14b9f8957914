//! Several inputs, pipes, and what is no input at all.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::synthetic::{bgzf, header, record};
use super::{collect, file, options, read};
use crate::input::alignments::{AlignmentError, AlignmentSource};

#[test]
fn inputs_are_read_one_after_the_other() {
    let records = |count: usize, name: &str| -> Vec<u8> {
        (0..count).flat_map(|at| record(&format!("{name}{at}"), 40, b"")).collect()
    };
    let texts = [records(300, "a"), records(0, "b"), records(200, "c"), records(1, "d")];
    let whole = |references: usize, text: &[u8]| [&header(references), text].concat();
    let files = [
        file(&bgzf(&whole(1, &texts[0]), &[500])),
        file(&bgzf(&whole(2, &texts[1]), &[500])),
        file(&whole(3, &texts[2])),
        file(&bgzf(&whole(4, &texts[3]), &[500])),
    ];
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    for threads in [1, 4] {
        let source = AlignmentSource::open(&paths, options(2_000)).unwrap();
        let references: Vec<usize> =
            source.headers().iter().map(|header| header.references().len()).collect();
        assert_eq!(references, [1, 2, 3, 4]);
        let streams = collect(&source, threads).unwrap();
        for (stream, text) in streams.iter().zip(&texts) {
            assert!(&stream.bytes == text);
        }
        assert_eq!(source.bytes_read(), source.total_bytes().unwrap());
    }
}

#[test]
fn pipes_are_read() {
    let text: Vec<u8> = (0..3_000).flat_map(|at| record(&format!("r{at}"), 60, b"")).collect();
    let whole = [header(1), text.clone()].concat();
    for content in [bgzf(&whole, &[3_000]), whole] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for part in content.chunks(10_007) {
                    writer.write_all(part).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
            let source = AlignmentSource::open(&[path], options(20_000)).unwrap();
            assert_eq!(source.total_bytes(), None);
            let stream = collect(&source, 3).unwrap().remove(0);
            assert!(stream.bytes == text);
        });
    }
}

#[test]
fn what_is_no_input_is_named() {
    fn t(content: &[u8], expected: &str) {
        let file = file(content);
        let error = read(&file.path, options(1 << 20), 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(&file.path.display().to_string()), "{error}");
    }
    t(b"", "the input is empty");
    t(b"CRAM\x03\0", "the header's container, byte 0: truncated");
    t(&[b"CRAM\x02\x01".as_slice(), &[0; 30]].concat(), "CRAM 2.1 is not read");
    t(b"@read1\nACGT\n+\nIIII\n", "seqloom align");
    t(b">c\nACGT\n", "seqloom align");
    t(b"hello\n", "neither BAM, CRAM nor SAM");
    t(b"@SQ\tSN:a\n", "header line 1: has no LN");
    t(b"BAM\x01\xff\xff\xff\xff", "l_text -1");
    t(b"BAM\x01\xff\xff\xff\x7f", "truncated");
    let good = bgzf(&[header(1), record("r", 4, b"")].concat(), &[99]);
    t(&good[..good.len() - 1], "--allow-truncated");
    t(&bgzf(b"hello", &[99]), "neither BAM, CRAM nor SAM");
    let none = AlignmentSource::open(&[], options(1));
    assert!(matches!(none, Err(AlignmentError::NoInput)));
    let twice = AlignmentSource::open(&["-".into(), "-".into()], options(1));
    assert!(matches!(twice, Err(AlignmentError::StandardInputTwice)));
    let missing = AlignmentSource::open(&["/nonexistent/a.bam".into()], options(1));
    assert!(missing.err().unwrap().to_string().contains("/nonexistent/a.bam"));
}
