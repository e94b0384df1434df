import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, equal, forField, id, oneOf, since, until } from "../../../shared/api/list.ts";
import { Id, JsonObject, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";

const actions = ["insert", "update", "delete"] as const;

const audit = defineList({
  view: "tenancy.audit_list",
  idType: "bigint",
  sort: ["created_at"],
  params: {
    entity_type: equal("entity_type"),
    entity_id: equal("entity_id"),
    actor_id: id("actor_id"),
    actor_key_id: id("actor_key_id"),
    request_id: equal("request_id"),
    action: oneOf("action", actions),
    from: forField("created_at", since("created_at")),
    to: forField("created_at", until("created_at")),
  },
  limit: { default: 50, max: 200 },
});

const Change = z.strictObject({
  id: z.int(),
  created_at: Timestamp,
  entity_type: z.string().meta({ description: "The table, `delivery.deliveries` for instance" }),
  entity_id: z.string().nullable().meta({
    description: "The id of the row; of a membership that of the person, of settings " +
      "`general.language` for instance, of a row without an id its other keys, joined by points",
  }),
  action: z.enum(actions),
  before: JsonObject.nullable().meta({ description: "What the change replaced" }),
  after: JsonObject.nullable(),
  operation: z.string().nullable().meta({ description: "The call that did it; null: no call" }),
  actor_id: Id.nullable(),
  actor_name: z.string().nullable().meta({
    description: "Null for people outside the company, and where a program or the clock did it",
  }),
  actor_key_id: Id.nullable().meta({ description: "The API key that the call came with" }),
  actor_key_name: z.string().nullable(),
  request_id: z.string().nullable(),
  client_request_id: z.string().nullable(),
}).meta({ id: "AuditEntry" });

/** The audit log of a company. */
export const auditLog: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me/audit",
    summary: "List what changed in my tenant: who, what, before and after, by which key",
    access: permission("manage:tenant"),
    query: audit.query,
    response: listResponse(Change),
    run: ({ db, query }) => audit.answer(db, query),
  }),
];
