//! Dense products, by cuBLAS. cuBLAS sums in an order of its own, so these products are exempt from the guarantee of equal bits.

use std::sync::Mutex;

use cudarc::cublas::sys::{self, cublasOperation_t::CUBLAS_OP_N, cublasStatus_t as Status};
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::context::{Gpu, lock};
use crate::error::{Error, Result};
use crate::libraries::Library;
use crate::memory::Buffer;
use crate::pod::Pod;

/// Bytes of device memory that cuBLAS takes for itself on an sm_90. It takes less on other architectures.
const WORKSPACE: usize = 32 << 20;

/// The types of matrices that [`Gpu::multiply`] takes: `f32` and `f64`.
pub trait Real: Pod + sealed::Gemm {}

impl Real for f32 {}
impl Real for f64 {}

/// A cuBLAS handle for one device, which uses the device's stream. It stays open until the process ends, as the device does.
struct Handle(sys::cublasHandle_t);

// SAFETY: cuBLAS may be called with a handle from any thread, by one at a time
unsafe impl Send for Handle {}

/// A device's cuBLAS handle, once a product has needed it.
#[derive(Default)]
struct Blas(Mutex<Option<Handle>>);

mod sealed {
    use super::*;

    /// One of cuBLAS' matrix products.
    pub trait Gemm {
        /// The function's name.
        const CALL: &'static str;

        /// Computes `c = a b` for row-major matrices: `a` is m x k, `b` is k x n. All three sizes are above 0.
        ///
        /// # Safety
        ///
        /// The handle is open and its device's context is current. The addresses are of buffers on that device that hold these matrices.
        unsafe fn gemm(handle: sys::cublasHandle_t, sizes: [i64; 3], addresses: [u64; 3]) -> Status;
    }

    macro_rules! gemm {
        ($t:ty, $call:ident) => {
            impl Gemm for $t {
                const CALL: &'static str = stringify!($call);

                unsafe fn gemm(handle: sys::cublasHandle_t, [m, k, n]: [i64; 3], [a, b, c]: [u64; 3]) -> Status {
                    let (a, b, c) = (a as *const $t, b as *const $t, c as *mut $t);
                    // cuBLAS is column-major: it sees the transposes, and computes c' = b' a'
                    // SAFETY: the caller vouches for handle and addresses; the scalars 1 and 0 are read before the call returns
                    unsafe { sys::$call(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &1.0, b, n, a, k, &0.0, c, n) }
                }
            }
        };
    }
    gemm!(f32, cublasSgemm_v2_64);
    gemm!(f64, cublasDgemm_v2_64);
}

impl Gpu {
    /// The product of two dense row-major matrices: `a` is m x k, `b` is k x n, and the result is m x n and row-major too. Does not wait
    /// for it.
    ///
    /// cuBLAS adds the k products of an entry in an order of its own, so the last bits may differ from a product on the host. The first
    /// call on a device opens cuBLAS there, which takes some 100 ms and up to 32 MiB beside the pool.
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
        if k == 0 || product.is_empty() || self.stand_in().is_some() {
            return Ok(product);
        }
        let blas = self.attached::<Blas>();
        let mut blas = lock(&blas.0);
        let handle = match &*blas {
            Some(open) => open.0,
            None => blas.insert(self.open_blas()?).0,
        };
        let (sizes, addresses) = ([m, k, n].map(|size| size as i64), [a, b, &product].map(Buffer::address));
        // SAFETY: the handle is open, and the buffers are on this device and hold the matrices
        self.call_blas(T::CALL, || unsafe { T::gemm(handle, sizes, addresses) })?;
        self.count_launch(&T::CALL.into());
        Ok(product)
    }

    fn open_blas(&self) -> Result<Handle> {
        Library::Cublas.require()?;
        let mut handle = core::ptr::null_mut();
        // SAFETY: valid for writing
        self.call_blas("cublasCreate_v2", || unsafe { sys::cublasCreate_v2(&mut handle) })?;
        let stream = self.handles().stream.cast();
        // SAFETY: both are open
        let set = self.call_blas("cublasSetStream_v2", || unsafe { sys::cublasSetStream_v2(handle, stream) });
        if let Err(error) = set {
            // SAFETY: made above, and nothing else holds it
            let _ = unsafe { sys::cublasDestroy_v2(handle) };
            return Err(error);
        }
        Ok(Handle(handle))
    }

    /// Calls cuBLAS in the device's context.
    fn call_blas(&self, name: &'static str, mut call: impl FnMut() -> Status) -> Result<()> {
        let failed = self.call_or_trim(name, WORKSPACE, || match call() {
            Status::CUBLAS_STATUS_SUCCESS => Ok(None),
            Status::CUBLAS_STATUS_ALLOC_FAILED => Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
            other => Ok(Some(other)),
        })?;
        let Some(status) = failed else { return Ok(()) };
        // if a kernel failed before, its error is the cause and says more
        self.synchronize()?;
        Err(Error::Cublas { call: name, what: format!("{status:?}") })
    }
}
