//! Values that are copied to and from a device as their bytes.

use half::{bf16, f16};

/// A value that is copied to and from a device as its bytes, in the host's layout: an element of a vector or a matrix.
///
/// # Safety
///
/// The type has no padding, and any bytes are a valid value of it after [`mend`](Self::mend).
pub unsafe trait Pod: Copy + Send + Sync + 'static {
    /// Turns bytes that came from a device into bytes of valid values. Most types need no change.
    fn mend(_bytes: &mut [u8]) {}
}

macro_rules! pod {
    ($($t:ty)*) => {$(
        // SAFETY: a number without padding (or the unit type), of which every pattern of bits is a value
        unsafe impl Pod for $t {}
    )*};
}
pod!(() i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

// SAFETY: one byte, which `mend` makes 0 or 1
unsafe impl Pod for bool {
    fn mend(bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// The bytes of `values`.
pub fn bytes_of<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: a `Pod` has no padding, so all its bytes are initialised; `u8` has alignment 1
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
