//! Options that are given.

/// The first that is given, of options with whether they are.
pub(crate) fn first_given(
    options: impl IntoIterator<Item = (&'static str, bool)>,
) -> Option<&'static str> {
    options.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
}
