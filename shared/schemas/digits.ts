/** A text with ASCII digits for the Arabic-Indic and extended Arabic-Indic ones; `app.ascii_digits` is its twin. */
export function asciiDigits(text: string): string {
  return text.replace(
    /[\u0660-\u0669\u06f0-\u06f9]/g,
    (digit) => String(digit.charCodeAt(0) & 0xf),
  );
}
