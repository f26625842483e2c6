//! The index of memory: what is put is found, by words, by typing errors, by vectors, and by another process.

use std::time::{Duration, SystemTime};

use haft_store::{FileStamp, KnownFile, MemoryStore, NewChunk, NewFile, WordQuery};

fn known(digest: u8) -> KnownFile {
    let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    KnownFile { stamp: FileStamp { size: 7, modified, changed: None }, checked: 5, digest: [digest; 16], note: Some("a note".into()) }
}

/// A file with a chunk for each text; its words are those of the text.
fn file(path: &str, texts: &[&str]) -> NewFile {
    let chunk = |(at, text): (usize, &&str)| NewChunk {
        first: at + 1,
        last: at + 1,
        heading: format!("heading {at}"),
        text: (*text).to_owned(),
        words: text.to_lowercase(),
        digest: std::array::from_fn(|byte| text.as_bytes().get(byte).copied().unwrap_or(0)),
        writer: None,
    };
    NewFile { path: path.into(), known: known(1), chunks: texts.iter().enumerate().map(chunk).collect() }
}

fn any(words: &[&str]) -> WordQuery {
    WordQuery::Any(words.iter().map(|word| vec![(*word).to_owned()]).collect())
}

fn every(words: &[&str]) -> WordQuery {
    WordQuery::Every(words.iter().map(|word| vec![(*word).to_owned()]).collect())
}

/// The texts that are found, the best first.
fn texts(index: &dyn MemoryStore, query: &WordQuery) -> Vec<String> {
    index.find(query, 10).unwrap().into_iter().map(|(id, _)| index.chunk(id).unwrap().unwrap().text).collect()
}

pub(crate) fn files_of_memory_come_back_whole_and_are_replaced_touched_and_removed(index: &dyn MemoryStore) {
    index.put(&[file("a.md", &["one apple", "two pears\u{0}\u{f8ff}"]), file("b.md", &[])]).unwrap();
    assert_eq!(index.files().unwrap(), [("a.md".to_owned(), known(1)), ("b.md".to_owned(), known(1))].into());
    assert_eq!(index.count().unwrap(), 2);
    let mut rows = Vec::new();
    index.each_chunk(&mut |row| rows.push((row.path, row.first, row.last, row.heading, row.text, row.modified, row.writer))).unwrap();
    let row = |line: usize, text: &str| {
        ("a.md".to_owned(), line, line, format!("heading {}", line - 1), text.to_owned(), known(1).stamp.modified, None)
    };
    assert_eq!(rows, [row(1, "one apple"), row(2, "two pears\u{0}\u{f8ff}")]);
    index.touch(&[("b.md".into(), KnownFile { checked: 99, ..known(1) })]).unwrap();
    assert_eq!(index.files().unwrap()["b.md"].checked, 99);
    index.put(&[file("a.md", &["three plums"])]).unwrap();
    assert_eq!((texts(index, &any(&["apple", "plums"])), index.count().unwrap()), (vec!["three plums".to_owned()], 1));
    index.remove(&["a.md".into(), "c.md".into()]).unwrap();
    assert_eq!((index.files().unwrap().len(), index.count().unwrap(), texts(index, &any(&["plums"]))), (1, 0, Vec::new()));
}

pub(crate) fn chunk_of_memory_that_did_not_change_keeps_its_writer(index: &dyn MemoryStore) {
    let mut written = file("a.md", &["one", "two"]);
    written.chunks[0].writer = Some("{\"call\":1}".into());
    index.put(&[written]).unwrap();
    index.put(&[file("a.md", &["two", "one"])]).unwrap();
    let mut writers = Vec::new();
    index.each_chunk(&mut |row| writers.push((row.text, row.writer))).unwrap();
    assert_eq!(writers, [("two".to_owned(), None), ("one".to_owned(), Some("{\"call\":1}".to_owned()))]);
}

pub(crate) fn words_of_memory_are_stemmed_ranked_and_never_syntax(index: &dyn MemoryStore) {
    let many: Vec<String> = (0..40).map(|number| format!("the house has number{number} and a door")).collect();
    index.put(&[file("many.md", &many.iter().map(String::as_str).collect::<Vec<_>>())]).unwrap();
    index
        .put(&[file("a.md", &["the running dogs", "a dog and a cat and a long story of other things", "über 測試 date20261116 1e5"])])
        .unwrap();
    assert_eq!(texts(index, &every(&["dog", "run"])), ["the running dogs"], "other endings are the same word");
    assert_eq!(
        texts(index, &any(&["dogs"])),
        ["the running dogs", "a dog and a cat and a long story of other things"],
        "the shorter is better"
    );
    assert_eq!(texts(index, &any(&["cat", "house"]))[0], "a dog and a cat and a long story of other things", "a rare word counts more");
    assert_eq!(index.frequency("the").unwrap(), 41, "no word is left out of the index");
    for word in ["über", "測試", "date20261116", "1e5"] {
        assert_eq!((index.frequency(word).unwrap(), texts(index, &any(&[word])).len()), (1, 1), "{word}");
    }
    for hostile in ["'", "\"", "\\", "a' | 'b", "NEAR(", "*", "!dog", ":*", "dog\" OR \"cat", ""] {
        index.frequency(hostile).unwrap();
        index.find(&any(&[hostile, "cat"]), 5).unwrap();
    }
    assert_eq!(index.find(&any(&["house"]), 7).unwrap().len(), 7);
    let newest: Vec<i64> = index.find_newest(&any(&["house", "the"]), 50).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(newest.len(), 41);
    assert_eq!((index.find(&any(&["?!"]), 5).unwrap(), index.chunk(i64::MAX).unwrap()), (vec![], None));
}

