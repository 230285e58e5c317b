//! `vxm convert`, `vxm generate` and `vxm info --verify`: files in other formats.

use crate::command::answer::is_same_file;
use crate::command::arguments::{Convert, Entries};
use crate::command::bars::Bars;
use crate::command::phases::phase;
use crate::command::values::COMPLEX;
use crate::command::{counted, load, note, prepare, print, remark};
use std::ffi::OsStr;
use std::path::Path;
use vxm::error::printable;
use vxm::formats::Csr;
use vxm::io::{
    self, FileFormat, Loaded, NativeFile, Numbering, Value, Verify, Weighted, WholeFile, read_digraph_as,
    read_weighted_as,
};
use vxm::semiring::Element;
use vxm::{Error, Result};

/// Where a graph goes.
struct Target<'a> {
    name: &'a Path,
    whole: WholeFile,
    format: FileFormat,
}

impl<'a> Target<'a> {
    /// Checks that the file can be written. Its name tells the format, unless `asked` does or a `default` is given.
    fn new(name: &'a Path, asked: Option<FileFormat>, default: Option<FileFormat>) -> Result<Self> {
        let format = asked.or_else(|| FileFormat::of_name(name)).or(default).ok_or_else(|| {
            let name = printable(name.as_os_str().as_encoded_bytes());
            let written = FileFormat::WRITTEN.map(FileFormat::name).join(", ");
            Error::invalid(format!("{name}: the name tells no format: expected --output and one of {written}"))
        })?;
        if !FileFormat::WRITTEN.contains(&format) {
            return Err(Error::unknown("output format", format.name(), &FileFormat::WRITTEN.map(FileFormat::name)));
        }
        Ok(Self { name, whole: prepare("--out", name)?, format })
    }

    /// Writes a graph and says what it is.
    fn put<T: Value>(self, loaded: &Loaded<T>) -> Result<()> {
        note(&loaded.name, &loaded.report);
        self.write(&loaded.graph, &loaded.numbering, true)
    }

    /// Writes an undirected graph and says what it is, but not what reading it changed.
    fn put_graph(self, loaded: &Loaded) -> Result<()> {
        if self.format != FileFormat::Native {
            return self.write(&loaded.graph, &loaded.numbering, true);
        }
        let _phase = phase("write");
        io::write_native_graph(self.whole, &loaded.graph, &loaded.numbering)?;
        say(self.name, &loaded.graph, Some(true), "");
        Ok(())
    }

    fn write<T: Value>(self, matrix: &Csr<T>, numbering: &Numbering, is_graph: bool) -> Result<()> {
        let _phase = phase("write");
        let written = io::write_as(self.whole, self.format, matrix, numbering)?;
        say(self.name, matrix, is_graph.then_some(written.symmetric), &written.to_string());
        Ok(())
    }
}

/// Says on standard error, because the file may be standard output, what was written: a graph, if it is known whether it is undirected, or
/// else a matrix.
fn say<T: Element>(name: &Path, matrix: &Csr<T>, symmetric: Option<bool>, dropped: &str) {
    let name = printable(name.as_os_str().as_encoded_bytes());
    let (rows, entries) = (matrix.nrows(), matrix.nnz());
    let size = match symmetric {
        Some(true) => format!("{}, {}", counted(rows, "vertex"), counted(entries / 2, "edge")),
        Some(false) => format!("{}, {}", counted(rows, "vertex"), counted(entries, "directed edge")),
        None => format!("{rows} x {}, {entries} entries", matrix.ncols()),
    };
    let weights = if T::NAME == "()" { String::new() } else { format!(", values of type {}", T::NAME) };
    let dropped = if dropped.is_empty() { String::new() } else { format!("; {dropped}") };
    remark(format!("{name}: {size}{weights}{dropped}"));
}

