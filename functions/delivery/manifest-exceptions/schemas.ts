import { z } from "zod";
import {
  containing,
  defineList,
  type Filter,
  id,
  since,
  someOf,
  until,
} from "../../../shared/api/list.ts";
import { Id, LongText, Pagination, PersonRef, Timestamp } from "../../../shared/schemas/schemas.ts";
import { WaitingItem } from "../manifests/schemas.ts";
import { PhotoUrls } from "../proofs/schemas.ts";
import { itemStatuses, manifestStatuses } from "../statuses.ts";

const outcomes = ["reprocess", "void"] as const;

export const CreateException = z.object({
  manifest_item_id: Id.optional(),
  barcode_value: z.string().trim().min(1).max(64).optional(),
  reason: z.string().trim().min(1).max(100),
  notes: LongText.optional(),
  photo_urls: PhotoUrls.optional(),
}).refine(
  (value) => (value.manifest_item_id === undefined) !== (value.barcode_value === undefined),
  {
    path: ["manifest_item_id"],
    params: { reason_key: "reason_one_of_two", other: "barcode_value" },
  },
).meta({ id: "CreateManifestException" });

export const ResolveExceptions = z.object({
  item_ids: z.array(Id).min(1).max(500).optional(),
  manifest_id: Id.optional(),
  outcome: z.enum(outcomes),
  notes: LongText.optional(),
}).refine(
  (value) => (value.item_ids === undefined) !== (value.manifest_id === undefined),
  { path: ["item_ids"], params: { reason_key: "reason_one_of_two", other: "manifest_id" } },
).meta({ id: "ResolveExceptions" });

export const ExceptionRow = z.object({
  id: Id,
  manifest_item_id: Id.nullable().describe(
    "Null, like what follows from it, for a parcel that stands on no manifest",
  ),
  barcode_value: z.string(),
  item_status: z.enum(itemStatuses).nullable(),
  manifest_id: Id.nullable(),
  manifest_number: z.string().nullable(),
  manifest_status: z.enum(manifestStatuses).nullable(),
  institution: PersonRef.extend({ phone: z.string().nullable() }).nullable(),
  reason: z.object({ value: z.string(), label: z.string() }),
  notes: z.string().nullable(),
  photo_urls: z.array(z.string()),
  status: z.enum(["open", "resolved"]),
  created_by: PersonRef.nullable(),
  created_at: Timestamp,
  resolved_at: Timestamp.nullable(),
  resolution: z.object({
    outcome: z.enum(outcomes),
    notes: z.string().nullable(),
    resolved_by: PersonRef.nullable(),
  }).nullable(),
}).meta({ id: "ExceptionRow" });

export const ExceptionResponse = z.object({ data: ExceptionRow });
export const ExceptionsResponse = z.object({
  data: z.array(ExceptionRow),
  pagination: Pagination,
});
export const ExceptionsResolved = z.object({
  success: z.boolean().describe("False where nothing was resolved"),
  data: z.object({
    resolved_count: z.int(),
    failed_count: z.int(),
    resolved: z.array(z.object({
      exception_id: Id,
      item_id: Id.nullable().describe(
        "Null, and so is the status, for a parcel that stands on no manifest",
      ),
      outcome: z.enum(outcomes),
      status: z.enum(itemStatuses).nullable(),
    })),
    failed: z.array(z.object({
      item_id: Id,
      error_key: z.enum(["item_not_found", "exception_not_open", "item_already_has_order"]),
      error_message: z.string(),
    })),
    manifests: z.array(z.object({
      manifest_id: Id,
      manifest_number: z.string(),
      status: z.enum(manifestStatuses),
      remaining_count: z.int().describe("Items it waits for before it is received"),
      waiting_for: z.array(WaitingItem),
    })),
  }),
});

const reason: Filter = {
  schema: z.string().max(100),
  condition: (value) => `r.reason ->> 'value' = (${value} #>> '{}')`,
};

/** Barcode, number of the manifest, institution, notes. */
const search: Filter = {
  schema: z.string().trim().max(200),
  condition: (value) =>
    ["r.barcode_value", "r.manifest_number", "(r.institution ->> 'full_name')", "r.notes"]
      .map((text) => containing(text, `${value} #>> '{}'`)).join(" or "),
};

const status = someOf("status", ["open", "resolved"]);

export const exceptionsList = defineList({
  view: "delivery.manifest_exceptions_list",
  made: "all",
  sort: ["created_at", "manifest_number", "barcode_value", "resolved_at"],
  params: {
    search,
    status: { ...status, schema: z.enum(["open", "resolved"]).default("open") },
    manifest_id: id("manifest_id"),
    reason,
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 20, max: 100 },
});
