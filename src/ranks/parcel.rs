//! Parcels: what one rank tells another about the elements at places that both know, in the smallest of several forms.

use crate::error::{Error, Result};
use crate::formats::bytes;
use vxm_semiring::{Element, Word};

/// What is told of one place. Elements are told as their bits, so that parcels are packed by the same code for all types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Item<W> {
    /// It is as it was told before.
    Same,
    /// It holds no element now.
    Absent,
    /// It holds the element with these bits now.
    Value(W),
}

/// The forms of a parcel, by its first byte. A parcel without bytes says that nothing has changed.
const ALL: u8 = 1;
/// Up to four different items, and for each place which of them it is, in up to two bits.
const FEW: u8 = 2;
/// One item that is frequent, a bit for each place that says whether it has another, and the values of those that do.
const MOSTLY: u8 = 3;
/// The changed places, as distances, a bit for each that says whether it holds an element, and the values.
const LIST: u8 = 4;
/// Two bits for each place, and the values.
const MIXED: u8 = 5;

impl<W: Word> Item<W> {
    /// An element that is told to a rank that holds nothing yet.
    pub fn of<T: Element<Bits = W>>(x: Option<T>) -> Self {
        x.map_or(Self::Same, |x| Self::Value(x.bits()))
    }

    /// What has changed at a place.
    pub fn change<T: Element<Bits = W>>(before: Option<T>, now: Option<T>) -> Self {
        match (before, now) {
            (None, None) => Self::Same,
            (Some(_), None) => Self::Absent,
            (Some(x), Some(y)) if x.bits() == y.bits() => Self::Same,
            (_, Some(y)) => Self::Value(y.bits()),
        }
    }

    fn tag(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Absent => 1,
            Self::Value(_) => 2,
        }
    }

    fn value(self) -> Option<W> {
        match self {
            Self::Value(x) => Some(x),
            _ => None,
        }
    }
}

/// Counts of items, from which the sizes of all forms follow.
struct Counts<W> {
    same: usize,
    values: usize,
    /// The different items, if there are at most four.
    different: Option<Vec<Item<W>>>,
    /// An item that more than half of the places have, if there is one.
    frequent: Item<W>,
    frequent_count: usize,
    /// The bytes of the distances of changed places.
    distances: usize,
}

impl<W: Word> Counts<W> {
    fn of(items: &[Item<W>]) -> Self {
        let (mut different, mut many) = (Vec::<Item<W>>::new(), false);
        // Boyer and Moore's majority vote
        let (mut frequent, mut votes) = (Item::Same, 0usize);
        let (mut tags, mut distances, mut last) = ([0; 3], 0, 0);
        for (k, &item) in items.iter().enumerate() {
            tags[usize::from(item.tag())] += 1;
            if item.tag() != 0 {
                distances += varint_len(k - last);
                last = k;
            }
            if !many && !different.contains(&item) {
                many = different.len() == 4;
                different.push(item);
            }
            match votes {
                0 => (frequent, votes) = (item, 1),
                _ if frequent == item => votes += 1,
                _ => votes -= 1,
            }
        }
        let [same, _, values] = tags;
        let frequent_count = items.iter().filter(|&&item| item == frequent).count();
        let different = (!many).then_some(different);
        Self { same, values, different, frequent, frequent_count, distances }
    }

    /// The bytes of the forms of a parcel about `n` places, with elements of `size` bytes, in the order of their numbers. A form that can't tell
    /// these items has the most.
    fn sizes(&self, n: usize, size: usize) -> [usize; 5] {
        let (changed, values, never) = (n - self.same, self.values, usize::MAX);
        let all = if values == n { 1 + n * size } else { never };
        let few = self.different.as_ref().map_or(never, |items| {
            2 + items.len()
                + items.iter().filter(|item| item.tag() == 2).count() * size
                + (n * WIDTHS[items.len()]).div_ceil(8)
        });
        let mostly = match self.others_are_values(n) {
            true => 2 + size + n.div_ceil(8) + (n - self.frequent_count) * size,
            false => never,
        };
        let list = 1 + varint_len(changed) + self.distances + changed.div_ceil(8) + values * size;
        [all, few, mostly, list, 1 + n.div_ceil(4) + values * size]
    }

