//! Values as bytes and back: what a run writes down so that another one can go on from there.
//!
//! The layout is that of the fields, little-endian, counts before what varies in number. It
//! says nothing of itself: whoever keeps such bytes keeps a version and a checksum next to them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::bgzf::VirtualOffset;

/// The bytes are not those of the value that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what was kept of the run is malformed")]
pub struct MalformedState;

/// A value that can be written down; loading gives what was saved.
pub trait Persist: Sized {
    /// Appends the value to `out`.
    fn save(&self, out: &mut Vec<u8>);

    /// Takes the value off the front of `bytes`.
    ///
    /// # Errors
    /// Bytes that end too early, or say what the value cannot be.
    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState>;

    /// The value's bytes alone.
    fn to_state(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.save(&mut out);
        out
    }

    /// The value of which these are all the bytes.
    ///
    /// # Errors
    /// As [`Persist::load`], and bytes that are left over.
    fn from_state(mut bytes: &[u8]) -> Result<Self, MalformedState> {
        let value = Self::load(&mut bytes)?;
        if bytes.is_empty() { Ok(value) } else { Err(MalformedState) }
    }
}

/// Implements [`Persist`] for a struct by its fields, all of which must be named; in the module
/// that may see them.
#[macro_export]
macro_rules! persist_fields {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::Persist for $type {
            fn save(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::Persist::save($field, out);)*
            }

            fn load(bytes: &mut &[u8]) -> Result<Self, $crate::MalformedState> {
                Ok(Self { $($field: $crate::Persist::load(bytes)?),* })
            }
        }
    };
}

macro_rules! state_of_numbers {
    ($($number:ty),*) => {$(
        impl Persist for $number {
            fn save(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
                let (number, rest) = bytes.split_first_chunk().ok_or(MalformedState)?;
                *bytes = rest;
                Ok(Self::from_le_bytes(*number))
            }
        }
    )*};
}

state_of_numbers!(u8, u16, u32, u64, i32, i64);

impl Persist for usize {
    fn save(&self, out: &mut Vec<u8>) {
        (*self as u64).save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Self::try_from(u64::load(bytes)?).map_err(|_| MalformedState)
    }
}

impl Persist for bool {
    fn save(&self, out: &mut Vec<u8>) {
        u8::from(*self).save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        match u8::load(bytes)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(MalformedState),
        }
    }
}

impl Persist for VirtualOffset {
    fn save(&self, out: &mut Vec<u8>) {
        self.raw().save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        u64::load(bytes).map(Self::from_raw)
    }
}

impl<T: Persist> Persist for Vec<T> {
    fn save(&self, out: &mut Vec<u8>) {
        self.len().save(out);
        self.iter().for_each(|value| value.save(out));
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let count = usize::load(bytes)?;
        // Memory follows what is there, not what is claimed.
        let mut values = Self::with_capacity(count.min(bytes.len() / size_of::<T>().max(1)));
        for _ in 0..count {
            values.push(T::load(bytes)?);
        }
        Ok(values)
    }
}

impl Persist for Box<[u8]> {
    fn save(&self, out: &mut Vec<u8>) {
        self.len().save(out);
        out.extend_from_slice(self);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let count = usize::load(bytes)?;
        let (value, rest) = bytes.split_at_checked(count).ok_or(MalformedState)?;
        *bytes = rest;
        Ok(value.into())
    }
}

impl Persist for String {
    fn save(&self, out: &mut Vec<u8>) {
        self.len().save(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let text = Box::<[u8]>::load(bytes)?;
        Self::from_utf8(text.into_vec()).map_err(|_| MalformedState)
    }
}

impl Persist for PathBuf {
    fn save(&self, out: &mut Vec<u8>) {
        use std::os::unix::ffi::OsStrExt;
        let text = self.as_os_str().as_bytes();
        text.len().save(out);
        out.extend_from_slice(text);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        use std::os::unix::ffi::OsStringExt;
        let text = Box::<[u8]>::load(bytes)?;
        Ok(std::ffi::OsString::from_vec(text.into_vec()).into())
    }
}

impl<T: Persist, const N: usize> Persist for [T; N] {
    fn save(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.save(out));
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let mut values = Vec::with_capacity(N);
        for _ in 0..N {
            values.push(T::load(bytes)?);
        }
        values.try_into().map_err(|_| MalformedState)
    }
}

impl<T: Persist> Persist for Option<T> {
    fn save(&self, out: &mut Vec<u8>) {
        self.is_some().save(out);
        self.iter().for_each(|value| value.save(out));
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        bool::load(bytes)?.then(|| T::load(bytes)).transpose()
    }
}

impl<A: Persist, B: Persist> Persist for (A, B) {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
        self.1.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Ok((A::load(bytes)?, B::load(bytes)?))
    }
}

impl<A: Persist, B: Persist, C: Persist> Persist for (A, B, C) {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
        self.1.save(out);
        self.2.save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Ok((A::load(bytes)?, B::load(bytes)?, C::load(bytes)?))
    }
}

impl<K: Persist + Ord, V: Persist> Persist for BTreeMap<K, V> {
    fn save(&self, out: &mut Vec<u8>) {
        self.len().save(out);
        for (key, value) in self {
            key.save(out);
            value.save(out);
        }
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Ok(Vec::load(bytes)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Default)]
    struct Sample {
        numbers: Vec<u64>,
        name: String,
        place: Option<(u32, i64)>,
        map: BTreeMap<u32, Vec<[u16; 3]>>,
        path: PathBuf,
    }

    persist_fields!(Sample { numbers, name, place, map, path });

    fn samples() -> impl Strategy<Value = Sample> {
        let map = prop::collection::btree_map(any::<u32>(), any::<Vec<[u16; 3]>>(), 0..5);
        (any::<Vec<u64>>(), any::<String>(), any::<Option<(u32, i64)>>(), map).prop_map(
            |(numbers, name, place, map)| {
                let path = PathBuf::from(&name);
                Sample { numbers, name, place, map, path }
            },
        )
    }

    proptest! {
        #[test]
        fn loading_inverts_saving_and_a_cut_is_seen(
            sample in samples(),
            cut in any::<prop::sample::Index>(),
        ) {
            let bytes = sample.to_state();
            prop_assert_eq!(Sample::from_state(&bytes), Ok(sample));
            let cut = &bytes[..cut.index(bytes.len())];
            prop_assert_eq!(Sample::from_state(cut), Err(MalformedState));
        }

        #[test]
        fn foreign_bytes_are_refused_or_loaded(bytes in any::<Vec<u8>>()) {
            let mut rest = &bytes[..];
            if let Ok(sample) = Sample::load(&mut rest) {
                prop_assert_eq!(Sample::from_state(&sample.to_state()), Ok(sample));
            }
        }
    }

    #[test]
    fn what_is_claimed_takes_no_memory() {
        let claim = u64::MAX.to_state();
        assert_eq!(Vec::<u64>::from_state(&claim), Err(MalformedState));
        assert_eq!(Box::<[u8]>::from_state(&claim), Err(MalformedState));
        assert_eq!(String::from_state(&claim), Err(MalformedState));
        assert_eq!(bool::from_state(&[2]), Err(MalformedState));
        assert_eq!(u8::from_state(&[2, 3]), Err(MalformedState));
    }
}
