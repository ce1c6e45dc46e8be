//! Closed vocabularies: enums whose variants have one word each, the same in SQL, Rust, URL and screen.

/// Declares an enum with a word for each variant, and both directions between them.
macro_rules! code {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in declared order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word stored, sent and shown.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::code::UnknownWord;

            fn from_str(word: &str) -> Result<Self, $crate::code::UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::code::UnknownWord {
                        what: stringify!($name),
                        word: word.chars().take(64).collect(),
                        known: &[$($word),*],
                    }),
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = ::std::borrow::Cow::<'de, str>::deserialize(from)?;
                word.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use code;

/// A word that is not in the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {word:?} is none of {}", known.join(", "))]
pub struct UnknownWord {
    /// Which vocabulary.
    pub what: &'static str,
    /// The word, cut to 64 characters.
    pub word: String,
    /// The words it has.
    pub known: &'static [&'static str],
}
