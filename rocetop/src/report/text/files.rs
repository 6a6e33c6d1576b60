//! Short names of captures, for frames: the heads of the captures have the whole paths.

use rocetop_analysis::report::FrameRef;

use crate::source::CaptureSummary;

/// The captures of a page, by their paths, and the least of each path that tells it from the others.
pub(super) struct Files<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Files<'a> {
    pub(super) fn of(captures: &'a [CaptureSummary]) -> Self {
        let paths: Vec<&str> = captures.iter().map(|c| c.path.as_str()).collect();
        let tells = |names: &[&str]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names.windows(2).all(|pair| pair.first() != pair.last())
        };
        let most = paths.iter().map(|path| path.split('/').count()).max().unwrap_or(0);
        let names = (1..most).map(|parts| paths.iter().map(|path| tail(path, parts)).collect::<Vec<_>>());
        let names = names.into_iter().find(|names| tells(names)).unwrap_or_else(|| paths.clone());
        Self(paths.into_iter().zip(names).collect())
    }

    /// Where a frame is: its number where the page has one capture alone.
    pub(super) fn place(&self, frame: &FrameRef) -> String {
        let text = frame.to_string();
        let Some((path, place)) = text.rsplit_once(':') else { return text };
        match (self.0.as_slice(), self.0.iter().find(|file| file.0 == path)) {
            ([_], Some(_)) => place.to_owned(),
            (_, Some((_, name))) => format!("{name}:{place}"),
            _ => text,
        }
    }
}

/// The last `parts` parts of a path.
fn tail(path: &str, parts: usize) -> &str {
    path.rmatch_indices('/').nth(parts - 1).map_or(path, |(at, _)| path.get(at + 1..).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(paths: &[&str], frames: &[&str]) -> Vec<String> {
        let capture = |path: &&str| CaptureSummary { path: (*path).to_owned(), ..CaptureSummary::default() };
        let captures: Vec<CaptureSummary> = paths.iter().map(capture).collect();
        let files = Files::of(&captures);
        frames.iter().map(|frame| files.place(&FrameRef::In((*frame).to_owned()))).collect()
    }

    #[test]
    fn names_are_as_short_as_they_tell() {
        assert_eq!(places(&["/x/a.pcap", "/x/b.pcap"], &["/x/a.pcap:7", "/x/b.pcap:8"]), ["a.pcap:7", "b.pcap:8"]);
        let paths = ["/x/1/e/a.pcap", "/x/2/e/a.pcap", "/x/1/e/b.pcap"];
        assert_eq!(places(&paths, &["/x/1/e/a.pcap:7", "/x/1/e/b.pcap:8"]), ["1/e/a.pcap:7", "1/e/b.pcap:8"]);
        assert_eq!(places(&["/x/a.pcap", "a.pcap"], &["/x/a.pcap:7", "a.pcap:8"]), ["x/a.pcap:7", "a.pcap:8"]);
        assert_eq!(places(&["-", "b.pcap"], &["-:7"]), ["-:7"]);
        // A page with one capture has no other frames; those of other pages keep their names.
        assert_eq!(places(&["/x/a.pcap"], &["/x/a.pcap:7", "/x/b.pcap:8"]), ["7", "/x/b.pcap:8"]);
        assert_eq!(Files::of(&[]).place(&FrameRef::Place(9)), "9");
    }
}
