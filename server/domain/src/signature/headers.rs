//! Reading headers in exactly one way, and signatures into fixed arrays.

use super::{Fault, Part, Reject, Request, UnixSeconds};

/// Longest id or account any sender makes, with room to spare.
const MAX_NAME_BYTES: usize = 256;
/// Longest signature header: 32 Ed25519 signatures in base64 fit.
const MAX_SIGNATURE_BYTES: usize = 4096;
/// Svix signs with at most eleven keys during a rotation; nobody needs more than this.
const MAX_SIGNATURES: usize = 32;
/// Digits of a timestamp; more would not fit its type.
const MAX_TIMESTAMP_DIGITS: usize = 18;

/// The value of the one header called `name`, or `None`.
pub(super) fn find<'r>(
    request: &Request<'r>,
    name: &str,
    part: Part,
) -> Result<Option<&'r [u8]>, Reject> {
    let mut values = request
        .headers
        .iter()
        .filter(|(candidate, _)| candidate.eq_ignore_ascii_case(name))
        .map(|(_, value)| *value);
    match (values.next(), values.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(Reject::DuplicateHeader(part)),
    }
}

/// The value of the one header called by the first of `names` that is there at all.
pub(super) fn first_of<'r>(
    request: &Request<'r>,
    names: &[&str],
    part: Part,
) -> Result<&'r [u8], Reject> {
    for name in names {
        if let Some(value) = find(request, name, part)? {
            return Ok(value);
        }
    }
    Err(Reject::MissingHeader(part))
}

/// An id or account: printable ASCII, so that it can be stored, shown and signed unchanged.
pub(super) fn name(value: &[u8], part: Part) -> Result<&str, Reject> {
    printable(value, part, MAX_NAME_BYTES)
}

/// The text of a signature header.
pub(super) fn signatures(value: &[u8]) -> Result<&str, Reject> {
    printable(value, Part::Signature, MAX_SIGNATURE_BYTES)
}

fn printable(value: &[u8], part: Part, max: usize) -> Result<&str, Reject> {
    let fault = |fault| Reject::BadHeader(part, fault);
    if value.is_empty() {
        return Err(fault(Fault::Empty));
    }
    if value.len() > max {
        return Err(fault(Fault::TooLong));
    }
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(fault(Fault::NotPrintable));
    }
    std::str::from_utf8(value).map_err(|_| fault(Fault::NotPrintable))
}

/// Whole seconds as plain digits: no sign, no fraction, no space. What `parse` takes beyond that
/// (`+1`) other readers do not.
pub(super) fn seconds(text: &[u8], part: Part) -> Result<UnixSeconds, Reject> {
    let not_digits = Reject::BadHeader(part, Fault::NotDigits);
    if text.is_empty() || text.len() > MAX_TIMESTAMP_DIGITS || !text.iter().all(u8::is_ascii_digit)
    {
        return Err(not_digits);
    }
    let text = std::str::from_utf8(text).map_err(|_| not_digits)?;
    text.parse().map(UnixSeconds).map_err(|_| not_digits)
}

/// The signatures of a request that could match, decoded, on the stack.
///
/// An item of the right version that does not decode counts as offered and matches nothing, so
/// its reason is a mismatch and not a missing version.
pub(super) struct Offered<const N: usize> {
    decoded: [[u8; N]; MAX_SIGNATURES],
    len: usize,
    items: usize,
    any_supported: bool,
}

impl<const N: usize> Offered<N> {
    pub(super) const fn new() -> Self {
        Self {
            decoded: [[0; N]; MAX_SIGNATURES],
            len: 0,
            items: 0,
            any_supported: false,
        }
    }

    /// Counts one item of any version against the limit.
    pub(super) fn count(&mut self) -> Result<(), Reject> {
        self.items += 1;
        if self.items > MAX_SIGNATURES {
            return Err(Reject::BadHeader(Part::Signature, Fault::TooManySignatures));
        }
        Ok(())
    }

    /// Adds an item of a supported version, already counted.
    pub(super) fn push(&mut self, decoded: Option<[u8; N]>) {
        self.any_supported = true;
        if let (Some(decoded), Some(slot)) = (decoded, self.decoded.get_mut(self.len)) {
            *slot = decoded;
            self.len += 1;
        }
    }

    /// The decoded items, or why there is nothing to compare.
    pub(super) fn supported(&self) -> Result<&[[u8; N]], Reject> {
        if self.any_supported {
            Ok(&self.decoded[..self.len])
        } else {
            Err(Reject::NoSupportedVersion)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_digits_and_nothing_else() {
        let read = |text: &str| seconds(text.as_bytes(), Part::Timestamp).ok().map(|s| s.0);
        assert_eq!(read("1790000000"), Some(1_790_000_000));
        assert_eq!(read("0"), Some(0));
        assert_eq!(read("999999999999999999"), Some(999_999_999_999_999_999));
        for text in [
            "",
            "+1",
            "-1",
            " 1",
            "1 ",
            "1.5",
            "1e9",
            "0x1",
            "١",
            "1000000000000000000",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn names_are_short_and_printable() {
        let fault = |value: &[u8]| name(value, Part::Id).err();
        assert_eq!(fault(b"msg_1 ~"), None);
        assert_eq!(fault(b""), Some(Reject::BadHeader(Part::Id, Fault::Empty)));
        assert_eq!(fault(&[b'a'; 256]), None);
        assert_eq!(
            fault(&[b'a'; 257]),
            Some(Reject::BadHeader(Part::Id, Fault::TooLong))
        );
        for value in [
            &b"a\nb"[..],
            b"a\tb",
            b"a\0",
            b"\x7f",
            "é".as_bytes(),
            b"\xff",
        ] {
            assert_eq!(
                fault(value),
                Some(Reject::BadHeader(Part::Id, Fault::NotPrintable))
            );
        }
    }
}
