/** Pieces that the schemas of the storefront share. */
import { z } from "zod";
import { LocalizedText, LongText, Text } from "../../shared/schemas/schemas.ts";

/** A name in the languages people read; a plain text is an English one. */
export const Name = z.union([Text.transform((en) => ({ en })), LocalizedText]);

/** The same where nothing needs to be said: `{}` and empty texts are fine. */
export const OptionalText = z.union([
  LongText.transform((en) => en ? { en } : {}),
  z.object({
    en: LongText.optional(),
    ar: LongText.optional(),
    ku: LongText.optional(),
  }),
]);

export const Position = z.int().min(-1_000_000).max(1_000_000);

/** Localized text as it is kept. */
export const StoredLocalizedText = z.record(z.string(), z.string());
