//! Read ids of POD5: UUIDs, 16 bytes in the file and 36 characters in text (RFC 9562, section 4).

/// A UUID in text, in lower case.
pub(super) fn text(uuid: [u8; 16]) -> [u8; 36] {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let mut out = [b'-'; 36];
    let places = (0..36).filter(|place| ![8, 13, 18, 23].contains(place));
    let digits = uuid.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    places.zip(digits).for_each(|(place, digit)| out[place] = HEX[usize::from(digit)]);
    out
}

/// The UUID that a text is, in either case; `None` for any other text.
pub(super) fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut uuid = [0; 16];
    let mut digits = 0;
    for (place, &character) in text.iter().enumerate() {
        if [8, 13, 18, 23].contains(&place) {
            if character != b'-' {
                return None;
            }
            continue;
        }
        let digit = char::from(character).to_digit(16)? as u8;
        uuid[digits / 2] |= if digits % 2 == 0 { digit << 4 } else { digit };
        digits += 1;
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_usual_form_is_a_uuid() {
        let uuid = 0x0000_173c_bf67_44e7_9a9c_1ad0_bc72_8e74_u128.to_be_bytes();
        let usual = b"0000173c-bf67-44e7-9a9c-1ad0bc728e74";
        assert_eq!(&text(uuid), usual);
        assert_eq!(parse(&usual.to_ascii_uppercase()), Some(uuid));
        for odd in [
            b"".as_slice(),
            b"0000173cbf6744e79a9c1ad0bc728e74",
            b"0000173c-bf67-44e7-9a9c-1ad0bc728e7g",
            b"0000173c+bf67-44e7-9a9c-1ad0bc728e74",
            b"0000173c-bf67-44e7-9a9c-1ad0bc728e740",
        ] {
            assert_eq!(parse(odd), None);
        }
    }

    proptest! {
        #[test]
        fn parsing_inverts_writing(uuid in any::<[u8; 16]>()) {
            prop_assert_eq!(parse(&text(uuid)), Some(uuid));
        }
    }
}
