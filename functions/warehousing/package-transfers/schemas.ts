import { z } from "zod";
import {
  defineList,
  type Filter,
  id,
  type ListQuery,
  matching,
  oneOf,
} from "../../../shared/api/list.ts";
import { Id, LongText, NamedRef, PersonRef, Timestamp } from "../../../shared/schemas/schemas.ts";
import { seesAllWarehouses } from "../access.ts";
import { WaybillDetail } from "../waybills/schemas.ts";

const modes = ["system_only", "delivery_operation"] as const;
const operations = ["single_delivery", "waybill"] as const;

/** Barcodes, or delivery codes where no barcode matches. */
const Barcodes = z.array(z.string().trim().min(1).max(100)).max(500);

/** The contents a waybill can be made of; the three kinds mix. */
export const Selection = {
  package_barcodes: Barcodes.optional(),
  delivery_ids: z.array(Id).max(500).optional(),
  inventory_item_ids: z.array(Id).max(100).optional().describe(
    "Pieces of inventory, tracked one by one",
  ),
};

export const NewDeliveryDefaults = z.object({
  customer_id: Id,
  delivery_service_id: Id,
  payer_type: z.enum(["sender", "receiver"]),
  payment_method: z.enum(["cash", "wallet", "gateway"]),
}).meta({ id: "NewDeliveryDefaults" });

export const CreateTransfer = z.object({
  mode: z.enum(modes),
  operation_type: z.enum(operations).optional().describe(
    "Left out, one barcode alone is a single delivery",
  ),
  source_warehouse_id: Id,
  destination_warehouse_id: Id.optional().describe(
    "Of a waybill it may follow from a delivery that has one",
  ),
  ...Selection,
  new_delivery_defaults: NewDeliveryDefaults.nullish(),
  notes: LongText.nullish(),
}).meta({ id: "CreatePackageTransfer" });
export type CreateTransfer = z.output<typeof CreateTransfer>;

export const ValidateTransfer = z.object({
  mode: z.enum(modes).optional(),
  operation_type: z.enum(operations).optional(),
  source_warehouse_id: Id,
  destination_warehouse_id: Id.optional(),
  ...Selection,
}).meta({ id: "ValidateTransfer" });

const kinds = ["package", "delivery", "inventory_item"] as const;
const reasons = [
  "not_found",
  "wrong_source_warehouse",
  "destination_mismatch",
  "not_transferable_status",
  "already_in_waybill",
  "open_exception",
  "duplicate",
  "not_available",
  "package_not_here",
] as const;

const Rejected = z.object({
  kind: z.enum(kinds),
  value: z.string(),
  reason: z.enum(reasons),
  message: z.string(),
}).meta({ id: "RejectedPackage" });
const Accepted = z.object({
  kind: z.enum(kinds),
  id: Id,
  barcode: z.string().nullable(),
  delivery_code: z.int().nullable(),
}).meta({ id: "AcceptedPackage" });
const DestinationLock = z.object({
  warehouse_id: Id,
  source: z.enum(["request", "inferred"]),
}).meta({ id: "DestinationLock" });

export const WaybillMade = z.object({
  transfer_id: Id,
  mode: z.literal("delivery_operation"),
  operation_type: z.literal("waybill"),
  delivery_ids: z.array(Id),
  rejected: z.array(Rejected),
  waybill_id: Id,
  waybill_number: z.string(),
  status: z.literal("drafted"),
  waybill: WaybillDetail,
  operation_result: z.object({
    accepted: z.array(Accepted),
    rejected: z.array(Rejected),
    reused_delivery_ids: z.array(Id),
    created_delivery_ids: z.array(Id),
    destination_lock: DestinationLock,
  }),
}).meta({ id: "WaybillMade" });

export const TransferMade = z.union([
  WaybillMade,
  z.object({
    transfer_id: Id,
    mode: z.literal("delivery_operation"),
    operation_type: z.literal("single_delivery"),
    delivery_ids: z.array(Id),
    rejected: z.array(Rejected),
  }),
  z.object({
    transfer_id: Id,
    mode: z.literal("system_only"),
    transferred_count: z.int(),
    delivery_ids: z.array(Id),
    rejected: z.array(Rejected),
  }),
]);

