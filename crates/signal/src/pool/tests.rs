//! The parent against workers that answer wrongly, hang or leave, and one that does its work.

use super::channel::{Channel, ChannelError};
use super::protocol::{self, COMPRESSION, Reply, Request};
use super::worker::serve;
use super::*;
use seqloom_format::hdf5::{Hdf5File, MAX_ELEMENTS};
use seqloom_format::slow5::binary::RecordEncoder;
use seqloom_format::slow5::header::append_binary;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Instant;

const SOON: Duration = Duration::from_secs(20);

/// A channel to a worker that answers each request with what `answer` makes of its number.
fn channel_to(
    timeout: Duration,
    answer: impl Fn(u64, &File) -> Option<Vec<u8>> + Send + 'static,
) -> Channel {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let shared = sys::shared_memory().unwrap();
    let other_end = shared.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut frame = Vec::new();
        while protocol::read_frame(&mut theirs, &mut frame).unwrap_or(false) {
            let (sequence, _) = Request::parse(&frame).unwrap();
            let Some(bytes) = answer(sequence, &other_end) else { break };
            theirs.write_all(&bytes).unwrap();
        }
    });
    Channel::new(ours, shared, timeout).unwrap()
}

fn frame(reply: &Reply<'_>, sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    reply.write(sequence, &mut out).unwrap();
    out
}

/// A record, as a worker sends it.
fn record(samples: &[i16]) -> Vec<u8> {
    let mut out = Vec::new();
    let read = SignalRead { read_id: b"r".to_vec(), samples: samples.to_vec(), ..read() };
    let mut encoder = RecordEncoder::new(COMPRESSION).unwrap();
    encoder.append(&read, &SignalHeader::default(), &mut out).unwrap();
    out
}

fn read() -> SignalRead {
    SignalRead { digitisation: 1.0, range: 1.0, sampling_rate: 4000.0, ..SignalRead::default() }
}

fn read_with(channel: &mut Channel) -> Result<Vec<i16>, ChannelError> {
    let mut read = SignalRead::default();
    channel.read(0, &SignalHeader::default(), &mut read)?;
    assert_eq!(read.read_id, b"r");
    Ok(read.samples)
}

#[test]
fn a_worker_that_does_its_work_is_believed() {
    let mut channel = channel_to(SOON, |sequence, shared| {
        shared.write_all_at(&[9, 9, 1, 0, 255, 255], 0).unwrap();
        let reply = Reply::Read { offset_bytes: 2, samples: 2, record: &record(&[]) };
        Some(frame(&reply, sequence))
    });
    assert_eq!(read_with(&mut channel).unwrap(), [1, -1]);
    assert_eq!(read_with(&mut channel).unwrap(), [1, -1]);
}

#[test]
fn a_large_read_leaves_no_memory_behind() {
    let samples = 6 << 20;
    let shared = sys::shared_memory().unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let seen = shared.try_clone().unwrap();
    let mut channel = Channel::new(ours, shared, SOON).unwrap();
    let other_end = seen.try_clone().unwrap();
    let peer = std::thread::spawn(move || {
        let mut request = Vec::new();
        protocol::read_frame(&mut theirs, &mut request).unwrap();
        other_end.set_len(2 * samples).unwrap();
        let reply = Reply::Read { offset_bytes: 0, samples, record: &record(&[]) };
        theirs.write_all(&frame(&reply, 1)).unwrap();
    });
    assert_eq!(read_with(&mut channel).unwrap().len() as u64, samples);
    peer.join().unwrap();
    assert_eq!(seen.metadata().unwrap().len(), 0);
}

