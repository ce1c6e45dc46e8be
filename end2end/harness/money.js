// Sums as the page shows them, computed exactly. JavaScript's numbers are binary fractions, so a
// sum is a BigInt of the smallest unit that any amount here has.

const PLACES = 18;

/** `"−1,234.50 USD"` as units of 10⁻¹⁸. Takes the first figure of a text. */
export function sum(text) {
  const found = /([−-]?)(\d[\d,]*)(?:\.(\d+))?/u.exec(text);
  if (!found) throw new Error(`no sum in ${JSON.stringify(text)}`);
  const [, sign, whole, fraction = ''] = found;
  const units = BigInt(whole.replaceAll(',', '') + fraction.padEnd(PLACES, '0'));
  return sign ? -units : units;
}

/** The three-letter code in a text. */
export const currency = (text) => /\b[A-Z]{3}\b/u.exec(text)?.[0];
