//! StreamVByte for 16-bit numbers, as POD5 codes signal with it: each sample is the zigzag code of
//! its difference to the one before (wrapping, the first to 0), in one byte or two.
//!
//! `n` samples are `n / 8` key bytes, rounded up, and their data. Bit `i % 8` of key byte `i / 8`
//! says whether sample `i` has two bytes; bits past the last sample mean nothing. (D. Lemire, N.
//! Kurz, C. Rupp: "Stream VByte: faster byte-oriented integer compression", 2018; the 16-bit form
//! is that of the POD5 library.)

use super::simd::{self, Progress};

/// Why bytes are not `n` coded samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Svb16Error {
    /// The keys do not fit.
    #[error("{have_bytes} bytes cannot hold the keys of {samples} samples")]
    Keys {
        /// Bytes there are.
        have_bytes: usize,
        /// Samples that were expected.
        samples: usize,
    },
    /// Keys and data are of different length.
    #[error(
        "the keys of {samples} samples require {want_bytes} bytes of data, there are {have_bytes}"
    )]
    Data {
        /// Bytes of data that the keys ask for.
        want_bytes: usize,
        /// Bytes of data there are.
        have_bytes: usize,
        /// Samples that were expected.
        samples: usize,
    },
}

/// Bytes of the keys of `samples`.
#[must_use]
pub(crate) fn key_bytes(samples: usize) -> usize {
    samples.div_ceil(8)
}

/// Appends the `samples` that `coded` holds to `out`. On an error `out` is as it was.
///
/// # Errors
/// When `coded` is not exactly as long as its keys say. Nothing is allocated before that is known.
pub fn decode(coded: &[u8], samples: usize, out: &mut Vec<i16>) -> Result<(), Svb16Error> {
    let Coded { keys, data } = split(coded, samples)?;
    let start = out.len();
    out.resize(start + samples, 0);
    let done = simd::decode(keys, data, &mut out[start..]);
    decode_rest(keys, data, done, &mut out[start..]);
    Ok(())
}

/// Coded samples.
struct Coded<'a> {
    keys: &'a [u8],
    data: &'a [u8],
}

/// Keys and data, when they fit each other.
fn split(coded: &[u8], samples: usize) -> Result<Coded<'_>, Svb16Error> {
    let no_keys = Svb16Error::Keys { have_bytes: coded.len(), samples };
    let (keys, data) = coded.split_at_checked(key_bytes(samples)).ok_or(no_keys)?;
    let mut two_bytes = keys.iter().map(|key| key.count_ones() as usize).sum::<usize>();
    if let (Some(last), used @ 1..) = (keys.last(), samples % 8) {
        two_bytes -= (last >> used).count_ones() as usize;
    }
    let want_bytes = samples + two_bytes;
    match data.len() == want_bytes {
        true => Ok(Coded { keys, data }),
        false => Err(Svb16Error::Data { want_bytes, have_bytes: data.len(), samples }),
    }
}