    /// Whether all places but the frequent ones hold values.
    fn others_are_values(&self, n: usize) -> bool {
        n - self.frequent_count == self.values - if self.frequent.tag() == 2 { self.frequent_count } else { 0 }
    }
}

fn varint_len(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

fn put_varint(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_item<W: Word>(bytes: &mut Vec<u8>, size: usize, item: Item<W>) {
    bytes.push(item.tag());
    if let Item::Value(value) = item {
        bytes::append_word(bytes, value, size);
    }
}

/// Appends numbers of `width` bits each, of which a byte holds a whole number.
fn put_codes(bytes: &mut Vec<u8>, width: usize, codes: impl Iterator<Item = u8>) {
    if width == 0 {
        return;
    }
    let (mut byte, mut used) = (0, 0);
    for code in codes {
        byte |= code << used;
        used += width;
        if used == 8 {
            bytes.push(byte);
            (byte, used) = (0, 0);
        }
    }
    if used > 0 {
        bytes.push(byte);
    }
}

/// Packs items into the smallest parcel. Elements have `size` bytes.
pub(crate) fn pack<W: Word>(items: &[Item<W>], size: usize) -> Vec<u8> {
    let (n, counts) = (items.len(), Counts::of(items));
    let changed = n - counts.same;
    if changed == 0 {
        return Vec::new();
    }
    let [all, few, mostly, list, mixed] = counts.sizes(n, size);
    let least = all.min(few).min(mostly).min(list).min(mixed);
    let mut bytes = Vec::with_capacity(least);
    let rest: &mut dyn Iterator<Item = W> = match &counts.different {
        _ if least == all => {
            bytes.push(ALL);
            &mut items.iter().filter_map(|item| item.value())
        }
        Some(different) if least == few => {
            bytes.extend([FEW, different.len() as u8]);
            different.iter().for_each(|&item| put_item(&mut bytes, size, item));
            let code = |item: &Item<W>| different.iter().position(|other| other == item).unwrap_or(0) as u8;
            put_codes(&mut bytes, WIDTHS[different.len()], items.iter().map(code));
            &mut std::iter::empty()
        }
        _ if least == mostly => {
            bytes.push(MOSTLY);
            put_item(&mut bytes, size, counts.frequent);
            let other = |item: &Item<W>| *item != counts.frequent;
            put_codes(&mut bytes, 1, items.iter().map(|item| u8::from(other(item))));
            &mut items.iter().filter(move |item| other(item)).filter_map(|item| item.value())
        }
        _ if least == list => {
            bytes.push(LIST);
            put_varint(&mut bytes, changed);
            let mut last = 0;
            for (k, _) in items.iter().enumerate().filter(|(_, item)| item.tag() != 0) {
                put_varint(&mut bytes, k - last);
                last = k;
            }
            let present = items.iter().filter(|item| item.tag() != 0).map(|item| item.tag() - 1);
            put_codes(&mut bytes, 1, present);
            &mut items.iter().filter_map(|item| item.value())
        }
        _ => {
            bytes.push(MIXED);
            put_codes(&mut bytes, 2, items.iter().map(|item| item.tag()));
            &mut items.iter().filter_map(|item| item.value())
        }
    };
    rest.for_each(|value| bytes::append_word(&mut bytes, value, size));
    bytes
}

/// The bits that tell up to four items apart, by their number.
const WIDTHS: [usize; 5] = [0, 0, 1, 2, 2];

/// Numbers of a few bits each.
struct Codes<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Codes<'_> {
    fn at(&self, k: usize) -> u8 {
        let (bit, mask) = (k * self.width, (1 << self.width) - 1);
        self.bytes.get(bit / 8).map_or(0, |byte| byte >> (bit % 8) & mask)
    }
}

/// A parcel that is read from its beginning.
struct Reader<'a> {
    rest: &'a [u8],
    /// The bytes of an element.
    size: usize,
}

