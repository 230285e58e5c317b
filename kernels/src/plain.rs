//! Values that are their bytes.

use half::{bf16, f16};

/// A value that is moved to and from a device as its bytes, as they are in memory here: the elements of vectors and matrices.
///
/// # Safety
///
/// The type has no padding, and after [`mend`](Self::mend) any bytes are values of it.
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// Makes values of bytes that came from a device; most types need nothing.
    fn mend(_bytes: &mut [u8]) {}
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        // SAFETY: a number without padding (or nothing at all), of which every pattern of bits is a value
        unsafe impl Plain for $t {}
    )*};
}
plain!(() i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

// SAFETY: one byte, which `mend` makes 0 or 1
unsafe impl Plain for bool {
    fn mend(bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// The bytes of `values`.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: a `Plain` has no padding, so all its bytes are initialised; `u8` has no alignment to keep
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        assert_eq!(bytes_of(&[1u16, 0x0203]), [1, 0, 3, 2]);
        assert!(bytes_of(&[(), ()]).is_empty());
        let mut bytes = [0, 1, 2, 255];
        bool::mend(&mut bytes);
        assert_eq!(bytes, [0, 1, 1, 1]);
    }
}
