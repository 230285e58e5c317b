//! Files: each is read, or refused in a line that names it. What is read is written in another format, and read again.
//!
//! The first byte says what is read and in which format, the second the file's name. The rest is the file. `VXM_FUZZ_FORMAT=metis` reads all files
//! as METIS.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use vxm::error::Error;
use vxm::formats::Csr;
use vxm::io::{self, FileFormat, Loaded, Numbering, Value, Weighted, WholeFile};
use vxm::memory::Resident;
use vxm::semiring::{Element, scalar};

/// Two floats, which are a complex number.
#[scalar]
struct Complex {
    re: f64,
    im: f64,
}

/// A struct of several types.
#[scalar]
struct Way {
    length: f32,
    level: i16,
    open: bool,
    lanes: u8,
}

/// Names that formats are detected by, and some that say nothing.
const NAMES: [&str; 12] =
    ["f", "f.txt", "f.mtx", "f.graph", "f.gr", "f.col", "f.npz", "f.egr", "f.wsg", "f.vxm", "f.gz", "f.mtx.zst"];

/// The formats by the first byte. Seeds rely on their order.
const FORMATS: [FileFormat; 13] = [
    FileFormat::Edges,
    FileFormat::MatrixMarket,
    FileFormat::Dimacs,
    FileFormat::ShortestPath,
    FileFormat::Metis,
    FileFormat::Npz,
    FileFormat::Ecl,
    FileFormat::Gap,
    FileFormat::Native,
    FileFormat::Names,
    FileFormat::GraphMl,
    FileFormat::Parquet,
    FileFormat::Arrow,
];
const _: () = assert!(FORMATS.len() == FileFormat::ALL.len());

/// Memory that reading may take, beside the sanitizer's own: a file of a few bytes may state many vertices.
const MEMORY: u64 = 1 << 30;

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let told = std::panic::take_hook();
        // what decodes tables may panic at a damaged file, which is told as an error
        std::panic::set_hook(Box::new(move |info| {
            if !io::decodes() {
                told(info);
            }
        }));
        std::mem::forget(Resident::limit(MEMORY).expect("memory can be limited"));
        // in memory where the system has such a folder
        let place =
            Some(Path::new("/dev/shm")).filter(|place| place.is_dir()).map_or_else(std::env::temp_dir, Path::to_owned);
        let folder = place.join(format!("vxm-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for files");
        folder
    })
}

/// The format that all files are read in, if the environment names one.
fn only() -> Option<FileFormat> {
    static ONLY: OnceLock<Option<FileFormat>> = OnceLock::new();
    *ONLY.get_or_init(|| {
        let name = std::env::var("VXM_FUZZ_FORMAT").ok()?;
        Some(name.parse().unwrap_or_else(|error| panic!("VXM_FUZZ_FORMAT: {error}")))
    })
}

/// An error is one line that names the file.
fn told(error: &Error) {
    let line = error.to_string();
    assert!(!line.contains('\n') && line.contains("/f"), "{line}");
}

/// The arrays of a matrix make sense.
fn checked<T: Element>(csr: &Csr<T>) {
    assert_eq!(csr.offsets().len(), csr.nrows() + 1);
    for row in 0..csr.nrows() {
        let (columns, values) = csr.row(row);
        assert!(columns.len() == values.len() && columns.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(columns.last().is_none_or(|&column| (column as usize) < csr.ncols()));
    }
}

/// Writes a graph in each format that can hold it, and reads it again.
fn written<T: Value>(loaded: &Loaded<T>, read: impl Fn(&Path, FileFormat) -> Result<Csr<T>, Error>) {
    if loaded.graph.nrows() > 1 << 16 {
        return;
    }
    for format in FileFormat::WRITTEN {
        let path = folder().join("f.written");
        let whole = WholeFile::prepare(&path).expect("the folder can be written to");
        match io::write_as(whole, format, &loaded.graph, &loaded.numbering) {
            // an edge list has no vertices without edges, and so none of an empty graph
            Ok(done) if done.isolated > 0 || loaded.graph.nnz() == 0 => {}
            Ok(_) => {
                // an edge list has the names, if there are some
                let named = matches!(loaded.numbering, Numbering::Named(_)) && format == FileFormat::Edges;
                let format = if named { FileFormat::Names } else { format };
                let again = read(&path, format).unwrap_or_else(|error| panic!("{format}: {error}"));
                assert!(again == loaded.graph, "{format}: read {again:?}, wrote {:?}", loaded.graph);
            }
            Err(Error::Invalid { what }) => assert!(!what.contains('\n'), "{what}"),
            Err(error) => panic!("{format}: {error}"),
        }
    }
}

fn graph(path: &Path, format: Option<FileFormat>) -> Result<(), Error> {
    let loaded = match format {
        Some(format) => io::read_as(path, format, &())?,
        None => io::read(path, &())?,
    };
    checked(&loaded.graph);
    assert!(loaded.graph.is_symmetric());
    written(&loaded, |path, format| Ok(io::read_as(path, format, &())?.graph));
    Ok(())
}

fn digraph(path: &Path, format: Option<FileFormat>) -> Result<(), Error> {
    let loaded = match format {
        Some(format) => io::read_digraph_as(path, format, &())?,
        None => io::read_digraph(path, &())?,
    };
    checked(&loaded.graph);
    Ok(())
}

fn weighted(path: &Path, format: Option<FileFormat>) -> Result<(), Error> {
    let found = match format {
        Some(format) => io::read_weighted_as(path, format, &())?,
        None => io::read_weighted(path, &())?,
    };
    match found {
        Weighted::None(loaded) => checked(&loaded.graph),
        Weighted::Integer(loaded) => checked(&loaded.graph),
        Weighted::Real(loaded) => checked(&loaded.graph),
    }
    Ok(())
}

fn matrix<T: Value>(path: &Path, format: Option<FileFormat>) -> Result<(), Error> {
    let csr = match format {
        Some(format) => io::read_matrix_as::<T>(path, format, &())?,
        None => io::read_matrix::<T>(path, &())?,
    };
    checked(&csr);
    Ok(())
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let [what, name, file @ ..] = data else { return Corpus::Reject };
    let Some(name) = NAMES.get(usize::from(*name)) else { return Corpus::Reject };
    let format = match usize::from(what % 16) {
        0 => None,
        at if at <= FORMATS.len() => Some(FORMATS[at - 1]),
        _ => return Corpus::Reject,
    };
    let format = only().or(format);
    let path = folder().join(name);
    std::fs::write(&path, file).expect("the folder can be written to");
    let found = match what / 16 {
        0 => graph(&path, format),
        1 => digraph(&path, format),
        2 => weighted(&path, format),
        3 => matrix::<i8>(&path, format),
        4 => matrix::<f64>(&path, format),
        5 => matrix::<u64>(&path, format),
        6 => FileFormat::of_file(&path).map(drop),
        7 => matrix::<Complex>(&path, format),
        8 => matrix::<Way>(&path, format),
        _ => return Corpus::Reject,
    };
    if let Err(error) = &found {
        told(error);
    }
    Corpus::Keep
});
