//! A writer of `.npz` files, for tests of their reader.

/// An array: name, NumPy's type, shape, bytes.
pub(crate) type Array<'a> = (&'a str, &'a str, &'a str, Vec<u8>);

/// Text as `<U` of `width` letters has it.
pub(crate) fn ucs4(text: &str, width: usize) -> Vec<u8> {
    let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
    letters.take(width).flat_map(u32::to_le_bytes).collect()
}

/// The arrays of a model of all 2-mers: the level of rank r is r, its deviation r + 1.
pub(crate) fn two_mers(reversed: bool) -> Vec<Array<'static>> {
    let letters = ["A", "C", "G", "T"];
    let kmers = letters.iter().flat_map(|a| letters.map(|b| format!("{a}{b}")));
    let kmers = kmers.flat_map(|kmer| ucs4(&kmer, 5)).collect();
    let f32s = |add: f32| (0..16).flat_map(|row| (row as f32 + add).to_le_bytes()).collect();
    let f64 = |it: f64| it.to_le_bytes().to_vec();
    vec![
        ("kmer", "<U5", "(16,)", kmers),
        ("current.mean", "<f4", "(16,)", f32s(0.0)),
        ("current.stdv", "<f4", "(16,)", f32s(1.0)),
        ("_pa_mean", "<f8", "()", f64(10.0)),
        ("_pa_stdv", "<f8", "()", f64(2.0)),
        ("_reverse", "|b1", "()", vec![u8::from(reversed)]),
        ("_name", "<U9", "()", ucs4("dna_r9.4.1", 9)),
    ]
}

/// A file of these arrays.
pub(crate) fn npz(arrays: &[Array], deflated: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, kind, shape, data) in arrays {
        let header = format!(
            "{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}          \n"
        );
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        let plain = [b"\x93NUMPY\x01\0", length.as_slice(), header.as_bytes(), data].concat();
        let mut packed = plain.clone();
        if deflated {
            let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::best());
            packed.resize(compressor.deflate_compress_bound(plain.len()), 0);
            let size = compressor.deflate_compress(&plain, &mut packed).unwrap();
            packed.truncate(size);
        }
        let name = format!("{name}.npy");
        let u16 = |it: usize| (it as u16).to_le_bytes().to_vec();
        let u32 = |it: usize| (it as u32).to_le_bytes().to_vec();
        let method = if deflated { 8 } else { 0 };
        // Version, flags, method, time, date, checksum (not looked at), sizes, name, extra.
        let common = [
            u16(20),
            u16(0),
            u16(method),
            u32(0),
            u32(0),
            u32(packed.len()),
            u32(plain.len()),
            u16(name.len()),
            u16(0),
        ]
        .concat();
        let local = u32(file.len());
        file.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &packed].concat());
        let rest = [u16(0), u16(0), u16(0), u32(0), local].concat();
        directory
            .extend([b"PK\x01\x02\x14\0".as_slice(), &common, &rest, name.as_bytes()].concat());
    }
    let count = (arrays.len() as u16).to_le_bytes();
    let [size, start] = [directory.len(), file.len()].map(|it| (it as u32).to_le_bytes());
    file.extend(directory);
    file.extend([b"PK\x05\x06\0\0\0\0", count.as_slice(), &count, &size, &start, &[0; 2]].concat());
    file
}
