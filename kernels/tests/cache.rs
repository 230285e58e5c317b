//! The cache on disk returns what was written or nothing, whatever happens to its files.

#[path = "common/children.rs"]
mod children;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use vxm_kernels::Cache;
use vxm_kernels::cache::Key;

fn key(text: &str) -> Key {
    Key::of([text.as_bytes()])
}

/// A payload of about a kernel's size, different for each `seed`.
fn code(seed: u8) -> Vec<u8> {
    (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect()
}

fn fresh() -> (TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("vxm"));
    (folder, cache)
}

fn file(cache: &Cache, key: &Key) -> PathBuf {
    cache.folder().join(key.file_name())
}

/// The names of all files in the folder, sorted.
fn names(cache: &Cache) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(cache.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn returns_what_was_put() {
    let (_folder, cache) = fresh();
    assert_eq!(cache.get(&key("a")), None);
    assert_eq!(cache.usage().unwrap().entries, 0);
    for (name, payload) in [("a", code(1)), ("b", code(2)), ("empty", vec![])] {
        assert!(cache.put(&key(name), &payload));
        assert_eq!(cache.get(&key(name)), Some(payload));
    }
    assert!(cache.put(&key("a"), &code(3)));
    assert_eq!((cache.get(&key("a")), cache.get(&key("b"))), (Some(code(3)), Some(code(2))));
    assert_eq!(cache.usage().unwrap().entries, 3);
}

#[test]
fn keys_keep_parts_apart() {
    let of = |parts: &[&str]| Key::of(parts.iter().map(|part| part.as_bytes()));
    assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    assert_ne!(of(&["ab"]), of(&["ab", ""]));
    assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
}

#[test]
fn only_the_user_may_read_it() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(cache.folder().to_owned()), 0o700);
    assert_eq!(mode(file(&cache, &key("a"))), 0o600);
}

/// Checks that the damaged entry "a" counts as absent, and that the next write replaces it.
fn is_rebuilt(cache: &Cache, what: &str) {
    let key = key("a");
    assert_eq!(cache.get(&key), None, "{what}");
    assert!(cache.put(&key, &code(1)), "{what}");
    assert_eq!(cache.get(&key), Some(code(1)), "{what}");
    assert_eq!(names(cache), [key.file_name()], "{what}");
}

#[test]
fn damage_is_found_wherever_it_is() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    let path = file(&cache, &key("a"));
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), 80 + code(1).len());
    // one bit of every byte of the header, and of some bytes of the payload
    let places = (0..80).chain((80..whole.len()).step_by(997)).chain([whole.len() - 1]);
    for place in places {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(&path, damaged).unwrap();
        is_rebuilt(&cache, &format!("byte {place}"));
    }
}

#[test]
fn truncation_and_growth_are_found() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    let path = file(&cache, &key("a"));
    let whole = fs::read(&path).unwrap();
    for len in [0, 1, 7, 8, 39, 40, 47, 48, 79, 80, 81, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..len]).unwrap();
        is_rebuilt(&cache, &format!("{len} bytes"));
    }
    fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    is_rebuilt(&cache, "a byte too many");
}

#[test]
fn an_entry_of_another_version_is_not_taken() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    let path = file(&cache, &key("a"));
    let mut old = fs::read(&path).unwrap();
    old[..8].copy_from_slice(b"vxmcub00");
    fs::write(&path, old).unwrap();
    is_rebuilt(&cache, "an older format");
}

#[test]
fn an_entry_of_another_key_is_not_taken() {
    let (_folder, cache) = fresh();
    cache.put(&key("b"), &code(2));
    fs::rename(file(&cache, &key("b")), file(&cache, &key("a"))).unwrap();
    is_rebuilt(&cache, "a whole entry under another's name");
}

#[test]
fn links_are_not_followed() {
    let (folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    let outside = folder.path().join("outside");
    fs::rename(file(&cache, &key("a")), &outside).unwrap();
    symlink(&outside, file(&cache, &key("a"))).unwrap();
    let before = fs::read(&outside).unwrap();
    is_rebuilt(&cache, "a link to a whole entry");
    assert!(fs::symlink_metadata(file(&cache, &key("a"))).unwrap().is_file());
    assert_eq!(fs::read(&outside).unwrap(), before);
}

#[test]
fn a_pipe_or_a_folder_in_an_entrys_place_is_no_entry() {
    let (_folder, cache) = fresh();
    cache.put(&key("b"), &code(2));
    let path = file(&cache, &key("a"));
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(cache.get(&key("a")), None);
        fs::remove_file(&path).unwrap();
    }
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key("a")), None);
    assert!(!cache.put(&key("a"), &code(1)));
    assert_eq!(names(&cache).len(), 2, "what could not be put in place is removed");
    assert_eq!(cache.get(&key("b")), Some(code(2)));
}

