/** A text with ASCII digits for the Arabic-Indic and extended Arabic-Indic ones; `app.ascii_digits` is its twin. */
export function asciiDigits(text: string): string {
  return text.replace(
    /[\u0660-\u0669\u06f0-\u06f9]/g,
    (digit) => String(digit.charCodeAt(0) & 0xf),
  );
}

/** A text as a scanner of any keyboard sends it: ASCII digits, and none of the marks that right-to-left text leaves around it. */
export function scannedText(text: string): string {
  return asciiDigits(text.replace(/[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, ""))
    .trim();
}

/** A number as any keyboard writes it, in the form that JSON has: ASCII digits with a point before decimals. */
export function numberText(text: string): string {
  return scannedText(text).replace("\u066b", ".");
}
