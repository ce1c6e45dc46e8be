//! Sums of money as they are drawn: never rounded, always with their currency, digits beyond the
//! minor unit lighter, and the sign said in a word where it matters.

use leptos::prelude::*;
use rust_decimal::Decimal;

/// A sum of money cut into the parts that are drawn differently.
///
/// Every digit of the value is kept: the display never rounds. Digits are shown at least down to
/// the currency's minor unit, so 5 USD reads `5.00` and 5 JPY reads `5`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AmountText {
    negative: bool,
    zero: bool,
    whole: String,
    minor: String,
    beyond: String,
    currency: String,
}

impl AmountText {
    /// Cuts `value`, in a currency whose minor unit has `exponent` digits.
    pub fn new(value: Decimal, currency: impl Into<String>, exponent: u32) -> Self {
        let digits = value.abs().normalize().to_string();
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        let exponent = exponent as usize;
        let minor: String = fraction
            .chars()
            .chain(std::iter::repeat('0'))
            .take(exponent)
            .collect();
        Self {
            negative: value.is_sign_negative() && !value.is_zero(),
            zero: value.is_zero(),
            whole: grouped(whole),
            minor,
            beyond: fraction.chars().skip(exponent).collect(),
            currency: currency.into(),
        }
    }

    /// The figure alone, as plain text: `−1,234.5678`.
    pub fn figure(&self) -> String {
        let sign = if self.negative { "\u{2212}" } else { "" };
        let point = if self.places() > 0 { "." } else { "" };
        format!("{sign}{}{point}{}{}", self.whole, self.minor, self.beyond)
    }

    fn places(&self) -> usize {
        self.minor.len() + self.beyond.len()
    }
}

/// Figure and currency, for titles, labels and attributes.
impl std::fmt::Display for AmountText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.figure(), self.currency)
    }
}

/// A number with its thousands in groups, every digit kept: `1,000,000`, `−2.5`.
pub fn number(value: Decimal) -> String {
    let digits = value.abs().normalize().to_string();
    let sign = if value.is_sign_negative() && !value.is_zero() {
        "\u{2212}"
    } else {
        ""
    };
    match digits.split_once('.') {
        Some((whole, fraction)) => format!("{sign}{}.{fraction}", grouped(whole)),
        None => format!("{sign}{}", grouped(&digits)),
    }
}

/// Groups of three, from the right.
fn grouped(whole: &str) -> String {
    let mut out = String::with_capacity(whole.len() + whole.len() / 3);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Which word goes with the sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// None: the place already says what the sum is.
    #[default]
    Unsaid,
    /// None, in a column where others say theirs: the room of the word is kept, so that figures align.
    Neither,
    /// From the sign: negative is a debit, positive a credit, zero neither.
    FromSign,
    /// A debit, whatever the sign.
    Debit,
    /// A credit, whatever the sign.
    Credit,
}

/// A sum of money.
#[component]
pub fn Amount(
    /// The sum.
    value: AmountText,
    /// The word after it.
    #[prop(optional)]
    side: Side,
    /// Decimals the column reserves, so that figures align on the point; 0 to reserve none.
    #[prop(optional)]
    places: u8,
) -> AnyView {
    let word = match side {
        Side::Unsaid => None,
        Side::Debit => Some("debit"),
        Side::Credit => Some("credit"),
        Side::Neither => Some(""),
        Side::FromSign if value.zero => Some(""),
        Side::FromSign if value.negative => Some("debit"),
        Side::FromSign => Some("credit"),
    };
    let lacking = usize::from(places).saturating_sub(value.places()).min(8);
    let pad = (lacking > 0).then(|| {
        let point = (value.places() == 0).then_some("");
        view! { <span class="pad" data-lacks=lacking.to_string() data-point=point></span> }
    });
    let sign = if value.negative { "\u{2212}" } else { "" };
    let point = if value.places() > 0 { "." } else { "" };
    let beyond =
        (!value.beyond.is_empty()).then(|| view! { <span class="sub">{value.beyond}</span> });
    view! {
        <span class="amount" data-zero=value.zero.then_some("")>
            {format!("{sign}{}{point}{}", value.whole, value.minor)}{beyond}{pad}" "
            <span class="ccy">{value.currency}</span>
            {word.map(|word| view! { " "<span class="word">{word}</span> })}
        </span>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, currency: &str, exponent: u32, expected: &str) {
        let value: Decimal = value.parse().unwrap();
        assert_eq!(
            AmountText::new(value, currency, exponent).to_string(),
            expected
        );
    }

    #[test]
    fn digits_follow_the_currency() {
        check("5", "JPY", 0, "5 JPY");
        check("5", "USD", 2, "5.00 USD");
        check("5", "KWD", 3, "5.000 KWD");
        check("1234567.5", "USD", 2, "1,234,567.50 USD");
        check("999", "JPY", 0, "999 JPY");
        check("1000", "JPY", 0, "1,000 JPY");
    }

    #[test]
    fn nothing_is_rounded_and_nothing_is_invented() {
        check("0.042", "USD", 2, "0.042 USD");
        check("0.04200", "USD", 2, "0.042 USD");
        check("0.000000001", "USD", 2, "0.000000001 USD");
        check("0.5", "JPY", 0, "0.5 JPY");
        check("12.3456", "KWD", 3, "12.3456 KWD");
    }

    #[test]
    fn numbers_are_grouped_and_keep_their_sign() {
        let number = |text: &str| number(text.parse().unwrap());
        assert_eq!(
            ["1000000", "999", "-123456.50", "0.25", "-0"].map(number),
            ["1,000,000", "999", "\u{2212}123,456.5", "0.25", "0"]
        );
    }

    #[test]
    fn the_sign_is_a_minus_and_zero_has_none() {
        check("-12.4", "EUR", 2, "\u{2212}12.40 EUR");
        check("-0", "EUR", 2, "0.00 EUR");
        check("-0.001", "USD", 2, "\u{2212}0.001 USD");
    }

    #[test]
    fn the_word_follows_the_sign_and_sub_minor_digits_are_lighter() {
        let html = |value: &str| {
            let value = AmountText::new(value.parse().unwrap(), "USD", 2);
            view! { <Amount value side=Side::FromSign/> }.to_html()
        };
        assert!(html("-0.042").contains(r#"<span class="sub">2</span>"#));
        assert!(html("-0.042").contains("debit"));
        assert!(html("3").contains("credit"));
        let zero = html("0");
        assert!(!zero.contains("debit") && !zero.contains("credit"));
    }
}
