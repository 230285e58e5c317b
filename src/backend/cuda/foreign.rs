//! Arrays of other libraries that lie on a device already: as vectors, and as the arrays of a matrix.

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::compact::launch_over;
use crate::backend::cuda::terminals::rows_builder;
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::error::{Error, Result};
use crate::formats::MAX_VERTICES;
use crate::kernels::{Buffer, sources};
use vxm_semiring::Element;
use vxm_semiring::dynamic::Kind;

// what no column can be becomes the greatest `u32`, below which no number of columns lies
const _: () = assert!(MAX_VERTICES == u32::MAX as usize);

/// The arguments of the kernel that brings numbers into words.
type Types = [&'static str; 3];

/// Numbers that another library holds in a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign {
    /// The address of the first.
    pub address: u64,
    /// How many there are.
    pub len: usize,
    /// The bytes from one to the next; below 0 if the next lies before.
    pub stride: i64,
    /// What they are.
    pub kind: Kind,
}

impl Foreign {
    /// How numbers become elements of type `T`, or words with their bits: the C++ types of both, and of what is done to each. `None` if `T` holds
    /// other numbers.
    fn types<T: Element>(&self) -> Option<Types> {
        let as_it_is = "vxm::AsIs";
        let (from, by) = match self.kind {
            Kind::Bool => ("unsigned char", "vxm::Truth"),
            Kind::U8 | Kind::I8 => ("unsigned char", as_it_is),
            Kind::U16 | Kind::I16 | Kind::F16 | Kind::Bf16 => ("unsigned short", as_it_is),
            Kind::U32 | Kind::I32 => ("vxm::u32", as_it_is),
            Kind::U64 | Kind::I64 => ("vxm::u64", as_it_is),
            Kind::F32 => ("vxm::u32", "vxm::OneNan"),
            Kind::F64 => ("vxm::u64", "vxm::OneNan"),
            _ => return None,
        };
        let to = match size_of::<T>() {
            1 => "unsigned char",
            2 => "unsigned short",
            4 => "vxm::u32",
            _ => "vxm::u64",
        };
        self.kind.fits::<T>().then_some([from, to, by])
    }

    /// The numbers as elements of type `T`, or as words, in `to`.
    fn elements<T: Element>(&self, to: Buffer) -> Result<Buffer> {
        let types = self.types::<T>().ok_or_else(|| {
            Error::invalid(format!("an array of {}: expected numbers of {} bytes", self.kind, size_of::<T>()))
        })?;
        self.brought(to, types)
    }

    /// The C++ type of an integer. `None` if it is none.
    fn signed(&self) -> Option<&'static str> {
        match self.kind {
            Kind::U8 => Some("unsigned char"),
            Kind::I8 => Some("signed char"),
            Kind::U16 => Some("unsigned short"),
            Kind::I16 => Some("short"),
            Kind::U32 => Some("vxm::u32"),
            Kind::I32 => Some("int"),
            Kind::U64 => Some("vxm::u64"),
            Kind::I64 => Some("long long"),
            _ => None,
        }
    }

    /// Checks that a kernel can read the numbers one by one.
    fn check(&self) -> Result<()> {
        let (at, by, size) = (self.address, self.stride, self.kind.size().max(1) as u64);
        if self.len == 0 {
            return Ok(());
        }
        let what = || format!("an array of {} at address {at:#x}, {by} bytes apart", self.kind);
        if !(at.is_multiple_of(size) && by.unsigned_abs().is_multiple_of(size)) {
            return Err(Error::invalid(format!("{}: expected multiples of {size}", what())));
        }
        let last = i128::from(at) + i128::from(by) * (self.len as i128 - 1);
        if at == 0 || last <= 0 || last > i128::from(u64::MAX) {
            return Err(Error::invalid(format!("{}: expected addresses in memory of {} numbers", what(), self.len)));
        }
        Ok(())
    }

    /// The numbers in `to`, brought there by `types`: see [`types`](Self::types).
    fn brought(&self, to: Buffer, types: Types) -> Result<Buffer> {
        self.check()?;
        let mut kernel = builder(to.gpu());
        let ty = kernel.ty("vxm::WordsOf", types.map(Into::into));
        launch_over(&mut kernel, ty, &[self.address, self.stride as u64, self.len as u64, to.address()], self.len)?;
        Ok(to)
    }
}

fn builder(gpu: &Gpu) -> KernelBuilder {
    rows_builder(gpu).with(sources::FOREIGN)
}