#[test]
fn what_a_hostile_worker_answers_is_refused() {
    fn t(expected: &str, answer: impl Fn(u64) -> Vec<u8> + Send + 'static) {
        let mut channel = channel_to(SOON, move |sequence, shared| {
            shared.set_len(8).unwrap();
            Some(answer(sequence))
        });
        let error = read_with(&mut channel).unwrap_err();
        assert!(matches!(error, ChannelError::Wrong(_)), "{expected}: {error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
    let outside = "samples outside the shared memory";
    for (offset_bytes, samples) in [
        (0, 5),
        (2, 4),
        (8, 1),
        (9, 0),
        (u64::MAX, 0),
        (u64::MAX, 1),
        (0, u64::MAX),
        (2, u64::MAX / 2),
        (0, MAX_ELEMENTS + 1),
    ] {
        t(outside, move |sequence| {
            frame(&Reply::Read { offset_bytes, samples, record: &record(&[]) }, sequence)
        });
    }
    t("another number", |sequence| {
        frame(&Reply::Read { offset_bytes: 0, samples: 0, record: &record(&[]) }, sequence + 1)
    });
    t("samples in the record", |sequence| {
        frame(&Reply::Read { offset_bytes: 0, samples: 0, record: &record(&[1]) }, sequence)
    });
    t("to another request", |sequence| frame(&Reply::Attached, sequence));
    t("longer than a frame may be", |_| u32::MAX.to_le_bytes().to_vec());
    t("no such reply", |_| vec![9, 0, 0, 0, 77, 1, 0, 0, 0, 0, 0, 0, 0]);
    t("cut short", |_| vec![1, 0, 0, 0, 3]);
    for bytes in [b"".to_vec(), vec![0; 7], vec![255; 40], record(&[])[..20].to_vec()] {
        t("", move |sequence| {
            frame(&Reply::Read { offset_bytes: 0, samples: 0, record: &bytes }, sequence)
        });
    }
    // Every byte of a good record, changed: refused or another read, never a panic.
    let good = record(&[]);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x81;
        let mut channel = channel_to(SOON, move |sequence, _| {
            Some(frame(&Reply::Read { offset_bytes: 0, samples: 0, record: &bytes }, sequence))
        });
        let _ = channel.read(0, &SignalHeader::default(), &mut SignalRead::default());
    }
}

#[test]
fn headers_and_names_that_are_none_are_refused() {
    let mut header = Vec::new();
    append_binary(&SignalHeader::default(), COMPRESSION, &mut header).unwrap();
    let request = Request::Open { path: b"x", options: Fast5Options::default() };
    let open = |header: Vec<u8>, names: Vec<u8>| {
        let answer = move |sequence, _: &File| {
            Some(frame(&Reply::Opened { header: &header, names: &names }, sequence))
        };
        channel_to(SOON, answer).open(&request)
    };
    assert!(open(header.clone(), vec![1, 0, 0, 0, b'r']).is_ok());
    assert!(matches!(open(header.clone(), vec![1, 0, 0, 0]), Err(ChannelError::Wrong(_))));
    assert!(matches!(open(b"BLOW5".to_vec(), vec![]), Err(ChannelError::Wrong(_))));
    assert!(matches!(open(header[..60].to_vec(), vec![]), Err(ChannelError::Wrong(_))));
}

#[test]
fn a_worker_that_hangs_is_given_up_in_time() {
    let started = Instant::now();
    let timeout = Duration::from_millis(200);
    let mut silent = channel_to(timeout, |_, _| Some(Vec::new()));
    assert!(matches!(read_with(&mut silent), Err(ChannelError::TimedOut(_))));
    // One that sends a byte now and then does not get more time for it.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let drip = std::thread::spawn(move || {
        for byte in [40_u8, 0, 0, 0].into_iter().chain(std::iter::repeat_n(0, 400)) {
            if (&theirs).write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let mut slow = Channel::new(ours, sys::shared_memory().unwrap(), timeout).unwrap();
    assert!(matches!(read_with(&mut slow), Err(ChannelError::TimedOut(_))));
    drop(slow);
    drip.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_worker_that_leaves_is_noticed_at_once() {
    let mut gone = channel_to(SOON, |_, _| None);
    assert!(matches!(read_with(&mut gone), Err(ChannelError::Closed(_))));
    let mut again = channel_to(SOON, |_, _| None);
    let _ = read_with(&mut again);
    // Writing to it does not raise SIGPIPE but fails.
    assert!(matches!(read_with(&mut again), Err(ChannelError::Closed(_))));
}

/// A pool whose workers are shell scripts.
fn scripted(script: &str, max_deaths: u64) -> Arc<Fast5Pool> {
    Arc::new(Fast5Pool::new(Fast5PoolOptions {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into(), "worker".into()],
        timeout: Duration::from_millis(500),
        max_deaths,
    }))
}

fn open_error(pool: &Arc<Fast5Pool>) -> String {
    PooledFile::open(pool, Path::new("x.fast5"), Fast5Options::default()).err().unwrap()
}

#[test]
fn how_a_worker_ended_is_reported() {
    assert_eq!(open_error(&scripted("kill -9 $$", 9)), "its worker process was killed by signal 9");
    assert_eq!(
        open_error(&scripted("kill -11 $$", 9)),
        "its worker process was killed by signal 11"
    );
    assert_eq!(open_error(&scripted("exit 3", 9)), "its worker process ended with exit code 3");
    let hangs = open_error(&scripted("sleep 100", 9));
    assert!(hangs.contains("no answer within 0.5 s"), "{hangs}");
    let noise = open_error(&scripted("head -c 100000 /dev/zero | tr '\\0' x; sleep 100", 9));
    assert!(noise.contains("wrong answer"), "{noise}");
    let pool = Arc::new(Fast5Pool::new(Fast5PoolOptions {
        program: "/none/such".into(),
        arguments: Vec::new(),
        timeout: SOON,
        max_deaths: 1,
    }));
    assert!(open_error(&pool).contains("no worker process can be started"));
}

#[test]
fn workers_are_not_replaced_without_end() {
    let pool = scripted("exit 1", 3);
    let errors: Vec<String> = (0..4).map(|_| open_error(&pool)).collect();
    assert!(errors[0].contains("exit code 1"), "{errors:?}");
    assert!(errors[3].contains("no more are started"), "{errors:?}");
    assert_eq!(pool.deaths(), 4);
}

#[test]
fn a_bad_file_is_an_answer_and_requests_in_the_wrong_order_are_an_end() {
    let shared = sys::shared_memory().unwrap();
    let mut requests = Vec::new();
    let mut push = |request: Request<'_>, sequence| {
        let mut out = Vec::new();
        request.write(sequence, &mut out).unwrap();
        requests.extend(out);
    };
    push(Request::Open { path: b"/none", options: Fast5Options::default() }, 1);
    push(Request::Open { path: b"/dev/null", options: Fast5Options::default() }, 2);
    push(Request::Read { index: 0 }, 3);
    let mut output = Vec::new();
    assert!(serve::<Hdf5File>(&requests[..], &mut output, &shared).is_err());
    let (mut input, mut frame) = (&output[..], Vec::new());
    for sequence in 1..=2 {
        assert!(protocol::read_frame(&mut input, &mut frame).unwrap());
        let parsed = Reply::parse(&frame).unwrap();
        assert!(matches!(parsed, (of, Reply::Failed { .. }) if of == sequence), "{parsed:?}");
    }
    assert!(!protocol::read_frame(&mut input, &mut frame).unwrap());
}
