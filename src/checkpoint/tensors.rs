//! Typed arrays on their way to and from a safetensors file, borrowed where they need not be copied.

use safetensors::Dtype;
use std::borrow::Cow;

/// A number type a checkpoint can hold.
pub trait Element: bytemuck::Pod {
    /// The values as one of the kinds a checkpoint knows.
    fn wrap(values: Cow<'_, [Self]>) -> Values<'_>;
    /// The values again, where they are of this kind.
    fn unwrap<'v, 'a>(values: &'v Values<'a>) -> Option<&'v Cow<'a, [Self]>>;
    /// What users call it.
    const NAME: &'static str;
}

macro_rules! values {
    ($($kind:ident $number:ty, $dtype:ident, $name:literal;)*) => {
        /// The numbers of one tensor.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Values<'a> {
            $(#[doc = concat!("Of type `", $name, "`.")] $kind(Cow<'a, [$number]>),)*
        }

        impl Values<'_> {
            /// How many there are.
            pub fn len(&self) -> usize {
                match self { $(Self::$kind(values) => values.len(),)* }
            }

            /// What users call their type.
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)* }
            }

            pub(super) fn dtype(&self) -> Dtype {
                match self { $(Self::$kind(_) => Dtype::$dtype,)* }
            }

            pub(super) fn bytes(&self) -> &[u8] {
                match self { $(Self::$kind(values) => bytemuck::cast_slice(values),)* }
            }

            /// The numbers behind little-endian bytes, which need not be aligned.
            pub(super) fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Values<'static>> {
                match dtype {
                    $(Dtype::$dtype => Some(Values::$kind(Cow::Owned(bytemuck::pod_collect_to_vec(bytes)))),)*
                    _ => None,
                }
            }
        }

        $(
            impl Element for $number {
                const NAME: &'static str = $name;
                fn wrap(values: Cow<'_, [Self]>) -> Values<'_> {
                    Values::$kind(values)
                }
                fn unwrap<'v, 'a>(values: &'v Values<'a>) -> Option<&'v Cow<'a, [Self]>> {
                    if let Values::$kind(values) = values { Some(values) } else { None }
                }
            }
        )*
    };
}

values! {
    F32 f32, F32, "f32";
    F64 f64, F64, "f64";
    U8 u8, U8, "u8";
    U16 u16, U16, "u16";
    U32 u32, U32, "u32";
    U64 u64, U64, "u64";
}

impl Values<'_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first number that is NaN or infinite.
    pub fn not_finite(&self) -> Option<f64> {
        match self {
            Self::F32(values) => values.iter().find(|v| !v.is_finite()).map(|&v| f64::from(v)),
            Self::F64(values) => values.iter().find(|v| !v.is_finite()).copied(),
            _ => None,
        }
    }
}

/// A named, shaped array.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// Such as `online/trunk.0.weight`.
    pub name: String,
    /// Outermost dimension first.
    pub shape: Vec<usize>,
    /// Row-major.
    pub values: Values<'a>,
}

impl safetensors::View for &Tensor<'_> {
    fn dtype(&self) -> Dtype {
        self.values.dtype()
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        self.values.bytes().into()
    }
    fn data_len(&self) -> usize {
        self.values.bytes().len()
    }
}
