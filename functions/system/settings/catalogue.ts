/** Every setting of the system and what it may be; one that does not stand here is refused. */
import { z } from "zod";
import { Currency, LocalizedText } from "../../../shared/schemas/schemas.ts";

const Category = z.strictObject({
  key: z.string().max(64).regex(/^[a-z0-9]+(?:_[a-z0-9]+)*$/),
  name: LocalizedText,
}).meta({ id: "SettingsCategory" });

const Categories = z.array(Category).min(1).max(200)
  .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, {
    error: "each key once",
  })
  .refine((list) => list.some(({ key }) => key === "general"), { error: "general must stay" });

export const SystemSettings = z.strictObject({
  "tenant_subscription.enabled": z.boolean().optional().meta({
    description: "Whether tenants need a subscription to work",
  }),
  "storefront.directory_categories": Categories.optional().meta({
    description: "What a store can be listed under; `general` is among them",
  }),
  "events.keep_days": z.int().min(7).max(3_650).optional().meta({
    description: "Days until a system event is deleted, whatever its status; 180 unless set",
  }),
  "currencies.enabled": z.array(Currency).min(1).max(200).nullable()
    .optional().meta({ description: "Currencies that tenants may choose; null: all there are" }),
}).meta({ id: "SystemSettings" });

/** The names among a comma list that are settings; unknown ones are passed over. */
export function settingsNamed(keys: string): string[] {
  const known = Object.keys(SystemSettings.shape);
  return keys.split(",").map((key) => key.trim()).filter((key) => known.includes(key));
}
