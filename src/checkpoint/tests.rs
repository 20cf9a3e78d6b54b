//! What checkpoints promise: every bit back, damage and foreign files by name.

use super::*;
use serde_json::json;

fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("step_5.safetensors");
    let weights = [1.5f32, -2.0, f32::MIN_POSITIVE, 0.1, 7.0, 8.0];
    let mut checkpoint = Checkpoint::new(5, json!({"episode": 3, "word": u64::MAX}));
    checkpoint.push("weights", &[2, 3], &weights[..]);
    checkpoint.push("actions", &[4], vec![1u8, 2, 3, 4]);
    checkpoint.push::<u64>("empty", &[0], vec![]);
    checkpoint.write(&path).unwrap();
    (folder, path)
}

#[test]
fn what_is_written_is_read_back_bit_for_bit() {
    let (folder, path) = written();
    let read = Checkpoint::read(&path).unwrap();
    assert_eq!(read.get_shaped::<f32>("weights", &[2, 3]).unwrap()[2], f32::MIN_POSITIVE);
    assert_eq!(read.get::<u8>("actions").unwrap(), [1, 2, 3, 4]);
    assert_eq!(read.state["word"], u64::MAX);
    let copy = folder.path().join("copy");
    read.write(&copy).unwrap();
    assert_eq!(fs::read(path).unwrap(), fs::read(copy).unwrap());
}

#[test]
fn what_is_said_about_a_model_is_in_the_header_in_one_order() {
    let (folder, path) = written();
    let mut checkpoint = Checkpoint::read(&path).unwrap();
    let said = [("task", "a \"quoted\" word"), ("actions", "[5,5]"), ("λ", "0.5")];
    checkpoint.about = said.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let files = ["one", "other"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| checkpoint.write(file).unwrap());
    let [one, other] = files.map(|file| fs::read(file).unwrap());
    assert_eq!(one, other);
    let (length, header) = SafeTensors::read_metadata(&one).unwrap();
    assert_eq!(length % 8, 0);
    let entries = header.metadata().clone().unwrap();
    assert!(said.iter().all(|(name, text)| entries[*name] == *text) && entries.len() == 4);
    let read = Checkpoint::parse(&path, &one).unwrap();
    assert_eq!((&read.about, read.tensors()), (&checkpoint.about, checkpoint.tensors()));
    assert_eq!(read.fingerprint(), checkpoint.fingerprint());
}

#[test]
fn mismatches_name_the_file_the_tensor_and_what_was_expected() {
    let (_folder, path) = written();
    let read = Checkpoint::read(&path).unwrap();
    let message = |error: Error| error.to_string().split(": ").nth(1).unwrap().to_owned();
    assert_eq!(
        message(read.get::<f32>("bias").unwrap_err()),
        "the checkpoint has no tensor `bias`"
    );
    assert_eq!(
        message(read.get::<f32>("actions").unwrap_err()),
        "the checkpoint holds `actions` as u8, not f32"
    );
    assert_eq!(
        message(read.get_shaped::<f32>("weights", &[6]).unwrap_err()),
        "the checkpoint holds `weights` with shape [2, 3], but this configuration needs [6]"
    );
}

#[test]
fn every_truncation_is_noticed() {
    let (_folder, path) = written();
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        assert!(Checkpoint::parse(&path, &bytes[..length]).is_err(), "{length} bytes passed");
    }
}

#[test]
fn every_flipped_bit_of_the_data_is_noticed() {
    let (_folder, path) = written();
    let bytes = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for place in header..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        let message = Checkpoint::parse(&path, &flipped).unwrap_err();
        assert!(message.contains("checksum of tensor"), "{message}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused_whatever_the_checksums() {
    let (_folder, path) = written();
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut checkpoint = Checkpoint::new(5, json!({}));
        checkpoint.push("bias", &[1], vec![0.5f32]);
        checkpoint.push("weights", &[2], vec![1.0, number]);
        assert_eq!(checkpoint.not_finite().unwrap().0, "weights");
        checkpoint.write(&path).unwrap();
        let error = Checkpoint::read(&path).unwrap_err().to_string();
        let shown = format!("step_5.safetensors: tensor `weights` holds {number}");
        assert!(error.contains(&shown), "{error}");
    }
}

#[test]
fn counters_that_cannot_be_are_refused_by_name() {
    let checkpoint = Checkpoint::new(5, json!({"updates": 7, "wild": u64::MAX, "sign": -1}));
    assert_eq!(checkpoint.count("updates").unwrap(), 7);
    for key in ["wild", "sign", "none"] {
        let error = checkpoint.count(key).unwrap_err().to_string();
        assert!(error.contains(&format!("`{key}`")), "{error}");
    }
}

#[test]
fn foreign_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.safetensors");
    let tensor = Tensor { name: "w".into(), shape: vec![1], values: f32::wrap(vec![1.0].into()) };
    let foreign = safetensors::serialize([("w", &tensor)], None).unwrap();
    fs::write(&path, foreign).unwrap();
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("a safetensors file, but not a checkpoint of cgcmarl"), "{error}");
    fs::write(&path, "hello").unwrap();
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert!(error.contains("foreign.safetensors: not a whole safetensors file"), "{error}");
}
