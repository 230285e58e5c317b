//! Machine code on disk, so that a program is compiled once per user instead of once per run.
//!
//! An entry is a file named by its [`Key`]. It holds a magic word, the key, the payload's length and SHA-256, and the payload. It appears
//! by a rename, so a reader sees a whole entry or none, however many processes start at once. Every read verifies the entry: one that is
//! damaged, truncated, of an older format or of another key counts as absent. Only the user may read or write the cache, because the code
//! in it is executed. A failure of the cache is never an error: the code is compiled again.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};

/// The first bytes of an entry. The number is the version of the format. They are part of every key.
const MAGIC: [u8; 8] = *b"vxmcub01";

/// Bytes of the header: magic, key, length and digest of the payload.
const HEADER: usize = 8 + 32 + 8 + 32;

/// The most bytes of an entry that is read.
const LARGEST: u64 = 256 << 20;

/// The most bytes that all entries of a folder may take together.
const LIMIT: u64 = 512 << 20;

/// A temporary file that a killed process left is removed at this age.
const STALE: Duration = Duration::from_secs(3600);

/// A read updates an entry's time of use if it is older than this.
const TOUCH: Duration = Duration::from_secs(3600);

/// The name of an entry: a SHA-256 of everything that its payload depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of an entry that depends on `parts`, in their order.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new_with_prefix(MAGIC);
        for part in parts {
            // the length comes first, so that two different lists of parts never hash the same bytes
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The name of the entry's file.
    pub fn file_name(&self) -> String {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        hex + ".cubin"
    }
}

/// A folder of entries. Constructing one is cheap: the folder is not accessed until an entry is.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// What a cache's folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of entries.
    pub entries: usize,
    /// The bytes of all entries.
    pub bytes: u64,
}

impl Cache {
    /// The user's cache: in `VXM_CACHE_DIR`, else in `XDG_CACHE_HOME/vxm`, else in `~/.cache/vxm`. `None` if there is no home either.
    pub fn user() -> Option<Self> {
        let named = std::env::var_os("VXM_CACHE_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || etcetera::choose_base_strategy().ok().map(|base| base.cache_dir().join("vxm"));
        named.or_else(usual).map(Self::at)
    }

    /// The cache in `folder`, which is created with the first entry.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit: LIMIT }
    }

