//! One thread and many write the same report, byte for byte.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a helper of tests fails like a test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rocetop::filter::Filter;
use rocetop::report::{json, select::Selection};
use rocetop::run::{self, Options, Outcome};
use rocetop::source::Timeline;
use rocetop_analysis::Ledger;

/// The bundled captures, in the order of their names.
fn captures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".pcap"));
    paths.sort();
    assert!(paths.len() > 20);
    paths
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rocetop-threads-{}-{name}.pcap", std::process::id()))
}

fn report<P: AsRef<Path>>(paths: &[P], threads: usize) -> String {
    written(&run::run(Timeline::open(paths).unwrap(), &Options { threads, ..Options::default() }, |_, _| {}))
}

fn written(outcome: &Outcome) -> String {
    let mut out = Vec::new();
    let (ledger, chosen) = (Ledger::new(&outcome.engine, Vec::new()), Selection::default());
    json::write(&mut out, &outcome.captures, &ledger, &chosen.findings(&ledger, None), &chosen).unwrap();
    String::from_utf8(out).unwrap()
}

/// Reports of 1, 2, 3 and 7 threads; the same one is returned.
fn same<P: AsRef<Path>>(paths: &[P]) -> String {
    let one = report(paths, 1);
    for threads in [2, 3, 7, 1000] {
        assert!(report(paths, threads) == one, "{threads} threads, {}", paths[0].as_ref().display());
    }
    one
}

#[test]
fn every_capture() {
    for path in captures() {
        same(&[path]);
    }
}

#[test]
fn several_at_once() {
    let all = captures();
    for some in all.chunks(5) {
        same(some);
    }
    // So many that files are parked, and the last first.
    same(&all);
    same(&all.iter().rev().collect::<Vec<_>>());
}

/// Frames of all bundled captures again and again, some far longer than what is read at a time between them.
fn large() -> Vec<u8> {
    let mut frames = Vec::new();
    for path in captures() {
        Timeline::open(&[path]).unwrap().for_each(|frame| frames.push(frame.bytes.to_vec()));
    }
    assert!(frames.len() > 5000);
    frames.push(vec![0; 1_000_000]);
    // The longest record that may be, microseconds, Ethernet.
    let mut capture = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 1 << 20, 1].map(u32::to_le_bytes).as_flattened().to_vec();
    for (number, frame) in frames.iter().cycle().take(3 * frames.len()).enumerate() {
        let (number, len) = (number as u32, frame.len() as u32);
        capture.extend([number / 1000, number % 1000, len, len].map(u32::to_le_bytes).as_flattened());
        capture.extend(frame);
    }
    capture
}

#[test]
fn large_files() {
    let (large, path, compressed) = (large(), temporary("large"), temporary("large-gz"));
    fs::write(&path, &large).unwrap();
    let whole = same(&[&path]);
    let mut gz = flate2::write::GzEncoder::new(fs::File::create(&compressed).unwrap(), flate2::Compression::fast());
    gz.write_all(&large).unwrap();
    gz.finish().unwrap();
    same(&[&compressed]);
    same(&[&path, &compressed]);
    if cfg!(feature = "libpcap") {
        let filtered = [1, 2, 3].map(|threads| {
            let filter = Some(Filter::new("udp dst port 4791 and greater 100").unwrap());
            let options = Options { threads, filter, ..Options::default() };
            written(&run::run(Timeline::open(&[&path]).unwrap(), &options, |_, _| {}))
        });
        assert!(filtered[0] != whole && filtered.iter().all(|report| *report == filtered[0]));
    }
    // Whatever the time of a stop request, what was read is in the report.
    for threads in [1, 2, 3, 8] {
        for _ in 0..5 {
            let timeline = Timeline::open(&[&path]).unwrap();
            let stop = timeline.stop_handle();
            let mut looks = 0;
            let outcome = run::run(timeline, &Options { threads, ..Options::default() }, |_, _| {
                looks += 1;
                if looks == 2 {
                    stop.stop();
                }
            });
            assert_eq!(outcome.engine.totals().frames(), outcome.captures[0].frames);
        }
    }
    fs::remove_file(path).unwrap();
    fs::remove_file(compressed).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn pipes() {
    use std::os::fd::AsRawFd;
    let large = large();
    let reports = [1, 2, 3].map(|threads| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                writer.write_all(&large).unwrap();
                drop(writer);
            });
            report(&[&path], threads)
        });
        drop(reader);
        // The path is another one each time.
        report.replace(path.to_str().unwrap(), "")
    });
    assert!(reports.iter().all(|report| *report == reports[0]));
}

/// A part that panics is not waited for by the others, and its panic is the caller's.
#[test]
fn a_panic_ends_all() {
    let capture =
        fs::read(captures().iter().find(|path| path.extension().is_some_and(|e| e == "pcap")).unwrap()).unwrap();
    let path = temporary("panic");
    // Far more than what is on its way at a time.
    let repeated: Vec<u8> = capture[24..].iter().copied().cycle().take(200 * (capture.len() - 24)).collect();
    fs::write(&path, [&capture[..24], &repeated].concat()).unwrap();
    let panicked = std::panic::catch_unwind(|| {
        let options = Options { threads: 3, ..Options::default() };
        run::run(Timeline::open(&[&path]).unwrap(), &options, |_, _| panic!("on purpose"))
    });
    same(&[&path]);
    fs::remove_file(&path).unwrap();
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"on purpose"));
}

/// A capture of the same frame cut at every length, between other addresses each time, and each cut accounted once.
#[test]
fn frames_cut_at_every_length() {
    let mut frames = Vec::new();
    for path in captures() {
        let bytes = fs::read(&path).unwrap();
        // Classic, little endian: the first record of each.
        if bytes.starts_with(&[0xd4, 0xc3, 0xb2, 0xa1]) || bytes.starts_with(&[0x4d, 0x3c, 0xb2, 0xa1]) {
            let captured = u32::from_le_bytes(*bytes[24 + 8..].first_chunk().unwrap()) as usize;
            frames.push(bytes[40..40 + captured].to_vec());
        }
    }
    assert!(frames.len() > 10);
    let mut capture = [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[0, 0, 4, 0, 1, 0, 0, 0]].concat();
    let mut records = 0;
    for frame in &mut frames {
        for had in 0..=frame.len().min(160) {
            if let Some(last) = frame.get_mut(29) {
                *last = had as u8;
            }
            capture.extend([1, records, had as u32, frame.len() as u32].map(u32::to_le_bytes).as_flattened());
            capture.extend(&frame[..had]);
            records += 1;
        }
    }
    let path = temporary("cut");
    fs::write(&path, capture).unwrap();
    let report = same(&[&path]);
    fs::remove_file(&path).unwrap();
    let count = |name: &str| -> u32 {
        let (_, rest) = report.split_once(&format!("\"{name}\":")).unwrap();
        rest.split([',', '}']).next().unwrap().parse().unwrap()
    };
    assert_eq!(count("frames"), records);
    // Those that end before their BTH does, 54 bytes in.
    assert!(count("undecodable_frames") >= 50 * frames.len() as u32);
}