impl<'a> Reader<'a> {
    /// Numbers of `width` bits for `n` places.
    fn codes(&mut self, width: usize, n: usize) -> Option<Codes<'a>> {
        let (bytes, rest) = self.rest.split_at_checked(n.checked_mul(width)?.div_ceil(8))?;
        self.rest = rest;
        Some(Codes { bytes, width })
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn varint(&mut self) -> Option<usize> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= usize::from(byte & 127).checked_shl(shift)?;
            if byte < 128 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn value<W: Word>(&mut self) -> Option<W> {
        let (value, rest) = self.rest.split_at_checked(self.size)?;
        self.rest = rest;
        Some(bytes::word(value))
    }

    fn item<W: Word>(&mut self) -> Option<Item<W>> {
        Some(match self.byte()? {
            0 => Item::Same,
            1 => Item::Absent,
            _ => Item::Value(self.value()?),
        })
    }
}

/// The error of a parcel that another rank can't have made of the same program. It ends the job, because other ranks don't have it.
pub(crate) fn unexpected(what: impl Into<String>) -> Error {
    Error::Ranks(vxm_communicator::Error::Message { what: what.into() })
}

/// Reads a parcel about `n` places: calls `put` for each place that has changed, ascending.
///
/// # Errors
/// The parcel isn't one about `n` places.
pub(crate) fn unpack<T: Element>(parcel: &[u8], n: usize, mut put: impl FnMut(usize, Option<T>)) -> Result<()> {
    unpack_bits(parcel, n, size_of::<T>(), &mut |k, bits| put(k, bits.map(T::from_bits)))
}

/// The same for elements of `size` bytes: `put` gets their bits.
fn unpack_bits<W: Word>(parcel: &[u8], n: usize, size: usize, put: &mut dyn FnMut(usize, Option<W>)) -> Result<()> {
    unpacked(parcel, n, size, put).ok_or_else(|| {
        let bytes = parcel.len();
        unexpected(format!("a parcel of {bytes} bytes about {n} places"))
    })
}

fn unpacked<W: Word>(parcel: &[u8], n: usize, size: usize, put: &mut dyn FnMut(usize, Option<W>)) -> Option<()> {
    let mut reader = Reader { rest: parcel, size };
    let Some(form) = reader.byte() else { return Some(()) };
    let tell = &mut |k: usize, item: Item<W>| match item {
        Item::Same => {}
        Item::Absent => put(k, None),
        Item::Value(x) => put(k, Some(x)),
    };
    match form {
        ALL => (0..n).try_for_each(|k| {
            tell(k, Item::Value(reader.value()?));
            Some(())
        })?,
        FEW => read_few(&mut reader, n, tell)?,
        MOSTLY => {
            let frequent = reader.item()?;
            let other = reader.codes(1, n)?;
            for k in 0..n {
                tell(k, if other.at(k) == 1 { Item::Value(reader.value()?) } else { frequent });
            }
        }
        LIST => read_list(&mut reader, n, tell)?,
        MIXED => {
            let tags = reader.codes(2, n)?;
            for k in 0..n {
                match tags.at(k) {
                    0 => {}
                    1 => tell(k, Item::Absent),
                    _ => tell(k, Item::Value(reader.value()?)),
                }
            }
        }
        _ => return None,
    }
    reader.rest.is_empty().then_some(())
}

/// Reads up to four items, and for each place which of them it is.
fn read_few<W: Word>(reader: &mut Reader<'_>, n: usize, tell: &mut dyn FnMut(usize, Item<W>)) -> Option<()> {
    let count = usize::from(reader.byte()?);
    let items: Vec<Item<W>> = (0..count).map(|_| reader.item()).collect::<Option<_>>()?;
    let codes = reader.codes(*WIDTHS.get(count)?, n)?;
    for k in 0..n {
        tell(k, *items.get(usize::from(codes.at(k)))?);
    }
    Some(())
}

