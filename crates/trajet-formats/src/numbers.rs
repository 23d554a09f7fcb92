//! Lists of numbers that are serialised as one byte string.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{AddAssign, Deref, DerefMut};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::memory::{self, Refused};

/// A type whose values are serialised as their bytes.
pub trait Number: FromBytes + IntoBytes + Immutable + KnownLayout + Copy {
    /// Name of a list for deserialisers: NumPy's name of the type of the elements.
    const NAME: &'static str;
}

macro_rules! numbers {
    ($($number:ident $name:literal),*) => {
        $(impl Number for $number {
            const NAME: &'static str = $name;
        })*
    };
}

impl<T: Number, const N: usize> Number for [T; N] {
    const NAME: &'static str = T::NAME;
}

numbers!(
    f64 "float64", f32 "float32", u8 "uint8", u32 "uint32", i64 "int64", u64 "uint64", usize "uintp"
);

/// A list of numbers, serialised as one byte string in the byte order of the machine: element by element, as a `Vec`
/// is, takes six times as long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers<T>(pub Vec<T>);

/// Atoms by index in the trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtomList(pub Vec<i64>);

impl AtomList {
    /// Name of a list of atoms for deserialisers.
    pub const NAME: &'static str = "atoms";
}

impl<T: Copy> Numbers<T> {
    /// Returns `len` numbers, all of them `value`.
    ///
    /// # Errors
    /// [`Refused`] if there is not enough memory.
    pub fn filled(len: usize, value: T, what: &'static str) -> Result<Self, Refused> {
        memory::filled(len, value, what).map(Numbers)
    }
}

impl<T: Copy + AddAssign> Numbers<T> {
    /// Adds the numbers of a list of the same length.
    pub fn add(&mut self, other: &[T]) {
        self.iter_mut().zip(other).for_each(|(sum, &number)| *sum += number);
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl Deref for AtomList {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl DerefMut for AtomList {
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut self.0
    }
}

/// Serialises numbers as their bytes; for `#[serde(with = "trajet_formats::numbers")]`.
///
/// # Errors
/// The errors of the serialiser.
pub fn serialize<T: Number, S: Serializer>(numbers: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(numbers.as_bytes())
}

/// Deserialises numbers from their bytes.
///
/// # Errors
/// The errors of the deserialiser, and if the bytes end inside a number.
pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_newtype_struct(T::NAME, NumbersVisitor(PhantomData))
}

/// The same for lists that may be left out.
pub mod optional {
    use super::*;

    /// As [`serialize`](super::serialize).
    ///
    /// # Errors
    /// The errors of the serialiser.
    pub fn serialize<T: Number, S: Serializer>(
        numbers: &Option<Vec<T>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match numbers {
            Some(numbers) => to.serialize_some(&Slice(numbers)),
            None => to.serialize_none(),
        }
    }

    /// As [`deserialize`](super::deserialize).
    ///
    /// # Errors
    /// The errors of the deserialiser, and if the bytes end inside a number.
    pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<T>>, D::Error> {
        Ok(Option::<Numbers<T>>::deserialize(from)?.map(|numbers| numbers.0))
    }
}

struct Slice<'a, T>(&'a [T]);

impl<T: Number> Serialize for Slice<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, to)
    }
}

impl<T: Number> Serialize for Numbers<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serialize(self, to)
    }
}

impl Serialize for AtomList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serialize(self, to)
    }
}

impl<'de, T: Number> Deserialize<'de> for Numbers<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        deserialize(from).map(Numbers)
    }
}

impl<'de> Deserialize<'de> for AtomList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let visitor = NumbersVisitor(PhantomData);
        from.deserialize_newtype_struct(AtomList::NAME, visitor).map(AtomList)
    }
}

struct NumbersVisitor<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for NumbersVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the bytes of numbers")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_bytes(self)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return Err(E::custom("the bytes end inside a number"));
        }
        let numbers = T::new_vec_zeroed(bytes.len() / size_of::<T>());
        let mut numbers = numbers.map_err(|_| E::custom("there is no memory for the numbers"))?;
        numbers.as_mut_bytes().copy_from_slice(bytes);
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_as_their_bytes() {
        let numbers = Numbers(vec![1.5, -0.0, f64::NAN]);
        let bytes = postcard::to_stdvec(&(7u8, &numbers)).unwrap();
        assert_eq!(bytes.len(), 1 + 1 + 24);
        let (before, back): (u8, Numbers<f64>) = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(before, 7);
        assert!(back.iter().zip(&*numbers).all(|(x, y)| x.to_bits() == y.to_bits()));
        assert!(postcard::from_bytes::<(u8, Numbers<u64>)>(&bytes[..25]).is_err());
        let odd = postcard::to_stdvec(&Numbers(vec![1u32; 3])).unwrap();
        assert!(postcard::from_bytes::<Numbers<u64>>(&odd).is_err());
    }
}
