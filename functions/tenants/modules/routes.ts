import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { answerWhole } from "../../../shared/api/list.ts";
import { Id, ids, listResponse } from "../../../shared/schemas/schemas.ts";
import { EnabledModules } from "../administration/schemas.ts";

const ModulesResponse = listResponse(z.object({
  id: Id,
  key: z.string(),
  name: z.record(z.string(), z.string()),
  is_enabled: z.boolean().meta({
    description: "What was sold to the tenant, for clients to show; it switches no call on or off",
  }),
}));

interface Modules {
  modules: Record<string, unknown>[];
}

const version = versionedBy("tenancy.modules_version", "tenantId", "tenant_id");

/** Which parts of Barid are sold to a tenant and shown to it; every call works without them. */
export const modules: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/:tenantId/modules",
    version,
    summary: "List the modules, and which of them clients show to the tenant",
    access: permission("view:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    response: ModulesResponse,
    run: async ({ db }) => answerWhole((await db.call<Modules>("tenancy.modules_get")).modules),
  }),
  endpoint({
    method: "put",
    path: "/:tenantId/modules",
    version,
    summary: "Say which modules the tenant has; it switches no call on or off",
    access: permission("manage:system"),
    tenant: "path",
    params: ids("tenantId"),
    body: z.object({ enabled_module_ids: EnabledModules }),
    response: ModulesResponse,
    errors: ["invalid_reference"],
    run: async ({ db, body }) =>
      answerWhole((await db.call<Modules>("tenancy.modules_save", body)).modules),
  }),
];
