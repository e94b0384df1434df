/** Files of deliveries that were ordered. */
import { z } from "zod";
import { defineList, since, until } from "../../../shared/api/list.ts";
import { deliveryStatuses } from "../../../shared/schemas/delivery-statuses.ts";
import { Id, Pagination, Timestamp } from "../../../shared/schemas/schemas.ts";
import { failure } from "../deliveries/schemas.ts";

const Count = z.int().min(0);
const Person = z.object({ id: Id, full_name: z.string().nullable() });

/** The part of an import of deliveries that tells what was there before. */
export const ImportKnown = z.object({
  import_id: Id.nullable().describe("To cancel it as a whole; null for a dry run"),
  imported_before: z.object({
    import_id: Id,
    created_at: Timestamp,
    imported: Count,
    cancelled: Count,
  }).nullable().describe(
    "The last import of the same lines, unless all of it was cancelled. It is not refused: look at a dry run",
  ),
  duplicate_count: Count,
  duplicates: z.array(z.object({
    line: z.int(),
    same: z.enum(["reference", "recipient"]).describe(
      "`reference`: of a delivery that is not cancelled; `recipient`: sender, telephone number and COD, within three days",
    ),
    other_line: z.int().nullable().describe("The earlier line of the file that it repeats"),
    delivery: z.object({
      id: Id,
      delivery_code: z.int(),
      status: z.enum(deliveryStatuses),
      created_at: Timestamp,
    }).nullable(),
  })).describe(
    "Lines that seem to be ordered already, the first hundred; they are imported all the same",
  ),
});

const ImportRow = z.object({
  id: Id,
  created_at: Timestamp,
  created_by: Person.nullable(),
  cancelled_at: Timestamp.nullable(),
  cancelled_by: Person.nullable(),
  imported: Count,
  cancelled: Count,
  cancellable: Count.describe(
    "Deliveries that nobody has in hand yet, and that are not on their way between warehouses",
  ),
}).meta({ id: "DeliveryImport" });

export const ImportsResponse = z.object({ data: z.array(ImportRow), pagination: Pagination });

export const importsList = defineList({
  view: "delivery.delivery_imports_list",
  sort: ["created_at"],
  params: {
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 20, max: 100 },
});

export const CancelImport = z.object(failure).meta({ id: "CancelDeliveryImport" });

export const ImportCancelled = z.object({
  import_id: Id,
  cancelled: Count.describe("How many this call cancelled"),
  left: z.array(z.object({
    delivery_id: Id,
    delivery_code: z.int(),
    status: z.enum(deliveryStatuses),
    code: z.string(),
    message: z.string(),
  })).describe(
    "Deliveries that are not cancelled, in the order of the lines, each with its refusal",
  ),
});
