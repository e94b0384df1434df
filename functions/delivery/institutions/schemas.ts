import { z } from "zod";
import { defineList } from "../../../shared/api/list.ts";
import { Id, Pagination } from "../../../shared/schemas/schemas.ts";

const Institution = z.object({
  id: Id,
  full_name: z.string(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  avatar: z.string().nullable(),
  branches_count: z.int().describe("Branches in use"),
  wallet: z.object({ balance: z.number(), currency: z.string() }).nullable(),
  is_active: z.boolean(),
}).meta({ id: "Institution" });

export const InstitutionResponse = z.object({ data: Institution });
export const InstitutionsResponse = z.object({
  data: z.array(Institution),
  pagination: Pagination,
});

export const institutionList = defineList({
  view: "delivery.institutions_list",
  search: ["full_name", "email", "phone"],
  sort: ["full_name", "email", "branches_count"],
  order: { direction: "asc" },
  hidden: ["created_at"],
  limit: { default: 20, max: 100 },
});
