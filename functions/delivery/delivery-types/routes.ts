import { z } from "zod";
import { memberOrKey, permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList } from "../../../shared/api/list.ts";
import { Id, LocalizedText, Pagination, Text, Timestamp } from "../../../shared/schemas/schemas.ts";
import { Code } from "../processing-points/schemas.ts";

const types = defineList({
  view: "delivery.delivery_types_list",
  search: ["name", "code"],
  sort: ["created_at", "name", "code"],
  limit: { default: 20, max: 100 },
});

const DeliveryType = z.object({
  id: Id,
  code: z.string(),
  name: z.string(),
  name_translations: z.record(z.string(), z.string()),
  created_at: Timestamp,
}).meta({ id: "DeliveryType" });

/** The kinds of delivery that services belong to. */
export const deliveryTypes: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/delivery-types",
    summary: "List delivery types",
    access: memberOrKey(),
    query: types.query,
    response: z.object({ data: z.array(DeliveryType), pagination: Pagination }),
    run: ({ db, query }) => types.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/delivery-types",
    summary: "Add a delivery type",
    access: permission("manage:operations:tenant"),
    body: z.object({ code: Code, name: z.union([Text, LocalizedText]) }),
    response: z.object({ data: DeliveryType }),
    status: 201,
    errors: ["delivery_type_code_exists"],
    run: async ({ db, body }) => ({ data: await db.call("delivery.delivery_type_create", body) }),
  }),
];