/// Reads the changed places, and what they hold.
fn read_list<W: Word>(reader: &mut Reader<'_>, n: usize, tell: &mut dyn FnMut(usize, Item<W>)) -> Option<()> {
    let count = reader.varint()?;
    let (mut places, mut last) = (Vec::with_capacity(count.min(n)), 0usize);
    for _ in 0..count {
        last = last.checked_add(reader.varint()?)?;
        places.push(last);
    }
    if places.last().is_some_and(|&last| last >= n) {
        return None;
    }
    let present = reader.codes(1, count)?;
    for (k, &place) in places.iter().enumerate() {
        tell(place, if present.at(k) == 1 { Item::Value(reader.value()?) } else { Item::Absent });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::bytes::Two;
    use proptest::prelude::*;

    fn survives<T: Element>(items: &[Item<T::Bits>]) -> usize {
        let parcel = pack(items, size_of::<T>());
        let mut found = vec![Item::Same; items.len()];
        unpack(&parcel, items.len(), |k, x: Option<T>| found[k] = x.map_or(Item::Absent, |x| Item::Value(x.bits())))
            .unwrap();
        assert_eq!(items, found);
        if !parcel.is_empty() {
            // another number of places, or a cut parcel, is found or harmless, and never panics
            let _ = unpack::<T>(&parcel, items.len() + 9, |_, _| {});
            let _ = unpack::<T>(&parcel[..parcel.len() - 1], items.len(), |_, _| {});
        }
        parcel.len()
    }

    proptest! {
        #[test]
        fn items_survive(
            tags in prop::collection::vec((0u8..12, any::<u32>()), 0..300), same in 0u8..12, few: bool
        ) {
            let value = |x: u32| u64::from(if few { x % 3 } else { x });
            let item = |&(tag, x): &(u8, u32)| match tag {
                0 => Item::Absent,
                tag if tag <= same => Item::Same,
                _ => Item::Value(value(x)),
            };
            let items: Vec<Item<u64>> = tags.iter().map(item).collect();
            survives::<u32>(&items);
            let wide: Vec<Item<u64>> = items.iter().map(|item| item.value().map_or(Item::Same, |x| Item::Value(x << 20))).collect();
            survives::<u64>(&wide);
            let sets: Vec<Item<u64>> = items.iter().map(|item| item.value().map_or(Item::Absent, |_| Item::Value(0))).collect();
            survives::<()>(&sets);
            let many = |x: u64| u128::from(x) << 90 | u128::from(x);
            let two: Vec<Item<u128>> = items.iter().map(|item| item.value().map_or(Item::Same, |x| Item::Value(many(x)))).collect();
            survives::<Two>(&two);
        }
    }

    #[test]
    fn each_form_is_chosen_where_it_is_small() {
        let n = 1000;
        let values = |f: &dyn Fn(u64) -> Item<u64>| (0..n).map(f).collect::<Vec<_>>();
        // all: a byte more than the values
        assert_eq!(survives::<u32>(&values(&|k| Item::Value(k * k))), 1 + 4000);
        assert_eq!(survives::<u32>(&values(&|_| Item::Same)), 0);
        // one value everywhere takes no bit a place
        assert_eq!(survives::<u32>(&values(&|_| Item::Value(7))), 2 + 1 + 4);
        // three items: two bits a place
        assert_eq!(
            survives::<u32>(&values(&|k| [Item::Same, Item::Absent, Item::Value(9)][k as usize % 3])),
            2 + 3 + 4 + 250
        );
        // few changed places: a list
        assert_eq!(
            survives::<u32>(&values(&|k| if k % 100 == 5 { Item::Value(k) } else { Item::Same })),
            1 + 1 + 10 + 2 + 40
        );
        // a frequent value: a bit a place
        assert_eq!(survives::<u32>(&values(&|k| Item::Value(if k % 4 == 0 { k } else { 1 }))), 1 + 5 + 125 + 250 * 4);
        // anything else: two bits a place
        let mixed = values(&|k| [Item::Same, Item::Absent, Item::Value(k)][k as usize % 3]);
        assert_eq!(survives::<u32>(&mixed), 1 + 250 + 333 * 4);
        let told = unpack::<u32>(&[9, 9], 4, |_, _| {}).unwrap_err().to_string();
        assert!(told.starts_with("a parcel of 2 bytes about 4 places: expected"), "{told}");
    }
}
