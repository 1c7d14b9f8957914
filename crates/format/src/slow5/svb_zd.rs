//! svb-zd: differences of neighbouring samples, zigzag-coded, in StreamVByte.
//!
//! Source: SLOW5 specification 1.0.0, signal compression 1. A frame is `u32 count`, then the
//! [`stream_vbyte`] coding of as many numbers. Differences are of 17 bits, so that a number may
//! take three bytes; sums are cut to 16 bits, which makes 16-bit arithmetic enough to decode.

use super::SignalError;
use super::simd::{self, Done};
use super::stream_vbyte::{self, Coded, Numbers};

/// Appends the frame of `samples`, with the machine's vector instructions where it has them.
///
/// # Errors
/// [`SignalError::TooManySamples`] when their number does not fit 32 bits.
pub fn encode(samples: &[i16], out: &mut Vec<u8>) -> Result<(), SignalError> {
    encode_by(simd::encode_differences, samples, out)
}

/// As [`encode`], sample by sample: the oracle of what vectors do.
///
/// # Errors
/// As [`encode`].
#[cfg(test)]
fn encode_scalar(samples: &[i16], out: &mut Vec<u8>) -> Result<(), SignalError> {
    encode_by(|_, _, _, _| Done::default(), samples, out)
}

/// Samples that are coded at a time: little enough for the room they may need to stay in the
/// nearest cache.
const BLOCK: usize = 1024;
/// Samples that are coded one by one where vectors cannot.
const GROUP: usize = 8;

/// Encodes with `kernel`, which is given samples, the one before, and room for keys and data; it
/// does as many samples as it likes, a multiple of [`GROUP`].
fn encode_by(
    kernel: impl Fn(&[i16], i16, &mut [u8], &mut [u8]) -> Done,
    samples: &[i16],
    out: &mut Vec<u8>,
) -> Result<(), SignalError> {
    let count =
        u32::try_from(samples.len()).map_err(|_| SignalError::TooManySamples(samples.len()))?;
    out.extend_from_slice(&count.to_le_bytes());
    let keys_at = out.len();
    let data_at = keys_at + stream_vbyte::key_bytes(samples.len());
    out.resize(data_at, 0);
    let mut previous = 0;
    for (index, block) in samples.chunks(BLOCK).enumerate() {
        let end = out.len();
        // Three bytes for a difference of 17 bits, and what is written after the last one.
        out.resize(end + 3 * block.len() + simd::WRITTEN_BYTES, 0);
        let (keys, data) = out[keys_at..].split_at_mut(data_at - keys_at);
        let (keys, data) = (&mut keys[index * (BLOCK / 4)..], &mut data[end - data_at..]);
        let data_bytes = encode_block(&kernel, block, previous, keys, data);
        out.truncate(end + data_bytes);
        previous = block.last().copied().unwrap_or(previous);
    }
    Ok(())
}

/// Codes a block after the sample `previous`; gives its bytes of data.
fn encode_block(
    kernel: impl Fn(&[i16], i16, &mut [u8], &mut [u8]) -> Done,
    samples: &[i16],
    mut previous: i16,
    keys: &mut [u8],
    data: &mut [u8],
) -> usize {
    let (mut done, mut at) = (0, 0);
    loop {
        let more = kernel(&samples[done..], previous, &mut keys[done / 4..], &mut data[at..]);
        (done, at) = (done + more.samples, at + more.data_bytes);
        previous = if more.samples > 0 { samples[done - 1] } else { previous };
        let group = &samples[done..samples.len().min(done + GROUP)];
        if group.is_empty() {
            return at;
        }
        let numbers = group.iter().map(|&sample| {
            let difference = i32::from(sample) - i32::from(previous);
            previous = sample;
            ((difference << 1) ^ (difference >> 31)) as u32
        });
        at += stream_vbyte::put(numbers, &mut keys[done / 4..], &mut data[at..]);
        done += group.len();
    }
}

/// Number of samples that the frame states, and the bytes after it.
///
/// # Errors
/// [`SignalError::Truncated`] when there is none, [`SignalError::CountTooLarge`] when the frame
/// cannot hold as many.
pub fn count(frame: &[u8]) -> Result<(usize, &[u8]), SignalError> {
    let (count, coded) = frame.split_first_chunk().ok_or(SignalError::Truncated)?;
    let count = u32::from_le_bytes(*count) as usize;
    stream_vbyte::split(count, coded)?;
    Ok((count, coded))
}

/// Replaces `samples` by those of the frame, with the machine's vector instructions where it has
/// them.
///
/// # Errors
/// When the frame is not of the form above, to its last byte; `samples` is undefined then.
pub fn decode(frame: &[u8], samples: &mut Vec<i16>) -> Result<(), SignalError> {
    decode_by(simd::decode_differences, frame, samples)
}

/// As [`decode`], of a coding that is stored without its count.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_coded(
    count: usize,
    coded: &[u8],
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    decode_coded_by(simd::decode_differences, count, coded, samples)
}

/// As [`decode`], one number after the other: the oracle.
///
/// # Errors
/// As [`decode`].
pub fn decode_scalar(frame: &[u8], samples: &mut Vec<i16>) -> Result<(), SignalError> {
    decode_by(|_, _, _| Done::default(), frame, samples)
}

