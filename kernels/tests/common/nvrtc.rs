//! The check for NVRTC in tests that need it.

/// Whether NVRTC and the CUDA headers are installed; prints which are not. `VXM_TEST_NVRTC=1` makes that a failure.
pub fn is_there() -> bool {
    let missing = match (vxm_kernels::nvrtc_version(), vxm_kernels::headers()) {
        (Ok(_), Some(_)) => return true,
        (Err(error), _) => error.to_string(),
        (Ok(_), None) => "there are no CUDA headers".to_owned(),
    };
    assert!(std::env::var_os("VXM_TEST_NVRTC").is_none_or(|value| value != "1"), "{missing}");
    println!("skipped: {missing}");
    false
}