/// `vxm convert`.
pub fn convert(options: &Convert) -> Result<()> {
    let out = &options.out;
    if is_same_file(out, options.graph.as_ref()) {
        return Err(Error::invalid(format!("{}: expected another file than the graph's", out.display())));
    }
    let target = Target::new(out, options.output, None)?;
    match options.matrix {
        Some(Entries(element)) => return convert_matrix(options, target, element),
        None if options.undirected => return target.put_graph(&load(&options.graph, &options.input)?),
        None => {}
    }
    let (graph, input) = (&options.graph, options.input.read_as());
    let (bars, reading) = (Bars::new(), phase("read"));
    let read = match options.pattern {
        true => Weighted::None(read_digraph_as(graph, input, &bars)?),
        false => read_weighted_as(graph, input, &bars)?,
    };
    drop((bars, reading));
    match read {
        // no weights, and no need to find out whether it is symmetric
        Weighted::None(loaded) if loaded.report.symmetric => {
            note(&loaded.name, &loaded.report);
            target.put_graph(&loaded)
        }
        Weighted::None(loaded) => target.put(&loaded),
        Weighted::Integer(loaded) => target.put(&loaded),
        Weighted::Real(loaded) => target.put(&loaded),
    }
}

/// A complex number.
#[vxm::semiring::scalar]
struct Complex {
    re: f64,
    im: f64,
}

/// Converts a matrix unchanged, with entries of the type `element`.
fn convert_matrix(options: &Convert, target: Target<'_>, element: &str) -> Result<()> {
    match element {
        "bool" => copy_matrix::<bool>(options, target),
        "i8" => copy_matrix::<i8>(options, target),
        "i16" => copy_matrix::<i16>(options, target),
        "i32" => copy_matrix::<i32>(options, target),
        "i64" => copy_matrix::<i64>(options, target),
        "u8" => copy_matrix::<u8>(options, target),
        "u16" => copy_matrix::<u16>(options, target),
        "u32" => copy_matrix::<u32>(options, target),
        "u64" => copy_matrix::<u64>(options, target),
        "f32" => copy_matrix::<f32>(options, target),
        "f64" => copy_matrix::<f64>(options, target),
        "f16" => copy_matrix::<half::f16>(options, target),
        "bf16" => copy_matrix::<half::bf16>(options, target),
        COMPLEX => copy_matrix::<Complex>(options, target),
        _ => copy_matrix::<()>(options, target),
    }
}

fn copy_matrix<T: Value>(options: &Convert, target: Target<'_>) -> Result<()> {
    let matrix = {
        let (bars, _phase) = (Bars::new(), phase("read"));
        io::read_matrix_as::<T>(&options.graph, options.input.read_as(), &bars)?
    };
    target.write(&matrix, &numbering(&options.graph, options.input.input)?, false)
}

/// What a matrix' file calls its rows.
pub fn numbering(graph: &OsStr, input: Option<FileFormat>) -> Result<Numbering> {
    let format = input.map_or_else(|| FileFormat::of_file(graph), Ok)?;
    Ok(match format {
        FileFormat::MatrixMarket | FileFormat::ShortestPath | FileFormat::Metis => Numbering::From(1),
        FileFormat::Native => NativeFile::open(graph)?.numbering()?,
        _ => Numbering::From(0),
    })
}

/// `vxm generate`.
pub fn generate(spec: &str, out: &Path, output: Option<FileFormat>) -> Result<()> {
    let target = Target::new(out, output, Some(FileFormat::MatrixMarket))?;
    let loaded = {
        let (bars, _phase) = (Bars::new(), phase("read"));
        io::generate(spec, &bars)?
    };
    note(&loaded.name, &loaded.report);
    target.put_graph(&loaded)
}

/// `vxm info --verify`: checks all that a native file says.
pub fn verify(graph: &OsStr) -> Result<()> {
    let file = NativeFile::open(graph)?;
    {
        let (bars, _phase) = (Bars::new(), phase("check"));
        file.verify(Verify::All, &bars)?;
        file.check_symmetry(&bars)?;
    }
    let name = printable(graph.as_encoded_bytes());
    let flags = [(file.is_symmetric(), ", symmetric"), (file.is_loopless(), ", without self-loops")];
    let flags: String = flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
    let (rows, columns, entries, element) = (file.nrows(), file.ncols(), file.nnz(), file.element());
    let bytes = file.len_bytes();
    print(&format!("{name}: sound: {bytes} bytes, {rows} x {columns}, {entries} entries of type {element}{flags}\n"))
}