pub(crate) fn words_of_memory_are_found_by_trigrams_and_first_letters(index: &dyn MemoryStore) {
    index.put(&[file("a.md", &["kubernetes cluster", "postgres über übung"])]).unwrap();
    let grams = |grams: &[&[&str]]| grams.iter().map(|list| list.iter().map(|gram| (*gram).to_owned()).collect()).collect();
    let found = |query: &[&[&str]], length| {
        let mut terms = index.terms(&grams(query), length, 10).unwrap();
        terms.sort();
        terms
    };
    assert_eq!(found(&[&["ube", "ber"]], 8..=12), ["kubernetes"]);
    assert_eq!(found(&[&["ube", "tgr"], &["lus"], &["ost"]], 1..=9), ["cluster", "postgres"], "a word has all of one list");
    assert_eq!(found(&[&["ost"]], 1..=7), Vec::<String>::new(), "its length counts");
    assert_eq!(found(&[&["%"], &["_"]], 1..=2), Vec::<String>::new(), "a trigram is no pattern");
    let mut like = index.terms_like('ü', 1..=9, 10).unwrap();
    like.sort();
    assert_eq!(like, ["über", "übung"]);
    assert_eq!(index.terms_like('k', 1..=9, 10).unwrap(), Vec::<String>::new());
}

pub(crate) fn vectors_of_memory_are_made_once_for_each_text(index: &dyn MemoryStore) {
    assert_eq!(index.missing_vectors("m", 10).unwrap(), None);
    index.put(&[file("a.md", &["one", "two", "one"])]).unwrap();
    let missing = index.missing_vectors("m", 10).unwrap().unwrap();
    let tasks: Vec<&str> = missing.tasks.iter().map(|task| task.text.as_str()).collect();
    assert_eq!((tasks, missing.is_last), (vec!["heading 0\none", "heading 1\ntwo"], true));
    assert_eq!((index.missing_vectors("m", 1).unwrap().unwrap().is_last, index.count_missing("m").unwrap()), (false, 3));
    let vectors: Vec<([u8; 16], Vec<f32>)> = missing.tasks.iter().map(|task| (task.digest, vec![0.5, -1.0])).collect();
    index.put_vectors("m", &vectors, missing.up_to).unwrap();
    index.put_vectors("m", &vectors, 0).unwrap();
    assert_eq!(
        (index.missing_vectors("m", 10).unwrap(), index.count_missing("m").unwrap(), index.count_vectors("m").unwrap()),
        (None, 0, 2)
    );
    let mut read = Vec::new();
    index.each_vector("m", 0, &mut |row| read.push((row.id, row.bytes.len()))).unwrap();
    assert_eq!(read.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [8, 8]);
    let one = index.vector(read[0].0).unwrap().unwrap();
    assert_eq!((one.numbers, one.chunks.len()), (vec![0.5, -1.0], 2), "a text that is there twice is found twice");
    index.put(&[file("b.md", &["two", "three"])]).unwrap();
    let texts: Vec<String> = index.missing_vectors("m", 10).unwrap().unwrap().tasks.into_iter().map(|task| task.text).collect();
    assert_eq!((texts, index.prune_vectors("m").unwrap()), (vec!["heading 1\nthree".to_owned()], false));
    index.remove_vectors("m").unwrap();
    assert_eq!((index.count_vectors("m").unwrap(), index.count_missing("m").unwrap()), (0, 5));
}

/// Two openings of one index, as two processes have them.
pub(crate) fn change_of_memory_by_another_process_is_noticed(one: &dyn MemoryStore, other: &dyn MemoryStore) {
    let (before, changes) = (one.data_version().unwrap(), one.changes().unwrap());
    one.put(&[file("a.md", &["apple"])]).unwrap();
    assert_eq!(one.data_version().unwrap(), before, "its own change is none of another");
    assert_ne!(one.changes().unwrap(), changes);
    other.put(&[file("b.md", &["pear"])]).unwrap();
    assert_ne!(one.data_version().unwrap(), before);
    assert_eq!((texts(one, &any(&["pear"])), one.count().unwrap()), (vec!["pear".to_owned()], 2));
}