/// A vector of the numbers, which are copied on the device: as elements of their type, or as words with their bits.
///
/// # Errors
/// The numbers can't be elements of type `T`, or lie at odd addresses. The device has too little memory, or is lost.
///
/// # Safety
/// The device can read the numbers, and nothing writes them until its work is done.
pub unsafe fn vector<T: Element>(gpu: &Gpu, numbers: &Foreign) -> Result<DeviceVector<T>> {
    let words = numbers.elements::<T>(gpu.alloc(numbers.len * size_of::<T>())?)?;
    Ok(DeviceVector::dense(gpu, words, numbers.len))
}

/// The matrix of arrays in CSR, which are copied on the device. `None` if they aren't rows of a matrix of this shape, or if a row's columns
/// don't ascend: a column that is below 0, or no `u32`, lies outside of every shape. O(rows + entries) time.
///
/// # Errors
/// Offsets or columns aren't integers, or there are too few or too many. As for [`vector`].
///
/// # Safety
/// As for [`vector`].
pub unsafe fn csr<A: Element>(
    gpu: &Gpu,
    (nrows, ncols): (usize, usize),
    (starts, columns): (&Foreign, &Foreign),
    values: Option<&Foreign>,
) -> Result<Option<DeviceCsr<A>>> {
    let integers = |of: &Foreign, what| {
        of.signed().ok_or_else(|| Error::invalid(format!("{what}: expected integers, found {}", of.kind)))
    };
    let (start, column) = (integers(starts, "offsets")?, integers(columns, "columns")?);
    let nnz = columns.len;
    if starts.len != nrows + 1 {
        let found = starts.len;
        return Err(Error::invalid(format!("Csr: found {found} offsets for {nrows} rows: expected {}", nrows + 1)));
    }
    if nnz as u128 > nrows as u128 * ncols as u128 {
        return Err(Error::invalid(format!("Csr: {nnz} columns: expected at most {nrows} x {ncols}")));
    }
    let held = match values {
        None => gpu.alloc(0)?,
        Some(values) if values.len != nnz => {
            return Err(Error::invalid(format!("Csr: {nnz} columns but {} values", values.len)));
        }
        Some(values) => {
            values.elements::<A>(alloc_entries(gpu, nnz.saturating_mul(size_of::<A>()), nrows)?)?
        }
    };
    let offsets = starts.brought(gpu.alloc((nrows + 1) * 8)?, [start, "vxm::u64", "vxm::AsIs"])?;
    let columns = columns.brought(alloc_entries(gpu, nnz.saturating_mul(4), nrows)?, [column, "vxm::u32", "vxm::Column"])?;
    let found = gpu.zeroed(3 * 8)?;
    let rows = [offsets.address(), nrows as u64, nnz as u64, columns.address(), ncols as u64, found.address()];
    launch_over(&mut builder(gpu), "vxm::CheckRows", &rows, nnz.max(nrows + 1))?;
    let found = found.download::<u64>(3)?;
    if found[0] != 0 || found[1] != found[2] {
        return Ok(None);
    }
    DeviceCsr::from_parts(gpu, (nrows, ncols, nnz), offsets, columns, held).map(Some)
}

/// Whether two matrices of one shape have the same entries, bit for bit. O(rows + entries) time.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn are_equal<A: Element>(one: &DeviceCsr<A>, other: &DeviceCsr<A>) -> Result<bool> {
    if (one.nrows(), one.ncols(), one.nnz()) != (other.nrows(), other.ncols(), other.nnz()) {
        return Ok(false);
    }
    let gpu = one.gpu();
    let found = gpu.zeroed(8)?;
    let differ = |one: &Buffer, other: &Buffer, bytes: usize| {
        let (size, word) = if bytes.is_multiple_of(4) { (4, "vxm::u32") } else { (1, "unsigned char") };
        let words = [one.address(), other.address(), (bytes / size) as u64, found.address()];
        let mut kernel = builder(gpu);
        let ty = kernel.ty("vxm::DifferingWords", [word.into()]);
        launch_over(&mut kernel, ty, &words, bytes / size)
    };
    differ(&one.offsets, &other.offsets, (one.nrows() + 1) * 8)?;
    differ(&one.columns, &other.columns, one.nnz() * 4)?;
    if size_of::<A>() > 0 {
        differ(&one.values, &other.values, one.nnz() * size_of::<A>())?;
    }
    Ok(found.download::<u64>(1)?[0] == 0)
}
