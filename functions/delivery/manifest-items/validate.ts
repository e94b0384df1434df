/** Checks of scanned values that need no database, and the words for what the database found. */
import { isBarcode, normaliseBarcode } from "../../../shared/schemas/barcode.ts";
import type { Database } from "../../../shared/db/db.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import { orderableStatuses } from "./schemas.ts";

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface Found {
  error_key?: string | null;
  manifest_item_id?: string;
  barcode_value?: string;
  manifest_id?: string;
  manifest_number?: string;
  manifest_status?: string;
  current_status?: string;
  missing?: string[];
}

/** One result per submitted value, repeats included; a value's form alone decides what it is. */
export async function validateIdentifiers(
  db: Database,
  inputs: string[],
  language: () => Language,
) {
  const identifiers = inputs.map(readIdentifier);
  const found = await db.call<Found[]>("delivery.manifest_items_validate", { identifiers });
  const results = inputs.map((input, i) => {
    const { error_key, ...item } = found[i];
    const key = "item_id" in identifiers[i] || "barcode" in identifiers[i]
      ? error_key
      : "invalid_barcode";
    return {
      input,
      valid: !key,
      ...(key
        ? {
          error_key: key,
          error_message: translate(
            language(),
            item.missing ? "manifest_delivery_proof_missing" : key,
            { ...item, field: "value" },
          ),
        }
        : {}),
      ...item,
      ...(key === "manifest_bulk_order_creation_not_allowed"
        ? { allowed_manifest_statuses: orderableStatuses }
        : {}),
    };
  });
  const total_valid = results.filter((result) => result.valid).length;
  return { results, total_valid, total_failed: results.length - total_valid };
}

function readIdentifier(
  input: string,
): { item_id: string } | { barcode: string } | Record<never, never> {
  // Longer than any id or barcode can be, with all that scanners add to it.
  if (input.length > 200) return {};
  const trimmed = input.trim();
  if (guid.test(trimmed)) return { item_id: trimmed };
  const barcode = normaliseBarcode(input);
  return isBarcode(barcode) ? { barcode } : {};
}
