//! Every input that the fuzzer keeps is replayed here, so that what it once found stays found.

#[path = "../../fuzz/feed/dissect.rs"]
mod dissect;

#[test]
fn the_corpus_of_dissect_passes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/dissect");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus lies in the repository") {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        // An input that was kept must pass at every length, too: that is how captures are cut.
        (0..=data.len()).for_each(|length| dissect::feed(&data[..length]));
        inputs += 1;
    }
    assert!(inputs >= 20, "only {inputs} inputs");
}
