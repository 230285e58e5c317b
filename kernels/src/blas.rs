//! Dense products, by cuBLAS. Its sums of floats have no fixed order: they stand outside the promise of equal bits.

use cudarc::cublas::sys::{self, cublasOperation_t::CUBLAS_OP_N, cublasStatus_t as Status};
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::error::{Error, Result};
use crate::gpu::{Gpu, lock};
use crate::libraries::Library;
use crate::memory::Buffer;
use crate::plain::Plain;

/// What cuBLAS takes for itself on an sm_90; less on others.
const WORKSPACE: usize = 32 << 20;

/// The types that cuBLAS multiplies here: `f32` and `f64`.
pub trait Real: Plain + sealed::Gemm {}

impl Real for f32 {}
impl Real for f64 {}

/// cuBLAS on one device, told to use its stream. Stays open as long as the device: until the process ends.
pub(crate) struct Blas(sys::cublasHandle_t);

// SAFETY: cuBLAS may be called with a handle from any thread, one at a time
unsafe impl Send for Blas {}

mod sealed {
    use super::*;

    /// One of cuBLAS' products.
    pub trait Gemm {
        /// The function's name.
        const CALL: &'static str;

        /// `c = a b` by rows, `a` being m x k and `b` k x n, all numbers above 0.
        ///
        /// # Safety
        ///
        /// The handle is open, its device's context current, and the addresses are of as many values on that device.
        unsafe fn gemm(handle: sys::cublasHandle_t, sizes: [i64; 3], addresses: [u64; 3]) -> Status;
    }

    macro_rules! gemm {
        ($t:ty, $call:ident) => {
            impl Gemm for $t {
                const CALL: &'static str = stringify!($call);

                unsafe fn gemm(handle: sys::cublasHandle_t, [m, k, n]: [i64; 3], [a, b, c]: [u64; 3]) -> Status {
                    let (a, b, c) = (a as *const $t, b as *const $t, c as *mut $t);
                    // cuBLAS counts by columns: to it these are the transposes, and c' = b' a'
                    // SAFETY: the caller vouches for handle and addresses; the factors are read before the call returns
                    unsafe { sys::$call(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &1.0, b, n, a, k, &0.0, c, n) }
                }
            }
        };
    }
    gemm!(f32, cublasSgemm_v2_64);
    gemm!(f64, cublasDgemm_v2_64);
}

impl Gpu {
    /// The product of two dense matrices, `a` of m x k and `b` of k x n values, row by row; so is what is returned. Does not wait
    /// for it.
    ///
    /// The order in which the k products of a place are added up is cuBLAS' own, so the last bits of sums of floats may be others
    /// than elsewhere. The first call on a device opens cuBLAS there (some 100 ms, and 32 MiB beside the pool).
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no cuBLAS, [`Error::Range`] if a buffer is too short, [`Error::Cublas`] if one is on another
    /// device or cuBLAS fails, [`Error::DeviceMemory`], [`Error::Lost`].
    pub fn multiply<T: Real>(&self, [m, k, n]: [usize; 3], a: &Buffer, b: &Buffer) -> Result<Buffer> {
        let bytes = |rows: usize, columns: usize| rows.saturating_mul(columns).saturating_mul(size_of::<T>());
        for (buffer, end) in [(a, bytes(m, k)), (b, bytes(k, n))] {
            if buffer.gpu() != self {
                return Err(Error::Cublas { call: T::CALL, what: "a factor is on another device".to_owned() });
            }
            if end > buffer.len() {
                return Err(Error::Range { first: 0, end, len: buffer.len() });
            }
        }
        let mut product = self.alloc(bytes(m, n))?;
        if k == 0 {
            product.fill_zero()?;
        }
        if k == 0 || product.is_empty() || self.is_rehearsal() {
            return Ok(product);
        }
        let mut blas = lock(self.blas());
        let handle = match &*blas {
            Some(open) => open.0,
            None => blas.insert(self.open_blas()?).0,
        };
        let (sizes, addresses) = ([m, k, n].map(|size| size as i64), [a, b, &product].map(Buffer::address));
        // SAFETY: the handle is open, and the buffers are this device's and hold as many values
        self.call_blas(T::CALL, || unsafe { T::gemm(handle, sizes, addresses) })?;
        self.count_launch(&T::CALL.into());
        Ok(product)
    }

    fn open_blas(&self) -> Result<Blas> {
        Library::Cublas.require()?;
        let mut handle = core::ptr::null_mut();
        // SAFETY: valid for writing
        self.call_blas("cublasCreate_v2", || unsafe { sys::cublasCreate_v2(&mut handle) })?;
        let stream = self.stream().cast();
        // SAFETY: both are open
        let told = self.call_blas("cublasSetStream_v2", || unsafe { sys::cublasSetStream_v2(handle, stream) });
        if let Err(error) = told {
            // SAFETY: made above, and nothing holds it
            let _ = unsafe { sys::cublasDestroy_v2(handle) };
            return Err(error);
        }
        Ok(Blas(handle))
    }

    /// Calls cuBLAS in the device's context.
    fn call_blas(&self, name: &'static str, mut call: impl FnMut() -> Status) -> Result<()> {
        let failed = self.call_or_trim(name, WORKSPACE, || match call() {
            Status::CUBLAS_STATUS_SUCCESS => Ok(None),
            Status::CUBLAS_STATUS_ALLOC_FAILED => Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
            other => Ok(Some(other)),
        })?;
        let Some(status) = failed else { return Ok(()) };
        // a kernel that failed before tells more
        self.synchronize()?;
        Err(Error::Cublas { call: name, what: format!("{status:?}") })
    }
}
