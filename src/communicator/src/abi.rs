//! MPI libraries: how one is opened, and what their three binary interfaces differ in.

use crate::launcher::Launcher;
use crate::{Error, Result};
use libloading::{Library, Symbol};
use std::env;
use std::ffi::{c_char, c_int, c_void};

/// A handle of an MPI object: an `int` (MPICH) or a pointer (Open MPI, the standard interface). As an argument an `int` is the low half of
/// a register. A variable for a handle starts as 0, since MPICH writes only its low half.
pub(crate) type Handle = usize;

/// The constants of a binary interface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants {
    pub(crate) interface: &'static str,
    pub(crate) world: Handle,
    pub(crate) byte: Handle,
    pub(crate) errors_return: Handle,
    pub(crate) funneled: c_int,
}

/// The functions of an open library.
pub(crate) struct Functions {
    pub(crate) init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    pub(crate) finalize: unsafe extern "C" fn() -> c_int,
    pub(crate) abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    pub(crate) set_errhandler: unsafe extern "C" fn(Handle, Handle) -> c_int,
    pub(crate) rank: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    pub(crate) size: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    pub(crate) split: unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle) -> c_int,
    pub(crate) isend: unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int,
    pub(crate) irecv: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int,
    pub(crate) test: unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int,
    pub(crate) version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int,
    pub(crate) error_text: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
}

/// An open MPI library.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) constants: Constants,
    pub(crate) functions: Functions,
    /// Keeps the functions' code loaded.
    _library: Library,
}

/// The libraries to try under this launcher, in order.
fn candidates(launcher: &Launcher) -> Vec<&'static str> {
    let (open_mpi, mpich) = (["libmpi.so.40", "libmpi.so"], ["libmpich.so.12", "libmpi.so.12"]);
    let mut names = vec![];
    if launcher.is_open_mpi() {
        names.extend(open_mpi);
        names.push("libmpi_abi.so.1");
        names.extend(mpich);
    } else {
        names.extend(mpich);
        names.push("libmpi_abi.so.1");
        names.extend(open_mpi);
    }
    names
}

/// Opens the library that `VXM_MPI` names, or else the first that can be opened.
pub(crate) fn open(launcher: &Launcher) -> Result<Opened> {
    if let Ok(name) = env::var("VXM_MPI") {
        return opened(&name).map_err(|why| Error::NotMpi { name, why });
    }
    let mut tried = Vec::new();
    for name in candidates(launcher) {
        match opened(name) {
            Ok(opened) => return Ok(opened),
            Err(_) => tried.push(name),
        }
    }
    Err(Error::NoLibrary { launcher: launcher.variable, tried: tried.join(", ") })
}

fn opened(name: &str) -> Result<Opened, String> {
    // SAFETY: MPI libraries may be loaded at any time; what their initialisers do is the same as in a program that is linked to them
    let library = unsafe { load(name) }.map_err(|error| error.to_string())?;
    let constants =
        constants(&library, name).ok_or("expected an MPI library of Open MPI, MPICH or the standard ABI")?;
    let functions = functions(&library)?;
    Ok(Opened { name: name.to_owned(), constants, functions, _library: library })
}

/// Loads a library. `RTLD_GLOBAL` lets Open MPI's plugins find its symbols.
///
/// # Safety
/// The library's initialisers may run now.
#[cfg(unix)]
unsafe fn load(name: &str) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: the caller's promise
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.map(Into::into)
}

/// Loads a library.
///
/// # Safety
/// The library's initialisers may run now.
#[cfg(not(unix))]
unsafe fn load(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: the caller's promise
    unsafe { Library::new(name) }
}

/// The address of a symbol; `None` if there is none.
fn address(library: &Library, name: &str) -> Option<Handle> {
    // SAFETY: only the address is taken
    let symbol: Symbol<*const c_void> = unsafe { library.get(name.as_bytes()) }.ok()?;
    Some(*symbol as Handle)
}

/// The constants of a library, known by its symbols. Those of the standard are in the MPI 5.0 standard, appendix A; those of MPICH in its
/// `mpi.h`; Open MPI's are addresses of its own variables.
fn constants(library: &Library, name: &str) -> Option<Constants> {
    if let Some(world) = address(library, "ompi_mpi_comm_world") {
        let byte = address(library, "ompi_mpi_byte")?;
        let errors_return = address(library, "ompi_mpi_errors_return")?;
        return Some(Constants { interface: "Open MPI", world, byte, errors_return, funneled: 1 });
    }
    if address(library, "MPI_Abi_get_version").is_some() && name.contains("mpi_abi") {
        let (world, byte, errors_return) = (0x101, 0x247, 0x143);
        return Some(Constants { interface: "the standard ABI", world, byte, errors_return, funneled: 1024 });
    }
    address(library, "MPI_Init_thread")?;
    let (world, byte, errors_return) = (0x4400_0000, 0x4c00_010d, 0x5400_0001);
    Some(Constants { interface: "MPICH", world, byte, errors_return, funneled: 1 })
}

/// The functions of a library.
fn functions(library: &Library) -> Result<Functions, String> {
    macro_rules! function {
        ($name:literal) => {{
            // SAFETY: the MPI standard fixes the function's type; handles are passed as `Handle` says
            let symbol = unsafe { library.get($name.as_bytes()) };
            *symbol.map_err(|_| concat!("expected the function ", $name).to_owned())?
        }};
    }
    Ok(Functions {
        init: function!("MPI_Init_thread"),
        finalize: function!("MPI_Finalize"),
        abort: function!("MPI_Abort"),
        set_errhandler: function!("MPI_Comm_set_errhandler"),
        rank: function!("MPI_Comm_rank"),
        size: function!("MPI_Comm_size"),
        split: function!("MPI_Comm_split"),
        isend: function!("MPI_Isend"),
        irecv: function!("MPI_Irecv"),
        test: function!("MPI_Test"),
        version: function!("MPI_Get_library_version"),
        error_text: function!("MPI_Error_string"),
    })
}
