import { z } from "zod";
import { clamp } from "../../../shared/api/list.ts";
import { Id, JsonObject, PersonRef } from "../../../shared/schemas/schemas.ts";
import { WaitingItem } from "../manifests/schemas.ts";
import { itemStatuses } from "../statuses.ts";

/** Manifest statuses from which orders can be made. */
export const orderableStatuses = [
  "awaiting_receipt",
  "receiving",
  "received",
  "received_with_exceptions",
  "processing",
];

export const SearchQuery = z.object({
  q: z.string().max(100).optional().meta({
    description: "An item's id, or any part of its barcode; empty: the newest",
  }),
  limit: z.string().optional().meta({ type: "integer" }).transform((text) =>
    clamp(text, 1, 100, 20)
  )
    .meta({ description: "Rows: 20, at most 100" }),
});

const ManifestRefs = {
  manifest_id: Id,
  manifest_number: z.string(),
  manifest_status: z.string(),
};

export const SearchResponse = z.object({
  data: z.array(z.object({
    manifest_item_id: Id,
    barcode_value: z.string(),
    status: z.enum(itemStatuses),
    ...ManifestRefs,
    institution: PersonRef.extend({ phone: z.string().nullable() }),
    source_branch: z.object({ id: Id, name: z.string(), code: z.string() }),
    destination_branch_id: Id.nullable(),
    destination_address_id: Id.nullable(),
    delivery_id: Id.nullable(),
    already_has_order: z.boolean(),
  })),
});

/** Any value: what is wrong with one is said beside it, and the others are checked all the same. */
const Identifier = z.unknown().meta({
  description:
    "`{type, value}` or the plain value: an item's id or a barcode. `type` is not looked at; " +
    "a value that is neither gives a result with `invalid_barcode`",
});
const maxIdentifiers = 500;

/** `identifiers`, or the plain `barcodes`; both mean the same list of scanned values. */
export const ValidateBody = z.object({
  identifiers: z.array(Identifier).max(maxIdentifiers).optional(),
  barcodes: z.array(Identifier).max(maxIdentifiers).optional(),
}).transform((body, context) => {
  const list = body.identifiers ?? body.barcodes;
  if (!list) {
    context.addIssue({
      code: "invalid_type",
      expected: "array",
      path: ["identifiers"],
      input: undefined,
    });
    return [];
  }
  return list.map(valueOf);
});

/** Scanned codes as text; any other value is shown as it was sent. */
function valueOf(entry: unknown): string {
  const value = isEntry(entry) ? entry.value : entry;
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

function isEntry(entry: unknown): entry is { value?: unknown } {
  return typeof entry === "object" && entry !== null && !Array.isArray(entry);
}

export const ValidateResponse = z.object({
  data: z.object({
    results: z.array(z.object({
      input: z.string(),
      valid: z.boolean(),
      error_key: z.string().optional(),
      error_message: z.string().optional(),
      manifest_item_id: Id.optional(),
      barcode_value: z.string().optional(),
      manifest_id: Id.optional(),
      manifest_number: z.string().optional(),
      manifest_status: z.string().optional(),
      current_status: z.string().optional(),
      allowed_manifest_statuses: z.array(z.string()).optional(),
      missing: z.array(z.enum(["photo", "signature"])).optional().describe(
        "The proofs that the manifest needs before its items can be ordered",
      ),
    })),
    total_valid: z.int(),
    total_failed: z.int(),
  }),
});

const itemsToDestination = {
  item_ids: z.array(Id).min(1).max(2_000).transform((
    ids,
  ) => [...new Set(ids.map((id) => id.toLowerCase()))]),
  destination_branch_id: Id.nullish(),
  destination_address_id: Id.nullish(),
  delivery_service_id: Id.nullish(),
};
const oneDestination = { path: ["destination_branch_id"], error: "one_destination_required" };
const namesOneDestination = (
  body: { destination_branch_id?: string | null; destination_address_id?: string | null },
) => !body.destination_branch_id !== !body.destination_address_id;

export const SetDestinationBody = z.object(itemsToDestination)
  .refine(namesOneDestination, oneDestination);

/** Without a service each order keeps its own. */
export const ChangeDestinationBody = z.object({
  ...itemsToDestination,
  dry_run: z.boolean().optional().meta({
    description: "Says what would happen; nothing is written",
  }),
}).refine(namesOneDestination, oneDestination);

const OrderRef = z.object({ id: Id, delivery_code: z.int(), status: z.string() }).meta({
  id: "OrderRef",
});

export const CreatedOrder = z.object({ item_id: Id, delivery: OrderRef }).meta({
  id: "CreatedOrder",
});

export const FailedItem = z.object({
  item_id: Id,
  barcode_value: z.string().nullable(),
  manifest_id: Id.nullable(),
  manifest_number: z.string().nullable(),
  manifest_status: z.string().nullable(),
  current_status: z.string().nullable(),
  error_key: z.string(),
  error_message: z.string(),
  code: z.string(),
  delivery: OrderRef.optional().describe(
    "The order that goes elsewhere, of `item_already_ordered`",
  ),
}).meta({ id: "FailedItem" });

export const Receipt = z.object({
  requested_count: z.int(),
  received_count: z.int(),
  received_item_ids: z.array(Id),
  ready_item_ids: z.array(Id),
  manifests: z.array(z.object({
    manifest_id: Id,
    manifest_number: z.string(),
    status: z.string(),
    remaining_count: z.int(),
    waiting_for: z.array(WaitingItem),
    ready: z.boolean(),
    item_ids: z.array(Id),
  })),
}).meta({ id: "ItemReceipt" });

export const SetDestinationResponse = z.object({
  success: z.boolean().describe("False where no order was created"),
  code: z.literal("manifest_receiving_incomplete").optional(),
  data: z.object({
    created_count: z.int(),
    failed_count: z.int(),
    created: z.array(CreatedOrder),
    failed: z.array(FailedItem),
    receipt: Receipt,
  }),
});

const ChangedOrder = z.object({
  item_id: Id,
  delivery: OrderRef,
  price_difference: z.number().describe(
    "The additional amount that the institution paid for it; negative when it paid less",
  ),
}).meta({ id: "ChangedOrder" });

export const ChangeDestinationResponse = z.object({
  success: z.boolean().describe("False where no order was changed"),
  data: z.object({
    changed_count: z.int(),
    failed_count: z.int(),
    changed: z.array(ChangedOrder),
    failed: z.array(z.object({ item_id: Id, error_key: z.string(), error_message: z.string() })),
  }),
});

/** One batch of a large request, as the function sends it to itself. */
const batchOf = (service_id: z.ZodType) =>
  z.object({
    item_ids: z.array(Id).min(1).max(20),
    destination: z.object({
      address_id: Id,
      branch_id: Id.nullable(),
      service_id,
      recipient: z.object({ name: z.string().nullable(), phone: z.string().nullable() }),
    }),
  });

export const OrderBatchBody = batchOf(Id);
export const ChangeBatchBody = batchOf(Id.nullable());

const failures = z.array(z.object({
  item_id: Id,
  code: z.string(),
  params: JsonObject.optional(),
}));
export const OrderBatchResponse = z.object({ failures });
export const ChangeBatchResponse = z.object({
  changed: z.array(ChangedOrder.omit({ delivery: true })),
  failures,
});