#[test]
fn others_may_not_write_there() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    fs::set_permissions(file(&cache, &key("a")), fs::Permissions::from_mode(0o666)).unwrap();
    is_rebuilt(&cache, "an entry that others may write to");
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(cache.get(&key("a")), None);
    assert!(!cache.put(&key("b"), &code(2)));
    assert!(cache.usage().unwrap_err().to_string().contains("others"));
    assert!(cache.check_writable().unwrap_err().to_string().contains("others"));
}

#[test]
fn a_folder_that_cannot_be_made_is_no_error() {
    let (folder, _) = fresh();
    fs::write(folder.path().join("file"), "").unwrap();
    for place in [folder.path().join("file/cache"), PathBuf::from("/proc/vxm-cache")] {
        let cache = Cache::at(place);
        assert!(!cache.put(&key("a"), &code(1)));
        assert_eq!(cache.get(&key("a")), None);
        assert!(cache.check_writable().is_err());
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_still_read() {
    let (_folder, cache) = fresh();
    cache.put(&key("a"), &code(1));
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o500)).unwrap();
    // root may write anywhere, so the test only checks that both calls agree
    let wrote = cache.put(&key("b"), &code(2));
    assert_eq!(wrote, cache.get(&key("b")).is_some());
    assert_eq!(cache.get(&key("a")), Some(code(1)));
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_oldest_make_room() {
    let (_folder, cache) = fresh();
    let cache = cache.with_limit(70_000);
    let hour = Duration::from_secs(3600);
    for age in (0..6u32).rev() {
        let key = key(&age.to_string());
        assert!(cache.put(&key, &code(0)));
        // each is marked as used an hour after the one before
        let file = fs::File::options().write(true).open(file(&cache, &key)).unwrap();
        file.set_modified(SystemTime::now() - 2 * hour - hour * age).unwrap();
    }
    let kept = |age: u32| file(&cache, &key(&age.to_string())).exists();
    assert_eq!([0, 1, 2, 3, 4, 5].map(kept), [true, true, true, false, false, false]);
    // reading marks an entry as used
    assert!(cache.get(&key("2")).is_some());
    assert!(cache.put(&key("new"), &code(0)));
    assert_eq!([0, 1, 2].map(kept), [true, false, true]);
    assert!(cache.usage().unwrap().bytes <= 70_000);
}

#[test]
fn only_entries_are_removed() {
    let (_folder, cache) = fresh();
    let cache = cache.with_limit(0);
    fs::create_dir(cache.folder()).unwrap();
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(cache.folder().join("notes.txt"), [0; 1000]).unwrap();
    let old = cache.folder().join(".1-1-1.new");
    fs::write(&old, "half").unwrap();
    fs::File::options().write(true).open(&old).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    fs::write(cache.folder().join(".2-1-1.new"), "being written").unwrap();
    assert!(cache.put(&key("a"), &code(1)));
    assert!(cache.put(&key("b"), &code(1)));
    let mut expected = vec![".2-1-1.new".to_owned(), key("b").file_name(), "notes.txt".to_owned()];
    expected.sort();
    assert_eq!(names(&cache), expected);
}

/// 16 processes read, write and damage the same few entries. A read must return the right payload or nothing.
#[test]
fn sixteen_processes_at_once() {
    const ENTRIES: u8 = 4;
    if let Some(folder) = children::task() {
        return race(&Cache::at(folder).with_limit(70_000), ENTRIES);
    }
    let (_folder, cache) = fresh();
    let mut command = children::child("sixteen_processes_at_once", cache.folder().to_str().unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    children::wait((0..16).map(|_| command.spawn().unwrap()).collect());
    assert!(names(&cache).iter().all(|name| name.ends_with(".cubin")), "{:?}", names(&cache));
    for entry in 0..ENTRIES {
        cache.put(&key(&entry.to_string()), &code(entry));
        assert_eq!(cache.get(&key(&entry.to_string())), Some(code(entry)));
    }
}

fn race(cache: &Cache, entries: u8) {
    let me = std::process::id() as usize;
    for round in 0..100 {
        let entry = ((round + me) % usize::from(entries)) as u8;
        let key = key(&entry.to_string());
        match cache.get(&key) {
            Some(payload) => assert!(payload == code(entry), "entry {entry} is not what was put"),
            None => assert!(cache.put(&key, &code(entry))),
        }
        if round % 10 == me % 10 {
            // as after a crash or on a bad disk: truncates the file in place while other processes read it
            let file = fs::File::options().write(true).open(file(cache, &key));
            drop(file.and_then(|file| file.set_len((round * 137) as u64)));
        }
    }
}