/// The plain decoder, from where `done` is: the end of what SIMD leaves, and its oracle.
fn decode_rest(keys: &[u8], data: &[u8], done: Progress, out: &mut [i16]) {
    let mut previous = done.last;
    let mut data = data.get(done.data_bytes..).unwrap_or(&[]).iter();
    for (i, sample) in out.iter_mut().enumerate().skip(done.samples) {
        // `split` has seen that there are as many bytes as the keys ask for.
        let low = data.next().map_or(0, |&byte| u16::from(byte));
        let is_two = keys[i / 8] >> (i % 8) & 1 == 1;
        let high = if is_two { data.next().map_or(0, |&byte| u16::from(byte)) } else { 0 };
        let code = high << 8 | low;
        previous = previous.wrapping_add((code >> 1) ^ (code & 1).wrapping_neg());
        *sample = previous as i16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Test only: we write no POD5.
    pub(crate) fn encode(samples: &[i16]) -> Vec<u8> {
        let (mut keys, mut data) = (vec![0; key_bytes(samples.len())], Vec::new());
        let mut previous = 0;
        for (i, &sample) in samples.iter().enumerate() {
            let delta = (sample as u16).wrapping_sub(previous) as i16;
            let code = ((delta << 1) ^ (delta >> 15)) as u16;
            previous = sample as u16;
            data.push(code as u8);
            if code > 0xFF {
                keys[i / 8] |= 1 << (i % 8);
                data.push((code >> 8) as u8);
            }
        }
        keys.extend_from_slice(&data);
        keys
    }

    fn scalar(coded: &[u8], samples: usize) -> Result<Vec<i16>, Svb16Error> {
        let Coded { keys, data } = split(coded, samples)?;
        let mut out = vec![0; samples];
        decode_rest(keys, data, Progress::default(), &mut out);
        Ok(out)
    }

    #[test]
    fn small_cases_by_hand() {
        fn t(coded: &[u8], samples: usize, expected: Option<&[i16]>) {
            let mut out = vec![7];
            let decoded = decode(coded, samples, &mut out);
            let expected = expected.map(|samples| [&[7], samples].concat());
            assert_eq!(decoded.ok().map(|()| out.clone()), expected, "{coded:?} {samples}");
            assert!(decoded.is_ok() || out == [7]);
        }
        t(&[], 0, Some(&[]));
        t(&[0], 0, None);
        t(&[], 1, None);
        t(&[0, 2, 1, 0], 3, Some(&[1, 0, 0]));
        t(&[1, 0xFF, 0xFF], 1, Some(&[i16::MIN]));
        t(&[1, 0xFE, 0xFF], 1, Some(&[i16::MAX]));
        t(&[0xFF, 0xFE, 0xFF], 1, Some(&[i16::MAX]));
        t(&[1, 0xFE], 1, None);
        t(&[0, 0xFE, 0xFF], 1, None);
        // The difference wraps: from the highest to the lowest is one step.
        t(&[1, 0xFE, 0xFF, 2], 2, Some(&[i16::MAX, i16::MIN]));
        t(&[0; 9], usize::MAX, None);
    }

    /// Runs of small and of large steps, with extremes.
    fn samples() -> impl Strategy<Value = Vec<i16>> {
        let run = prop_oneof![
            prop::collection::vec(-100_i16..100, 0..60),
            prop::collection::vec(any::<i16>(), 0..60),
            prop::collection::vec(prop_oneof![Just(i16::MIN), Just(i16::MAX), Just(0)], 0..20),
        ];
        prop::collection::vec(run, 0..6).prop_map(|runs| runs.concat())
    }

    proptest! {
        #[test]
        fn decoding_inverts_coding(samples in samples()) {
            let coded = encode(&samples);
            let mut out = Vec::new();
            decode(&coded, samples.len(), &mut out).unwrap();
            prop_assert_eq!(&out, &samples);
            prop_assert_eq!(scalar(&coded, samples.len()).unwrap(), samples);
        }

        #[test]
        fn any_bytes_decode_as_the_plain_decoder_does(
            coded in prop::collection::vec(any::<u8>(), 0..200),
            samples in 0_usize..130,
        ) {
            let mut out = Vec::new();
            let decoded = decode(&coded, samples, &mut out).map(|()| out);
            prop_assert_eq!(decoded, scalar(&coded, samples));
        }

        #[test]
        fn any_keys_decode_as_the_plain_decoder_does(
            keys in prop::collection::vec(any::<u8>(), 0..40),
            missing in 0_usize..8,
            seed in prop::collection::vec(any::<u8>(), 640),
        ) {
            let samples = (keys.len() * 8).saturating_sub(missing);
            let keys = &keys[..key_bytes(samples)];
            let want = match split(keys, samples) {
                Err(Svb16Error::Data { want_bytes, .. }) => want_bytes,
                _ => 0,
            };
            let coded = [keys, &seed[..want]].concat();
            let mut out = Vec::new();
            decode(&coded, samples, &mut out).unwrap();
            prop_assert_eq!(out, scalar(&coded, samples).unwrap());
        }
    }
}
