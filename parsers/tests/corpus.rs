//! Every input that the fuzzer keeps is replayed here, so that what it once found stays found.
#![allow(clippy::duplicate_mod, reason = "each feed is whole by itself")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "../../fuzz/feed/detail.rs"]
mod detail;
#[path = "../../fuzz/feed/dissect.rs"]
mod dissect;
#[path = "../../fuzz/feed/icrc.rs"]
mod icrc;

fn replay(target: &str, least: usize, feed: fn(&[u8])) {
    let folder = format!("{}/../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus lies in the repository") {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        // An input that was kept must pass at every length, too: that is how captures are cut.
        (0..=data.len()).for_each(|length| feed(&data[..length]));
        inputs += 1;
    }
    assert!(inputs >= least, "only {inputs} inputs of {target}");
}

#[test]
fn the_corpus_of_dissect_passes() {
    replay("dissect", 20, dissect::feed);
}

#[test]
fn the_corpus_of_detail_passes() {
    replay("detail", 12, detail::feed);
}

#[test]
fn the_corpus_of_icrc_passes() {
    replay("icrc", 15, icrc::feed);
}
