//! Holds the palette of `style/tokens.css` to its contrasts, in light and in dark.
#![expect(clippy::float_arithmetic, reason = "colour is not money")]

/// A colour's relative luminance in light and in dark.
struct Pair {
    light: f64,
    dark: f64,
}

/// Reads `--name: light-dark(oklch(L C H), oklch(L C H));`.
fn token(name: &str) -> Pair {
    let css = include_str!("../../../style/tokens.css");
    let start = format!("--{name}: light-dark(oklch(");
    let from = css
        .find(&start)
        .unwrap_or_else(|| panic!("no token {name}"))
        + start.len();
    let line = css[from..].lines().next().expect("a line");
    let mut sides = line
        .trim_end_matches("));")
        .split("), oklch(")
        .map(luminance);
    let mut next = || sides.next().unwrap_or_else(|| panic!("{name} has no pair"));
    Pair {
        light: next(),
        dark: next(),
    }
}

/// OKLCH to relative luminance, by way of linear sRGB clipped to its gamut.
fn luminance(oklch: &str) -> f64 {
    let parts: Vec<f64> = oklch
        .split_whitespace()
        .map(|part| part.parse().expect(oklch))
        .collect();
    let [lightness, chroma, hue] = parts[..] else {
        panic!("{oklch} is not three numbers")
    };
    let (a, b) = (
        chroma * hue.to_radians().cos(),
        chroma * hue.to_radians().sin(),
    );
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    let red = 4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s;
    let green = -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s;
    let blue = -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s;
    let [red, green, blue] = [red, green, blue].map(|part| part.clamp(0.0, 1.0));
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn check(foregrounds: &[&str], backgrounds: &[&str], least: f64) {
    for front in foregrounds {
        for back in backgrounds {
            let (f, b) = (token(front), token(back));
            for (side, ratio) in [
                ("light", contrast(f.light, b.light)),
                ("dark", contrast(f.dark, b.dark)),
            ] {
                assert!(
                    ratio >= least,
                    "{front} on {back}, {side}: {ratio:.2}, wanted {least}"
                );
            }
        }
    }
}

#[test]
fn white_on_black_is_twenty_one() {
    assert!((contrast(luminance("1 0 0"), luminance("0 0 0")) - 21.0).abs() < 0.01);
}

#[test]
fn text_reads_on_every_surface_it_stands_on() {
    let surfaces = ["paper", "raised", "sunk", "hover"];
    check(&["ink", "muted", "accent", "accent-strong"], &surfaces, 4.5);
    check(&["good", "attention", "stop", "neutral"], &surfaces, 4.5);
    check(&["on-accent"], &["accent", "accent-strong"], 4.5);
}

#[test]
fn states_read_on_their_own_ground() {
    for state in ["neutral", "good", "attention", "stop", "accent"] {
        check(&[state, "ink", "muted"], &[&format!("{state}-soft")], 4.5);
    }
}

#[test]
fn controls_and_charts_stand_out_from_the_paper() {
    check(
        &["edge", "series-1", "series-2", "series-3"],
        &["paper", "raised"],
        3.0,
    );
}
