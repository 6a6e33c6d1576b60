//! Every input that the fuzzer keeps is replayed here, so that what it once found stays found.
#![allow(clippy::duplicate_mod, reason = "each feed is whole by itself")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "../../fuzz/feed/analyze.rs"]
mod analyze;
#[path = "../../fuzz/feed/compressed.rs"]
mod compressed;
#[path = "../../fuzz/feed/pcap.rs"]
mod pcap;
#[path = "../../fuzz/feed/pcapng.rs"]
mod pcapng;

/// Feeds every input of a corpus, and its beginnings every `step` bytes.
fn replay(target: &str, step: usize, feed: fn(&[u8])) {
    let folder = format!("{}/../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus lies in the repository") {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        (0..data.len()).step_by(step).for_each(|length| feed(&data[..length]));
        feed(&data);
        inputs += 1;
    }
    assert!(inputs >= 8, "only {inputs} inputs of {target}");
}

#[test]
fn the_corpus_of_pcap_passes() {
    replay("pcap", 1, pcap::feed);
}

#[test]
fn the_corpus_of_pcapng_passes() {
    replay("pcapng", 1, pcapng::feed);
}

#[test]
fn the_corpus_of_compressed_passes() {
    replay("compressed", 7, compressed::feed);
}

#[test]
fn the_corpus_of_analyze_passes() {
    replay("analyze", 97, analyze::feed);
}