    /// The same cache with a limit of `bytes` for all entries together, instead of 512 MiB.
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The payload of an entry; `None` if there is none, or if it is not intact.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.folder.join(key.file_name());
        let read = check_folder(&self.folder).and_then(|()| read(&path));
        match read.and_then(|(file, entry)| Ok((file, payload(entry, key)?))) {
            Ok((file, payload)) => {
                touch(&file);
                Some(payload)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "not using an entry of the kernel cache");
                None
            }
        }
    }

    /// Writes an entry, replacing any entry of the same key, and removes the least recently used entries beyond the limit.
    ///
    /// Returns whether that worked; if not, the log says why.
    pub fn put(&self, key: &Key, payload: &[u8]) -> bool {
        let put = self.write(key, payload).and_then(|()| self.prune(key));
        if let Err(error) = &put {
            // warned of once: every program of the run would fail the same way
            static WARNED: OnceLock<()> = OnceLock::new();
            WARNED.get_or_init(
                || tracing::warn!(folder = %self.folder.display(), %error, "cannot write to the kernel cache"),
            );
        }
        put.is_ok()
    }

    /// What the folder holds.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed, or others than the user may write to it. A folder that does not exist yet is empty, not an error.
    pub fn usage(&self) -> io::Result<Usage> {
        match check_folder(&self.folder).and_then(|()| self.entries()) {
            Ok(entries) => Ok(Usage { entries: entries.len(), bytes: entries.iter().map(|entry| entry.bytes).sum() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Usage::default()),
            Err(error) => Err(error),
        }
    }

    /// Checks that an entry could be written, by creating and removing a file.
    ///
    /// # Errors
    ///
    /// The reason why none can be written.
    pub fn check_writable(&self) -> io::Result<()> {
        let (path, _file) = self.temporary()?;
        fs::remove_file(path)
    }

    fn write(&self, key: &Key, payload: &[u8]) -> io::Result<()> {
        let (path, mut file) = self.temporary()?;
        let header = [&MAGIC[..], &key.0, &(payload.len() as u64).to_le_bytes(), &Sha256::digest(payload)].concat();
        let written = file.write_all(&header).and_then(|()| file.write_all(payload));
        let put = written.and_then(|()| fs::rename(&path, self.folder.join(key.file_name())));
        put.inspect_err(|_| drop(fs::remove_file(&path)))
    }

    /// A new temporary file in the folder, which is created if necessary.
    fn temporary(&self) -> io::Result<(PathBuf, File)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        check_folder(&self.folder)?;
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // several machines may share the folder, so a process id is not unique
        let path = self.folder.join(format!(".{}-{number}-{nanos}.new", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((path, file))
    }

    /// Removes the least recently used entries until the rest is within the limit. The entry of `kept` always stays.
    fn prune(&self, kept: &Key) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.sort_by_key(|entry| entry.used);
        for entry in entries.iter().filter(|entry| !entry.path.ends_with(kept.file_name())) {
            if bytes <= self.limit {
                break;
            }
            // another process may have removed it already
            if fs::remove_file(&entry.path).is_ok() {
                bytes -= entry.bytes;
            }
        }
        Ok(())
    }

    /// The entries, by their names alone; removes what killed processes left.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder)?.flatten() {
            let name = found.file_name().to_string_lossy().into_owned();
            // does not follow links
            let Ok(meta) = found.metadata() else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if meta.is_file() && is_entry(&name) {
                entries.push(Entry { path: found.path(), bytes: meta.len(), used });
            } else if meta.is_file() && is_temporary(&name) && used.elapsed().is_ok_and(|age| age > STALE) {
                drop(fs::remove_file(found.path()));
            }
        }
        Ok(entries)
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn is_entry(name: &str) -> bool {
    name.strip_suffix(".cubin").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|c| c.is_ascii_hexdigit()))
}

fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".new")
}

/// Fails unless the folder belongs to the user and only the user may write to it.
fn check_folder(folder: &Path) -> io::Result<()> {
    let meta = fs::metadata(folder)?;
    check_owner(&meta)
}

fn check_owner(meta: &fs::Metadata) -> io::Result<()> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others than its owner may write to it"));
    }
    Ok(())
}

/// Opens and reads a file that belongs to the user and is not a symbolic link.
fn read(path: &Path) -> io::Result<(File, Vec<u8>)> {
    // opening a pipe in an entry's place must not block
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let meta = file.metadata()?;
    check_owner(&meta)?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(damaged("it is not an entry"));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    (&mut file).take(LARGEST).read_to_end(&mut bytes)?;
    Ok((file, bytes))
}

/// The payload of an entry, or an error if the entry is damaged or has another key.
fn payload(mut entry: Vec<u8>, key: &Key) -> io::Result<Vec<u8>> {
    let Some((header, rest)) = entry.split_at_checked(HEADER) else { return Err(damaged("it is truncated")) };
    if header[..8] != MAGIC {
        return Err(damaged("it has another format"));
    }
    if header[8..40] != key.0 {
        return Err(damaged("it has another key than its name"));
    }
    if header[40..48] != (rest.len() as u64).to_le_bytes() || header[48..] != *Sha256::digest(rest) {
        return Err(damaged("it is damaged"));
    }
    entry.drain(..HEADER);
    Ok(entry)
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Updates the time of use of an entry, unless that was done recently.
fn touch(file: &File) {
    let age = file.metadata().and_then(|meta| meta.modified()).ok().and_then(|used| used.elapsed().ok());
    if age.is_some_and(|age| age > TOUCH) {
        // fails on a read-only file system, where no entry is ever removed
        drop(file.set_modified(SystemTime::now()));
    }
}
