import { z } from "zod";
import { JsonObject } from "../../../shared/schemas/schemas.ts";
import { maxBytes, maxDocumentBytes } from "../../../shared/schemas/sizes.ts";
import { groups } from "./groups.ts";

export const SettingsQuery = z.object({
  keys: z.string().max(1_000).optional().meta({
    description: "Groups to read, comma separated: `transfer_manifest` or `general.unit_size`. " +
      "Left out: every group that was saved, and `transfer_manifest`.",
  }),
});

/** module -> group -> {settings}; nothing that is not known, nothing empty. */
export const SaveSettings = z.strictObject(
  Object.fromEntries(
    Object.entries(groups).map(([module, ofModule]) => [
      module,
      z.strictObject(
        Object.fromEntries(
          Object.entries(ofModule).map(([group, settings]) => [
            group,
            z.strictObject({ settings: maxBytes(maxDocumentBytes, settings) }).optional(),
          ]),
        ),
      ).optional(),
    ]),
  ),
).transform((modules) =>
  Object.entries(modules).flatMap(([module, ofModule]) =>
    Object.entries(ofModule as Record<string, { settings: unknown }>).map(([group, patch]) => ({
      module,
      group,
      settings: patch.settings,
    }))
  )
).refine((patches) => patches.length > 0, { error: "name a group" }).meta({ id: "SaveSettings" });

export const SettingsResponse = z.record(
  z.string(),
  z.record(
    z.string(),
    z.object({
      settings: JsonObject,
      kept_amounts: z.array(z.object({ field: z.string(), count: z.int() })).optional().meta({
        description: "Of `general.currency`, in the answer that changes its code: amounts that " +
          "keep their numbers and now count in the new one",
      }),
    }),
  ),
);