export const ValidateResponse = z.object({
  valid: z.array(z.object({
    barcode: z.string(),
    delivery_id: Id,
    delivery_code: z.int(),
    status: z.string(),
    current_warehouse_id: Id.nullable(),
  })),
  invalid: z.array(z.object({ barcode: z.string(), reason: z.enum(reasons) })),
  accepted: z.array(Accepted),
  rejected: z.array(Rejected),
  destination_lock: DestinationLock.nullable(),
  requires_new_delivery_defaults: z.boolean().describe(
    "True when raw inventory is among what is accepted: a draft delivery is made for it",
  ),
  can_create: z.boolean(),
});

const Transfer = z.object({
  id: Id,
  tenant_id: Id,
  mode: z.enum(modes),
  operation_type: z.enum(operations).nullable(),
  source_warehouse_id: Id,
  destination_warehouse_id: Id,
  waybill_id: Id.nullable(),
  notes: z.string().nullable(),
  created_at: Timestamp,
  delivery_ids: z.array(Id),
  source_warehouse: NamedRef,
  destination_warehouse: NamedRef,
  waybill: z.object({ id: Id, waybill_number: z.string(), status: z.string() }).nullable(),
  performer: PersonRef.nullable(),
  delivery: z.object({
    id: Id,
    delivery_code: z.int(),
    barcode: z.string(),
    status: z.string(),
  }).optional().describe("Of single deliveries alone"),
}).meta({ id: "PackageTransfer" });

const Stats = z.object({
  total: z.int(),
  system_only: z.int(),
  single_delivery: z.int(),
  waybill: z.int(),
}).meta({ id: "PackageTransferStats" });

export const TransfersResponse = z.object({
  package_transfers: z.array(Transfer),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  stats: Stats.describe("Of all kinds, whatever kind was asked for"),
});

/** Number of the waybill, or name or code of either warehouse. */
const search: Filter = {
  schema: z.string().trim().max(100),
  condition: (value) => {
    const patterns = `(select app.contains_patterns(${value} #>> '{}'))::text[]`;
    const found = `(select w.id from warehousing.warehouses w
      where ${matching("w.name", patterns)} or ${matching("w.code", patterns)})`;
    return `r.source_warehouse_id in ${found} or r.destination_warehouse_id in ${found}
      or r.waybill_id in (select warehousing.waybills_with(${value} #>> '{}'))`;
  },
};

const kindFilters = {
  mode: oneOf("mode", modes),
  operation_type: oneOf("operation_type", operations),
};

export const transferList = defineList({
  view: "warehousing.package_transfers_list",
  sort: ["created_at"],
  params: {
    ...kindFilters,
    source_warehouse_id: id("source_warehouse_id"),
    destination_warehouse_id: id("destination_warehouse_id"),
    search,
  },
  columns: kindFilters,
  columnsWin: true,
  limit: { default: 25, max: 100 },
  tally: {
    name: "package_transfers",
    readers: seesAllWarehouses,
    filters: ["mode", "operation_type", "source_warehouse_id", "destination_warehouse_id"],
  },
  summary: {
    sql: (rows, { wanted }) => {
      const counted = `(select jsonb_build_object('total', count(*),
        'system_only', count(*) filter (where r.mode = 'system_only'),
        'single_delivery', count(*) filter (where r.operation_type = 'single_delivery'),
        'waybill', count(*) filter (where r.operation_type = 'waybill')) from ${rows})`;
      return wanted === null ? counted : `case when (select ${seesAllWarehouses})
        then warehousing.package_transfer_stats(${wanted}) else ${counted} end`;
    },
    ignores: ["mode", "operation_type"],
  },
});

/** The kind that is asked for, after column filters took the place of parameters. */
export function askedKind(query: ListQuery) {
  const asked = (name: string) =>
    (query.column_filters[name] ?? query.filters[name]) as string | undefined;
  return { mode: asked("mode"), operation_type: asked("operation_type") };
}
