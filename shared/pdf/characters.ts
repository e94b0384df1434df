/**
 * Characters that may reach the shaper: every character the font can draw, and something readable in the
 * place of every other one.
 *
 * A second embedded face would not do: Chinese alone weighs more than a whole function may. A
 * courier who cannot read the script could not use it either, so what the font lacks is written in
 * Latin letters ("张伟" → "ZhangWei", "Привет" → "Privet"), and what has no Latin form by its code
 * point ("[U+F0000]"). Nothing vanishes and nothing throws.
 */

const isolateStart = "\u2066";
const isolateEnd = "\u2069";

/**
 * Marks `text` as a unit that keeps its own left-to-right order inside right-to-left text: phones,
 * dates, codes, amounts. Without it "+964 770 123 4567" comes out in reversed groups, as the bidi
 * algorithm demands. Such a unit is not broken across lines while a line can hold it.
 */
export function isolate(text: string): string {
  return isolateStart + text.replace(/[\u2066-\u2069\u202a-\u202e]/g, "") + isolateEnd;
}

/** Characters without ink that direct the bidi algorithm; needed until the order is known. */
export function isBidiControl(code: number): boolean {
  return code === 0x200e || code === 0x200f || code === 0x61c || (code >= 0x2066 && code <= 0x2069);
}

/** True for what opens an isolate (LRI, RLI, FSI). */
export function opensIsolate(character: string): boolean {
  return character >= "\u2066" && character <= "\u2068";
}

export { isolateEnd };

/**
 * Returns `text` in the characters of the font: line ends as "\n", exotic spaces as plain ones,
 * control characters and NUL dropped, lone surrogates as "\uFFFD" or "?". Bidi overrides and
 * embeddings are dropped too, they can make a code read backwards; marks and isolates stay.
 */
export function readable(
  text: string,
  has: (code: number) => boolean,
  transliterate: (character: string) => string,
): string {
  // Most texts are plain ASCII, and this runs for each text of each page.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  let out = "";
  for (const character of text.replace(/\r\n?|[\u2028\u2029]/g, "\n").normalize("NFC")) {
    const code = character.codePointAt(0)!;
    if (character === "\n" || isBidiControl(code)) out += character;
    else if (isDropped(code)) continue;
    else if (code >= 0xd800 && code <= 0xdfff) out += has(0xfffd) ? "\ufffd" : "?";
    else if (code === 0x2007 || code === 0x202f) out += "\u00a0";
    else if (character === "\t" || /\p{Zs}/u.test(character)) {
      out += code === 0xa0 ? character : " ";
    } else if (has(code) && !isPresentationForm(character)) out += character;
    else out += substitute(character, has, transliterate);
  }
  return out;
}

function isDropped(code: number): boolean {
  return (code < 0x20 && code !== 0x09) || (code >= 0x7f && code <= 0x9f) || // C0, C1
    (code >= 0x202a && code <= 0x202e) || (code >= 0x206a && code <= 0x206f) || // old bidi
    code === 0xad || code === 0x2060 || code === 0xfeff || // soft hyphen, joiners without ink
    (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0000 && code <= 0xe01ef); // variants, tags
}

/** An Arabic letter in the shape it has at one place of a word: the shaper finds that shape itself. */
function isPresentationForm(character: string): boolean {
  return /[\ufb50-\ufdff\ufe70-\ufefc]/.test(character) &&
    character.normalize("NFKC") !== character;
}

function substitute(
  character: string,
  has: (code: number) => boolean,
  transliterate: (character: string) => string,
): string {
  // Presentation forms, full-width letters, ligatures: the same text in ordinary characters.
  const plain = character.normalize("NFKC");
  if (plain !== character && drawable(plain, has)) return plain;
  const latin = transliterate(character);
  if (latin !== "" && drawable(latin, has)) return latin;
  // An accent no font face knows: its letter stays readable. Joiners have no ink anyway.
  if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) return "";
  return `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
}

function drawable(text: string, has: (code: number) => boolean): boolean {
  for (const character of text) if (!has(character.codePointAt(0)!)) return false;
  return true;
}
