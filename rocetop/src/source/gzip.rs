//! gzip as a stream of members, and what may follow the last one (RFC 1952 2.2).

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// A reader of all members of a gzip file. Zeros behind one are padding, as gzip itself has it.
pub(crate) struct Gzip<R> {
    /// `None` once there is no other.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(compressed: R) -> Self {
        Self { member: Some(GzDecoder::new(compressed)) }
    }

    /// Starts the member that follows, if one does.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(mut compressed) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        loop {
            let rest = match compressed.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                rest => rest?,
            };
            match rest.iter().position(|&byte| byte != 0).map(|at| (at, rest.get(at))) {
                Some((at, Some(0x1f))) => {
                    compressed.consume(at);
                    self.member = Some(GzDecoder::new(compressed));
                    return Ok(());
                }
                Some(_) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "what follows is no gzip data"));
                }
                None if rest.is_empty() => return Ok(()),
                None => {
                    let padding = rest.len();
                    compressed.consume(padding);
                }
            }
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(buf)?;
            if n > 0 || buf.is_empty() {
                return Ok(n);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}
