//! Runtime dispatch: runs a plain loop compiled for the best vector instructions of this machine.

use pulp::{Arch, WithSimd};

/// Numbers that memory delivers together.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 16;

/// Runs `body` with the widest vector unit this machine has; results do not depend on which.
///
/// `body` must be `#[inline(always)]` through and through to be vectorised, and must not sum floats
/// in an order of its own (a loop that maps element by element is safe).
#[inline]
pub fn vectorised<Body: FnOnce()>(body: Body) {
    struct Dispatch<Body>(Body);
    impl<Body: FnOnce()> WithSimd for Dispatch<Body> {
        type Output = ();
        #[expect(
            clippy::inline_always,
            reason = "the dispatched instruction set must reach the loops"
        )]
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _simd: S) {
            (self.0)();
        }
    }
    Arch::new().dispatch(Dispatch(body));
}

/// Asks for numbers before they are needed, where the machine can be asked.
#[inline]
pub fn fetch_ahead(numbers: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        for line in numbers.chunks(LINE) {
            simd.sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast());
        }
    }
}
