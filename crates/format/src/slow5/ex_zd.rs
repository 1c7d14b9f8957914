//! ex-zd: differences of neighbouring samples, zigzag-coded, a byte each; what does not fit a byte
//! is apart. Samples whose low bits are all zero are shifted first.
//!
//! Source: Gamaarachchi et al., Genome Research 35 (2025) 1574, and slow5lib, which defines the
//! bytes: `u8` version 0, `u64` samples, `u8` shift q of 0 to 5, `u16` first number, `u32` number
//! of exceptions; with more than one exception `u32` length and StreamVByte of their positions
//! (first position, then distance less one), `u32` length and StreamVByte of their values less
//! 256; with one `u32` position and `u32` value less 256; then the numbers of one byte in order.
//! Positions count from the second sample. Arithmetic is modulo 2^16.
//!
//! No samples are a fixed part of zeros here. slow5lib cannot write them, and reads any frame as
//! one sample at least.

use super::{SignalError, simd, stream_vbyte};

/// Fixed part of a frame: version, samples, shift, first number, number of exceptions.
const FIXED_BYTES: usize = 16;
/// Most bits that samples are shifted by.
const MAX_SHIFT: u8 = 5;
/// The smallest number that is an exception.
const EXCEPTION: u32 = 256;

/// Buffers of encoding and decoding.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    positions: Vec<u32>,
    values: Vec<u32>,
    bytes: Vec<u8>,
}

/// Appends the frame of `samples`.
///
/// # Errors
/// [`SignalError::TooManySamples`] when their number does not fit 32 bits.
pub fn encode(
    samples: &[i16],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), SignalError> {
    if u32::try_from(samples.len()).is_err() {
        return Err(SignalError::TooManySamples(samples.len()));
    }
    let shift = common_shift(samples);
    let Scratch { positions, values, bytes } = scratch;
    positions.clear();
    values.clear();
    bytes.clear();
    let mut numbers = numbers(samples, shift);
    let first = numbers.next().unwrap_or(0);
    for (position, number) in (0_u32..).zip(numbers) {
        match u8::try_from(number) {
            Ok(byte) => bytes.push(byte),
            Err(_) => {
                positions.push(position);
                values.push(u32::from(number) - EXCEPTION);
            }
        }
    }
    out.push(0);
    out.extend_from_slice(&(samples.len() as u64).to_le_bytes());
    out.push(shift);
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&(positions.len() as u32).to_le_bytes());
    match (&positions[..], &values[..]) {
        ([], _) => {}
        ([position], [value]) => {
            out.extend_from_slice(&position.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
        }
        _ => {
            let mut next = 0;
            let distances = positions.iter().map(|&position| {
                let distance = position - next;
                next = position + 1;
                distance
            });
            append_counted(positions.len(), distances, out);
            append_counted(values.len(), values.iter().copied(), out);
        }
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a StreamVByte coding preceded by its length.
fn append_counted(count: usize, values: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    stream_vbyte::encode(count, values, out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// The most bits, up to [`MAX_SHIFT`], that are zero at the low end of all samples.
fn common_shift(samples: &[i16]) -> u8 {
    let set = samples.iter().fold(0, |set, &sample| set | sample);
    if samples.is_empty() { 0 } else { set.trailing_zeros().min(u32::from(MAX_SHIFT)) as u8 }
}

/// Zigzag of the differences of shifted samples, of the first to 0.
fn numbers(samples: &[i16], shift: u8) -> impl Iterator<Item = u16> {
    let mut previous = 0_i16;
    samples.iter().map(move |&sample| {
        let difference = (sample >> shift).wrapping_sub(previous);
        previous = sample >> shift;
        ((difference << 1) ^ (difference >> 15)) as u16
    })
}

/// The fixed part of a frame, checked, and what follows it.
struct Frame<'a> {
    samples: usize,
    shift: u8,
    first: u16,
    exceptions: usize,
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    fn read(frame: &'a [u8]) -> Result<Self, SignalError> {
        match frame.first() {
            Some(0) | None => {}
            Some(&version) => return Err(SignalError::ExZdVersion(version)),
        }
        let (fixed, rest) = frame.split_at_checked(FIXED_BYTES).ok_or(SignalError::Truncated)?;
        let stated = u64::from_le_bytes([
            fixed[1], fixed[2], fixed[3], fixed[4], fixed[5], fixed[6], fixed[7], fixed[8],
        ]);
        let exceptions = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]);
        // An exception takes more than a byte as well, so the rest bounds both counts.
        let samples = usize::try_from(stated)
            .ok()
            .filter(|&samples| samples.saturating_sub(1) <= rest.len())
            .ok_or(SignalError::CountTooLarge(stated))?;
        if exceptions as usize > samples.saturating_sub(1) {
            return Err(SignalError::CountTooLarge(exceptions.into()));
        }
        let shift = fixed[9];
        if shift > MAX_SHIFT {
            return Err(SignalError::ExZdShift(shift));
        }
        let first = u16::from_le_bytes([fixed[10], fixed[11]]);
        Ok(Self { samples, shift, first, exceptions: exceptions as usize, rest })
    }
}

/// Number of samples that the frame states.
///
/// # Errors
/// As [`decode`], as far as the fixed part shows.
pub fn count(frame: &[u8]) -> Result<usize, SignalError> {
    Ok(Frame::read(frame)?.samples)
}

/// Replaces `samples` by those of the frame, with the machine's vector instructions where it has
/// them.
///
/// # Errors
/// When the frame is not of the form above, to its last byte; `samples` is undefined then.
pub fn decode(
    frame: &[u8],
    scratch: &mut Scratch,
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    decode_by(simd::accumulate, frame, scratch, samples)
}

/// As [`decode`], one sample after the other: the oracle.
///
/// # Errors
/// As [`decode`].
pub fn decode_scalar(
    frame: &[u8],
    scratch: &mut Scratch,
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    decode_by(|_, previous, _| (0, previous), frame, scratch, samples)
}

/// Decodes with `kernel`, which does as many samples as it likes and returns how many, and their
/// sum.
fn decode_by(
    kernel: impl Fn(&mut [i16], i16, u32) -> (usize, i16),
    bytes: &[u8],
    scratch: &mut Scratch,
    samples: &mut Vec<i16>,
) -> Result<(), SignalError> {
    let frame = Frame::read(bytes)?;
    let plain = read_exceptions(&frame, scratch)?;
    let plain_bytes = (frame.samples.saturating_sub(1)) - frame.exceptions;
    if plain.len() < plain_bytes {
        return Err(SignalError::Truncated);
    }
    if plain.len() > plain_bytes {
        return Err(SignalError::TrailingBytes(plain.len() - plain_bytes));
    }
    samples.resize(frame.samples, 0); // without clearing: what is there is overwritten
    let Some((first, others)) = samples.split_first_mut() else { return Ok(()) };
    *first = frame.first as i16;
    place(plain, scratch, others)?;
    let shift = u32::from(frame.shift);
    let (done, mut sum) = kernel(samples, 0, shift);
    for sample in &mut samples[done..] {
        let number = *sample as u16;
        let difference = ((number >> 1) as i16) ^ -((number & 1) as i16);
        sum = sum.wrapping_add(difference);
        *sample = sum << shift;
    }
    Ok(())
}

/// Positions and values of the exceptions into the scratch; gives the bytes after them.
fn read_exceptions<'a>(frame: &Frame<'a>, scratch: &mut Scratch) -> Result<&'a [u8], SignalError> {
    let Scratch { positions, values, .. } = scratch;
    positions.clear();
    values.clear();
    match frame.exceptions {
        0 => Ok(frame.rest),
        1 => {
            let (position, rest) = split_u32(frame.rest)?;
            let (value, rest) = split_u32(rest)?;
            positions.push(position);
            values.push(value);
            Ok(rest)
        }
        exceptions => {
            let mut rest = frame.rest;
            stream_vbyte::decode(exceptions, take_counted(&mut rest)?, positions)?;
            stream_vbyte::decode(exceptions, take_counted(&mut rest)?, values)?;
            let mut next = 0_u32;
            for (index, position) in positions.iter_mut().enumerate() {
                *position = next.checked_add(*position).ok_or(SignalError::ExZdPosition(index))?;
                next = position.checked_add(1).ok_or(SignalError::ExZdPosition(index))?;
            }
            Ok(rest)
        }
    }
}

