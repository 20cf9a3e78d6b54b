//! Runtime dispatch: runs a plain loop compiled for the best vector instructions of this machine.

use pulp::{Arch, WithSimd};

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
