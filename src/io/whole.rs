//! Output files that appear only when they are complete, and outputs that can only be written in place.

use crate::error::{Error, Result, printable};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An output file that is checked before there is anything to write, so that failures show early.
///
/// A new file is written under a temporary name beside it and then renamed. So is a regular file that has one name and
/// the same owner as this process's files; it keeps its permissions. An interrupted run leaves the older file
/// unchanged. All others are written in place and never replaced: links, files with several names or of another owner,
/// pipes, devices, and whatever standard output or standard error already is.
///
/// ```
/// use std::io::Write;
/// use vxm::io::WholeFile;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answer");
/// WholeFile::prepare(&path)?.write(|mut file| file.write_all(b"42"))?;
/// assert_eq!(std::fs::read(&path)?, b"42");
/// assert!(WholeFile::prepare(folder.path().join("no/answer")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WholeFile {
    path: PathBuf,
    way: Way,
}

/// How the file is written.
enum Way {
    /// Through standard output or error, continuing at their position.
    Shared(File),
    /// In place, from its start.
    Through(File),
    /// By renaming a new file over it, with these permissions if there was a file.
    Replaced(Option<Permissions>),
}

impl WholeFile {
    /// Checks that `path` can be written. An existing file is left unchanged.
    ///
    /// # Errors
    /// [`Error::Io`] naming `path`, if it cannot be written.
    pub fn prepare(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let way = Way::to(path).map_err(Error::io(shown(path)))?;
        Ok(Self { path: path.to_owned(), way })
    }

    /// The path given to [`prepare`](Self::prepare).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether [`write`](Self::write) writes a new regular file, so that its parts may be written in any order.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.way, Way::Replaced(_))
    }

    /// Writes the file by calling `write`.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path.
    pub fn write(self, write: impl FnOnce(File) -> io::Result<()>) -> Result<()> {
        let Self { path, way } = self;
        let written = match way {
            Way::Shared(file) => write(file),
            Way::Through(file) => emptied(&file).and_then(|()| write(file)),
            Way::Replaced(permissions) => Unfinished::beside(&path).and_then(|unfinished| {
                permissions.map_or(Ok(()), |permissions| unfinished.file.set_permissions(permissions))?;
                write(unfinished.file.try_clone()?)?;
                unfinished.rename_to(&path)
            }),
        };
        written.map_err(Error::io(shown(&path)))
    }
}

/// The path as error messages show it.
fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// Truncates a regular file; pipes and devices have no length.
fn emptied(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

impl Way {
    /// Decides how to write to `path`.
    fn to(path: &Path) -> io::Result<Self> {
        if let Some(shared) = fs::metadata(path).ok().and_then(|about| already_open(&about)) {
            return Ok(Self::Shared(shared));
        }
        let there = match fs::symlink_metadata(path) {
            Ok(about) => Some((about, File::options().write(true).create(true).truncate(false).open(path)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(ErrorKind::IsADirectory.into());
        }
        // made only as a test, and removed at once: a file kept through a long run would be left behind if the process
        // is killed
        match (Unfinished::beside(path), there) {
            (Ok(_), None) => Ok(Self::Replaced(None)),
            (Ok(new), Some((about, _))) if stands_alone(&about, &new.file.metadata()?) => {
                Ok(Self::Replaced(Some(about.permissions())))
            }
            (_, Some((_, file))) => Ok(Self::Through(file)),
            (Err(error), None) => Err(error),
        }
    }
}

/// Standard output or standard error, if it is this file. Opening the file again would overwrite it from its start.
#[cfg(unix)]
fn already_open(about: &Metadata) -> Option<File> {
    use std::os::{fd::AsFd, unix::fs::MetadataExt};
    let same = |open: File| {
        let open_about = open.metadata().ok()?;
        ((open_about.dev(), open_about.ino()) == (about.dev(), about.ino())).then_some(open)
    };
    let own = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    own.into_iter().flatten().find_map(|open| same(File::from(open)))
}

#[cfg(not(unix))]
fn already_open(_: &Metadata) -> Option<File> {
    None
}

/// Whether a file with the metadata `about` can be replaced by one that this process made, without a visible
/// difference.
#[cfg(unix)]
fn stands_alone(about: &Metadata, new: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    about.is_file() && about.nlink() == 1 && (about.uid(), about.gid()) == (new.uid(), new.gid())
}

#[cfg(not(unix))]
fn stands_alone(about: &Metadata, _: &Metadata) -> bool {
    about.is_file()
}

/// A file under a temporary name. It is removed on drop, unless it has been renamed.
struct Unfinished {
    path: PathBuf,
    file: File,
}

/// The paths of all unfinished files.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // the list is consistent even if a thread panicked while it held the lock
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished files, for a process that is about to end. The list stays locked, so that no other file can
/// be begun or finished.
pub fn abandon_unfinished() {
    let list = unfinished();
    for path in &*list {
        // the process is about to end, so an error can't be reported
        let _ = fs::remove_file(path);
    }
    core::mem::forget(list);
}

impl Unfinished {
    /// Creates a file under a temporary name in the folder of `path`.
    fn beside(path: &Path) -> io::Result<Self> {
        let mut list = unfinished();
        // a name already in use was left by a killed process with the same id
        for attempt in 0u32.. {
            let path = path.with_file_name(format!(".vxm-{}-{attempt}", std::process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    let file = made?;
                    list.push(path.clone());
                    return Ok(Self { path, file });
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn rename_to(self, path: &Path) -> io::Result<()> {
        let mut list = unfinished();
        fs::rename(&self.path, path)?;
        list.retain(|other| *other != self.path);
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut list = unfinished();
        // a file that is no longer listed was renamed
        if let Some(place) = list.iter().position(|other| *other == self.path) {
            list.swap_remove(place);
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn put(path: &Path) {
        WholeFile::prepare(path).unwrap().write(|mut file| file.write_all(b"new")).unwrap();
    }

    #[test]
    fn what_is_there_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("script"), "an older and longer one").unwrap();
        fs::set_permissions(at("script"), Permissions::from_mode(0o751)).unwrap();
        put(&at("script"));
        assert_eq!(fs::metadata(at("script")).unwrap().permissions().mode() & 0o7777, 0o751);
        // links, of both kinds, and to nothing
        fs::hard_link(at("script"), at("other")).unwrap();
        fs::write(at("other"), "an older and longer one").unwrap();
        put(&at("script"));
        symlink("kept", at("link")).unwrap();
        put(&at("link"));
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        for name in ["script", "other", "link", "kept"] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "new", "{name}");
        }
        let long = "n".repeat(255);
        put(&at(&long));
        assert_eq!(fs::read_to_string(at(&long)).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left behind");
    }

    #[test]
    fn what_fails_leaves_the_older_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("answer");
        fs::write(&file, "old").unwrap();
        let failed = WholeFile::prepare(&file).unwrap().write(|mut file| {
            file.write_all(b"half")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert!(failed.unwrap_err().to_string().ends_with("answer: no storage space"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        // looking changes nothing either
        drop(WholeFile::prepare(&file).unwrap());
        drop(WholeFile::prepare(folder.path().join("none")).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        for (name, told) in
            [("", "is a directory"), ("new/", "is a directory"), ("no/new", "No such file"), (".", "Is a")]
        {
            let path = format!("{}/{name}", folder.path().display());
            let error = WholeFile::prepare(&path).map(|_| ()).unwrap_err().to_string().to_lowercase();
            assert!(error.contains(&told.to_lowercase()), "{error}");
        }
    }
}
