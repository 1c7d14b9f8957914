//! bzip2, which samtools writes from level 8 on, or if an option says so.

use bzip2::{Decompress, Status};

use crate::read::error::Problem;

const CORRUPT: Problem = Problem::Corrupt("bzip2");

/// The raw bytes, if there are `raw` of them. Besides them the library takes four megabytes, for
/// the largest block that there is.
pub(crate) fn decompress(bytes: &[u8], raw: usize) -> Result<Vec<u8>, Problem> {
    let mut out = vec![0; raw];
    let mut stream = Decompress::new(false);
    loop {
        let (read, made) = (stream.total_in() as usize, stream.total_out() as usize);
        let (rest, room) = (bytes.get(read..), out.get_mut(made..));
        let (rest, room) = rest.zip(room).ok_or(CORRUPT)?;
        match stream.decompress(rest, room).map_err(|_| CORRUPT)? {
            Status::StreamEnd => break,
            _ if (stream.total_in() as usize, stream.total_out() as usize) == (read, made) => {
                return Err(CORRUPT);
            }
            _ => {}
        }
    }
    out.truncate(stream.total_out() as usize);
    Ok(out)
}