fn split_u32(bytes: &[u8]) -> Result<(u32, &[u8]), SignalError> {
    let (value, rest) = bytes.split_first_chunk().ok_or(SignalError::Truncated)?;
    Ok((u32::from_le_bytes(*value), rest))
}

/// Takes bytes preceded by their number from the front of `rest`.
fn take_counted<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], SignalError> {
    let (length, after) = split_u32(rest)?;
    let (taken, after) = after.split_at_checked(length as usize).ok_or(SignalError::Truncated)?;
    *rest = after;
    Ok(taken)
}

/// Puts numbers of one byte and exceptions in their order. `plain` fills what the exceptions leave.
fn place(plain: &[u8], scratch: &Scratch, numbers: &mut [i16]) -> Result<(), SignalError> {
    let (mut from, mut at) = (0, 0);
    for (index, (&position, &value)) in scratch.positions.iter().zip(&scratch.values).enumerate() {
        let position = position as usize;
        // Positions rise; so many plain numbers may not be there where later ones are too far.
        if position >= numbers.len() || position - at > plain.len() - from {
            return Err(SignalError::ExZdPosition(index));
        }
        let value = value
            .checked_add(EXCEPTION)
            .and_then(|value| u16::try_from(value).ok())
            .ok_or(SignalError::ExZdValue(index))?;
        simd::widen(&plain[from..], &mut numbers[at..], position - at);
        from += position - at;
        numbers[position] = value as i16;
        at = position + 1;
    }
    simd::widen(&plain[from..], &mut numbers[at..], plain.len() - from);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(samples: &[i16]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(samples, &mut Scratch::default(), &mut out).unwrap();
        out
    }

    fn round_trip(samples: &[i16]) -> Vec<u8> {
        let frame = encoded(samples);
        let (mut scratch, mut back) = (Scratch::default(), vec![9; 3]);
        decode(&frame, &mut scratch, &mut back).unwrap();
        assert_eq!(back, samples);
        decode_scalar(&frame, &mut scratch, &mut back).unwrap();
        assert_eq!(back, samples);
        assert_eq!(count(&frame), Ok(samples.len()));
        frame
    }

    #[test]
    fn frames_are_as_specified() {
        fn t(samples: &[i16], expected: &[&[u8]]) {
            assert_eq!(round_trip(samples), expected.concat(), "{samples:?}");
        }
        let n = |n: u8| vec![0, n, 0, 0, 0, 0, 0, 0, 0];
        t(&[], &[&n(0), &[0, 0, 0, 0, 0, 0, 0]]);
        t(&[0], &[&n(1), &[5, 0, 0, 0, 0, 0, 0]]);
        t(&[-1], &[&n(1), &[0, 1, 0, 0, 0, 0, 0]]);
        t(&[500, 501, 499], &[&n(3), &[0, 0xE8, 3, 0, 0, 0, 0, 2, 3]]);
        // Shifted by three bits.
        t(&[8, 16, 0], &[&n(3), &[3, 2, 0, 0, 0, 0, 0, 2, 3]]);
        // One exception: its position and its value less 256.
        t(&[1, 0, 1000], &[&n(3), &[0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0xD0, 6, 0, 0, 1]]);
        // Differences are modulo 2^16.
        let far = [i16::MAX, i16::MIN];
        t(&far, &[&n(2), &[0, 0xFE, 0xFF, 0, 0, 0, 0, 2]]);
        // Two: positions 0 and 2, values 2000 and 1999, each less 256.
        t(
            &[1, 1001, 1000, 0],
            &[
                &n(4),
                &[0, 2, 0, 2, 0, 0, 0],
                &[3, 0, 0, 0, 0, 0, 1],
                &[5, 0, 0, 0, 0b0101, 0xD0, 6, 0xCF, 6],
                &[1],
            ],
        );
    }

    #[test]
    fn a_frame_cut_anywhere_is_refused() {
        for far in [0, 1, 5] {
            let samples: Vec<i16> =
                (0..40).map(|i| if i < far { i % 2 * 999 } else { i }).collect();
            let frame = round_trip(&samples);
            let (mut scratch, mut out) = (Scratch::default(), Vec::new());
            for cut in 0..frame.len() {
                assert!(decode(&frame[..cut], &mut scratch, &mut out).is_err(), "cut at {cut}");
            }
            let longer = [&frame[..], b"\0"].concat();
            assert_eq!(decode(&longer, &mut scratch, &mut out), Err(SignalError::TrailingBytes(1)));
        }
    }

    #[test]
    fn what_a_frame_claims_is_checked() {
        fn t(samples: &[i16], change: (usize, u8), expected: SignalError) {
            let mut frame = encoded(samples);
            frame[change.0] = change.1;
            let outcome = decode(&frame, &mut Scratch::default(), &mut Vec::new());
            assert_eq!(outcome, Err(expected), "{change:?}");
        }
        let one = [1, 0, 1000];
        t(&one, (0, 1), SignalError::ExZdVersion(1));
        t(&one, (9, 6), SignalError::ExZdShift(6));
        t(&one, (8, 1), SignalError::CountTooLarge((1 << 56) + 3));
        t(&one, (12, 3), SignalError::CountTooLarge(3));
        t(&one, (16, 2), SignalError::ExZdPosition(0));
        t(&one, (22, 1), SignalError::ExZdValue(0));
        t(&one, (23, 255), SignalError::ExZdValue(0));
        let two = [1, 1001, 1000, 0];
        t(&two, (22, 2), SignalError::ExZdPosition(1));
        t(&two, (16, 200), SignalError::Truncated);
    }

    /// Found by fuzzing: the first of five exceptions was the last number.
    #[test]
    fn exceptions_too_far_ahead_for_the_plain_numbers() {
        let frame = [
            &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0][..],
            &[3, 0, 0, 0, 0, 7, 5, 3, 0, 0, 0, 0, 1, 1],
            &[1, 2, 3, 4, 5, 6],
        ];
        let outcome = decode(&frame.concat(), &mut Scratch::default(), &mut Vec::new());
        assert_eq!(outcome, Err(SignalError::ExZdPosition(0)));
    }

    #[test]
    fn more_exceptions_than_sixteen_bits_count() {
        let samples: Vec<i16> = (0..70_000).map(|i| if i % 2 == 0 { 0 } else { 3001 }).collect();
        round_trip(&samples);
    }

    proptest! {
        #[test]
        fn decode_inverts_encode(steps in prop::collection::vec(
            prop_oneof![9 => -130_i16..130, 1 => any::<i16>()], 0..150), shift in 0_u32..8) {
            let mut level = 0_i16;
            let samples: Vec<i16> = steps.into_iter().map(|step| {
                level = level.wrapping_add(step);
                level << shift
            }).collect();
            round_trip(&samples);
        }
    }
}
