/** The languages people read, and the texts of every message in each of them. */
import { parseAccept } from "hono/utils/accept";
import { catalogues as texts } from "./catalogues.ts";

export type MessageKey = keyof typeof texts.en;
export type Language = "en" | "ar" | "ku";

export const languages: readonly Language[] = ["en", "ar", "ku"];
const catalogues: Record<Language, Record<string, string>> = texts;

export function isLanguage(word: unknown): word is Language {
  return word === "en" || word === "ar" || word === "ku";
}

/**
 * The language a request asks for: `?language=`, then Accept-Language by weight, else undefined
 * (the tenant's own language, then English). Unknown languages are passed over without a word.
 */
export function askedLanguage(query: string | null, accept: string | null): Language | undefined {
  const wanted = query ? named(query) : undefined;
  if (isLanguage(wanted)) return wanted;
  return parseAccept(accept ?? "").filter(({ q }) => q > 0).map(({ type }) => named(type))
    .find(isLanguage);
}

/** The language a tag begins with, as we call it: phones and browsers say `ckb` for the Kurdish that we speak. */
function named(tag: string): string {
  const language = tag.toLowerCase().split("-")[0];
  return language === "ckb" ? "ku" : language;
}

/** The text of a key in a language as it is written, with its `{holes}`: for who reads what there is to be said. */
export function template(language: Language, key: string): string {
  return catalogues[language][key] ?? catalogues.en[key] ?? key;
}

/** The text of a key in a language, its `{holes}` filled. */
export function translate(
  language: Language,
  key: string,
  params: Record<string, unknown> = {},
): string {
  return template(language, key).replace(
    /\{(\w+)\}/g,
    (_, name: string) => shown(language, name, params[name]),
  );
}

/**
 * The message of a refusal. A core that knows more than its code names the text (`text_key`) or its `reason_key`; a reason in somebody else's
 * words, as a carrier's, is said as it is.
 */
export function refusalText(
  language: Language,
  code: string,
  params: Record<string, unknown>,
): string {
  const { reason_key, text_key = code } = params;
  const reason = reason_key === undefined && typeof params.reason === "string"
    ? params.reason
    : translate(language, String(reason_key ?? "reason_invalid"), params);
  return translate(language, String(text_key), { ...params, reason });
}

/** The words for a value in a hole of this name; several are a list. */
function shown(language: Language, name: string, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) {
    return value.map((one) => shown(language, name, one)).join(language === "en" ? ", " : "، ");
  }
  if (typeof value === "string") {
    // A word of the interface; people read its name.
    const words = catalogues[language];
    return words[`word_${name}_${value}`] ?? words[`status_${value}`] ?? value;
  }
  return String(value);
}

/** A text that a company wrote in several languages, in one of them; in another one where it has none in this. */
export function inLanguage(texts: Record<string, string>, language: string): string {
  return texts[language] || texts.en || Object.values(texts).find(Boolean) || "";
}
