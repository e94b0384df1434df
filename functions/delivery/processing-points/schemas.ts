import { z } from "zod";
import { defineList, flag, prefer } from "../../../shared/api/list.ts";
import { Id, JsonObject, Pagination, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { Address } from "../../../shared/schemas/address.ts";
import { maxBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";

export const Code = z.string().trim().min(1).max(64);

export const CreatePoint = z.object({
  name: Text,
  code: Code,
  address_id: Id,
  metadata: maxBytes(maxMetadataBytes, JsonObject).optional(),
}).meta({ id: "CreateProcessingPoint" });

export const UpdatePoint = CreatePoint.partial().extend({
  is_active: z.boolean().optional().meta({
    description:
      "False does what the deactivate call does; true takes the point back into use, as the default of " +
      "no branch until one chooses it",
  }),
}).meta({ id: "UpdatePoint" });

export const PointRow = z.object({
  id: Id,
  name: z.string(),
  code: z.string(),
  address_id: Id,
  metadata: JsonObject,
  is_active: z.boolean(),
  is_default: z.literal(true).optional().describe(
    "Present, and true, only on the default point of the branch the list was asked for",
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "ProcessingPoint" });

export const PointResponse = z.object({
  data: PointRow.omit({ is_default: true }).extend({ address: Address }),
});
export const PointCreated = z.object({
  data: z.object({ id: Id, name: z.string(), code: z.string(), is_active: z.boolean() }),
});
export const PointDeactivated = z.object({
  data: z.object({ id: Id, is_active: z.literal(false) }),
});
export const PointsResponse = z.object({ data: z.array(PointRow), pagination: Pagination });

export const points = defineList({
  view: "delivery.processing_points_list",
  search: ["name", "code"],
  sort: ["created_at", "name", "code", "updated_at"],
  params: {
    is_active: flag("is_active"),
    branch_id: prefer(
      "is_default",
      Id,
      (branch) =>
        `r.id = (select b.default_processing_point_id from delivery.institution_branches b where b.id = ${branch}::uuid)`,
    ),
  },
  limit: { default: 20, max: 100 },
});
