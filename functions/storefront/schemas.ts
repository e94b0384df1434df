/** Pieces that the schemas of the storefront share. */
import { z } from "zod";
import { LocalizedText, LongText, Text } from "../../shared/schemas/schemas.ts";

/** A name in the languages people read; a plain text is an English one. */
export const Name = z.union([Text.transform((en) => ({ en })), LocalizedText]);

const translations = { en: LongText.optional(), ar: LongText.optional(), ku: LongText.optional() };

/** An object that has texts, and none in these languages: taken without them it would clear what is kept. */
const isOfOtherLanguages = (text: unknown) =>
  typeof text === "object" && text !== null && Object.keys(text).length > 0 &&
  !Object.keys(text).some((language) => Object.hasOwn(translations, language));

/** The same where nothing needs to be said: `{}` and empty texts are fine. */
export const OptionalText = z.union([
  LongText.transform((en) => en ? { en } : {}),
  z.preprocess((text, context) => {
    if (isOfOtherLanguages(text)) {
      context.addIssue({ code: "custom", message: "needs a text in one language" });
    }
    return text;
  }, z.object(translations)),
]);

export const Position = z.int().min(-1_000_000).max(1_000_000);

/** Localized text as it is kept. */
export const StoredLocalizedText = z.record(z.string(), z.string());
