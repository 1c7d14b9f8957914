//! Read ids that are UUIDs: 16 bytes, or 36 characters in text (RFC 9562, section 4).

/// A UUID.
pub(crate) type Uuid = [u8; 16];

/// A UUID in text, `8-4-4-4-12` digits in lower case.
pub(crate) fn text(uuid: Uuid) -> [u8; 36] {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let mut out = [b'-'; 36];
    let places = (0..36).filter(|place| ![8, 13, 18, 23].contains(place));
    let digits = uuid.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    places.zip(digits).for_each(|(place, digit)| out[place] = HEX[usize::from(digit)]);
    out
}

/// The UUID whose [`text`] this is; `None` for any other spelling.
pub(crate) fn parse(spelled: &[u8]) -> Option<Uuid> {
    let digits = spelled.iter().filter(|&&letter| letter != b'-').map(|&letter| digit(letter));
    let mut uuid: Uuid = [0; 16];
    for (place, digit) in digits.enumerate() {
        *uuid.get_mut(place / 2)? |= digit? << (4 * (1 - place % 2));
    }
    (text(uuid) == spelled).then_some(uuid)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_usual_spelling_is_a_uuid() {
        let uuid = 0x0000_173c_bf67_44e7_9a9c_1ad0_bc72_8e74_u128.to_be_bytes();
        assert_eq!(&text(uuid), b"0000173c-bf67-44e7-9a9c-1ad0bc728e74");
        for odd in [
            b"".as_slice(),
            b"0000173C-bf67-44e7-9a9c-1ad0bc728e74",
            b"0000173cbf6744e79a9c1ad0bc728e74",
            b"0000173c-bf67-44e7-9a9c-1ad0bc728e7g",
            b"0000173c+bf67-44e7-9a9c-1ad0bc728e74",
            b"0000173c04f67-44e7-9a9c-1ad0bc728e74",
            b"0000173c-bf67-44e7-9a9c-1ad0bc728e7",
            b"0000173c-bf67-44e7-9a9c-1ad0bc728e740",
        ] {
            assert_eq!(parse(odd), None);
        }
    }

    proptest! {
        #[test]
        fn parsing_inverts_writing(uuid in any::<Uuid>()) {
            prop_assert_eq!(parse(&text(uuid)), Some(uuid));
        }
    }
}