/// Decodes with `kernel`, which does as many samples as it likes, a multiple of four.
fn decode_by(
    kernel: impl Fn(&[u8], &[u8], &mut [i16]) -> Done,
    frame: &[u8],
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    let (count, coded) = count(frame)?;
    decode_coded_by(kernel, count, coded, samples)
}

fn decode_coded_by(
    kernel: impl Fn(&[u8], &[u8], &mut [i16]) -> Done,
    count: usize,
    coded: &[u8],
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    let Coded { keys, data } = stream_vbyte::split(count, coded)?;
    samples.resize(count, 0); // without clearing: what is there is overwritten
    let Done { samples: done, data_bytes: at } = kernel(keys, data, samples);
    let mut numbers = Numbers { keys, data, index: done, at };
    let mut previous = if done == 0 { 0 } else { samples[done - 1] };
    for sample in &mut samples[done..] {
        previous = previous.wrapping_add(simd::unzigzag(numbers.next()?));
        *sample = previous;
    }
    match data.len() - numbers.at {
        0 => Ok(()),
        rest => Err(SignalError::TrailingBytes(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes, decodes in both ways, and gives the frame.
    fn round_trip(samples: &[i16]) -> Vec<u8> {
        let mut frame = Vec::new();
        encode(samples, &mut frame).unwrap();
        let mut plain = b"front".to_vec();
        encode_scalar(samples, &mut plain).unwrap();
        assert_eq!(plain[5..], frame);
        let mut back = vec![3; 5];
        decode(&frame, &mut back).unwrap();
        assert_eq!(back, samples);
        back.clear();
        decode_scalar(&frame, &mut back).unwrap();
        assert_eq!(back, samples);
        frame
    }

    #[test]
    fn frames_are_as_specified() {
        fn t(samples: &[i16], expected: &[u8]) {
            assert_eq!(round_trip(samples), expected);
        }
        t(&[], &[0, 0, 0, 0]);
        t(&[0], &[1, 0, 0, 0, 0, 0]);
        t(&[-1, 1], &[2, 0, 0, 0, 0, 1, 4]);
        // A difference of 17 bits takes three bytes.
        t(&[i16::MIN, i16::MAX], &[2, 0, 0, 0, 0b10_01, 255, 255, 254, 255, 1]);
        t(&[i16::MAX, i16::MIN], &[2, 0, 0, 0, 0b10_01, 254, 255, 253, 255, 1]);
    }

    #[test]
    fn a_frame_cut_anywhere_is_refused() {
        let samples: Vec<i16> = (0..60).map(|i| if i % 7 == 0 { 400 } else { i }).collect();
        let frame = round_trip(&samples);
        let mut out = Vec::new();
        for cut in 0..frame.len() {
            assert!(decode(&frame[..cut], &mut out).is_err(), "cut at {cut}");
        }
        let longer = [&frame[..], b"\0"].concat();
        assert_eq!(decode(&longer, &mut out), Err(SignalError::TrailingBytes(1)));
        let claims = [&[255; 4], &frame[4..]].concat();
        assert_eq!(decode(&claims, &mut out), Err(SignalError::CountTooLarge(0xFFFF_FFFF)));
    }

    /// Samples whose neighbours are near, far, or anything.
    pub(crate) fn signal() -> impl Strategy<Value = Vec<i16>> {
        let step = prop_oneof![
            20 => -90_i16..90,
            3 => -700_i16..700,
            1 => any::<i16>(),
        ];
        prop::collection::vec(step, 0..200).prop_map(|steps| {
            let mut level = 500_i16;
            steps
                .into_iter()
                .map(|step| {
                    level = level.wrapping_add(step);
                    level
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn decode_inverts_encode(samples in signal()) {
            round_trip(&samples);
        }

        #[test]
        fn blocks_join(samples in signal(), times in 1_usize..30, far in any::<usize>()) {
            let mut samples = samples.repeat(times);
            if let Some(place) = far.checked_rem(samples.len()) {
                samples[place] = samples[place].wrapping_add(i16::MIN);
            }
            round_trip(&samples);
        }

        #[test]
        fn vectors_do_as_the_oracle(count in 0_u32..120,
            coded in prop::collection::vec(any::<u8>(), 0..400), narrow: bool) {
            let mut coded = coded;
            if narrow {
                let keys = stream_vbyte::key_bytes(count as usize).min(coded.len());
                coded[..keys].iter_mut().for_each(|key| *key &= 0x55);
            }
            let frame = [&count.to_le_bytes()[..], &coded].concat();
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            let outcome = decode_scalar(&frame, &mut slow);
            prop_assert_eq!(decode(&frame, &mut fast), outcome);
            if outcome.is_ok() {
                prop_assert_eq!(&fast, &slow);
            }
            // Cut to its length where it has bytes too many, the frame is good.
            if let Err(SignalError::TrailingBytes(rest)) = outcome {
                let frame = &frame[..frame.len() - rest];
                prop_assert_eq!(decode(frame, &mut fast), Ok(()));
                prop_assert_eq!(decode_scalar(frame, &mut slow), Ok(()));
                prop_assert_eq!(&fast, &slow);
            }
        }
    }
}
