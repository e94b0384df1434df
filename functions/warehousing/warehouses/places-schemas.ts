/** The places of a warehouse and the people who work in it. */
import { z } from "zod";
import { defineList, flag, id, type ListQuery, oneOf } from "../../../shared/api/list.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Database } from "../../../shared/db/db.ts";
import { Id, listResponse, PersonRef, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { Capacity, Code } from "./schemas.ts";

const locationTypes = ["BIN", "RECEIVING", "STAGING", "CAGE", "TROLLEY"] as const;

export const CreateBin = z.object({
  code: Code,
  name: Text,
  location_type: z.enum(locationTypes).optional(),
  capacity: Capacity.nullish(),
  is_default_receiving: z.boolean().optional(),
  is_active: z.boolean().optional(),
}).meta({ id: "CreateBin" });
export const UpdateBin = CreateBin.partial().meta({ id: "UpdateBin" });

const Bin = z.object({
  id: Id,
  warehouse_id: Id,
  code: z.string(),
  name: z.string(),
  location_type: z.enum(locationTypes),
  capacity: z.number().nullable(),
  filled_capacity: z.number(),
  is_default_receiving: z.boolean(),
  is_temporary: z.boolean(),
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Bin" });

export const BinResponse = z.object({ bin: Bin });
export const BinsResponse = listResponse(Bin);

export const AddStaff = z.object({
  user_id: Id,
  employee_id: z.string().trim().min(1).max(100).nullish(),
  role: z.string().trim().min(1).max(100).nullish(),
}).meta({ id: "AddWarehouseStaff" });

const Staff = z.object({
  id: Id,
  warehouse_id: Id,
  user_id: Id,
  user: PersonRef,
  employee_id: z.string().nullable(),
  role: z.string().nullable(),
  is_active: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "WarehouseStaff" });

export const StaffResponse = z.object({ staff: Staff });
export const StaffListResponse = listResponse(Staff);

/** Beside the rows of one warehouse: whether that warehouse exists. */
const exists = {
  sql: () =>
    `to_jsonb(exists (select from warehousing.warehouses_list w
      where w.id = ($1 #>> '{param,warehouse_id}')::uuid))`,
};

export const binList = defineList({
  view: "warehousing.bins_list",
  search: ["name", "code"],
  sort: ["created_at", "name", "code", "location_type", "updated_at"],
  params: {
    warehouse_id: id("warehouse_id"),
    location_type: oneOf("location_type", locationTypes),
    is_active: flag("is_active"),
    is_temporary: flag("is_temporary"),
  },
  limit: { default: 20, max: 100 },
  summary: exists,
});

export const staffList = defineList({
  view: "warehousing.staff_list",
  sort: ["created_at", "employee_id", "role"],
  params: { warehouse_id: id("warehouse_id"), is_active: flag("is_active") },
  limit: { default: 20, max: 100 },
  summary: exists,
});

/** A page of what belongs to the warehouse of the path. */
export async function pageOf(
  list: typeof binList,
  db: Database,
  query: ListQuery,
  warehouse_id: string,
) {
  const { summary, ...page } = await list.answer(db, {
    ...query,
    filters: { ...query.filters, warehouse_id },
  });
  if (!summary) throw new AppError("warehouse_not_found");
  return page;
}
