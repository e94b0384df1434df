import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { Id, ids } from "../../../shared/schemas/schemas.ts";
import { EnabledModules } from "../administration/schemas.ts";

const ModulesResponse = z.object({
  modules: z.array(z.object({
    id: Id,
    key: z.string(),
    name: z.record(z.string(), z.string()),
    is_enabled: z.boolean().meta({
      description: "What clients show; it opens and closes nothing of its own",
    }),
  })),
});

const version = versionedBy("tenancy.modules_version", "tenantId", "tenant_id");

/** Which parts of Barid a tenant has. */
export const modules: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/:tenantId/modules",
    version,
    summary: "List the modules, and which of them the tenant has",
    access: permission("view:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    response: ModulesResponse,
    run: ({ db }) => db.call("tenancy.modules_get"),
  }),
  endpoint({
    method: "put",
    path: "/:tenantId/modules",
    version,
    summary: "Give the tenant these modules and no others",
    access: permission("manage:system"),
    tenant: "path",
    params: ids("tenantId"),
    body: z.object({ enabled_module_ids: EnabledModules }),
    response: ModulesResponse,
    errors: ["invalid_reference"],
    run: ({ db, body }) => db.call("tenancy.modules_save", body),
  }),
];
