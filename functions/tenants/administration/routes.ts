import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { TenantResponse } from "../me/schemas.ts";
import { CreateTenant, tenants, TenantsResponse, UpdateTenant } from "./schemas.ts";

/** The tenants of the system: making them, changing them, opening and shutting them. */
export const administration: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/",
    summary: "List tenants",
    access: permission("manage:system"),
    tenant: "none",
    query: tenants.query,
    response: TenantsResponse,
    async run({ db, query }) {
      const { rows, ...page } = await tenants.run(db, query);
      return { tenants: rows, ...page };
    },
  }),
  endpoint({
    method: "post",
    path: "/",
    summary: "Make a tenant: pending, with nobody in it yet",
    access: permission("manage:system"),
    tenant: "none",
    body: CreateTenant,
    response: TenantResponse,
    status: 201,
    errors: ["tenant_slug_taken", "invalid_tenant_slug", "tenant_name_required"],
    run: ({ db, body }) => db.call("tenancy.tenant_create", body),
  }),
  endpoint({
    method: "put",
    path: "/:tenantId",
    version: versionedBy("tenancy.tenants", "tenantId"),
    summary: "Change a tenant; slug and status are the system administrators'",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    body: UpdateTenant,
    response: TenantResponse,
    errors: [
      "tenant_slug_taken",
      "invalid_tenant_slug",
      "tenant_name_required",
      "invalid_status_transition",
    ],
    run: ({ db, body }) => db.call("tenancy.tenant_update", body),
  }),
  move("activate", "active", "Let a pending or suspended tenant work; pending, it counts as paid"),
  move("suspend", "suspended", "Shut an active tenant until it is activated again"),
  move("archive", "archived", "Shut a tenant for good"),
];

function move(verb: string, status: string, summary: string): AnyEndpoint {
  return endpoint({
    method: "post",
    path: `/:tenantId/${verb}`,
    summary,
    access: permission("manage:system"),
    tenant: "path",
    params: ids("tenantId"),
    response: TenantResponse,
    errors: ["invalid_status_transition"],
    run: ({ db }) => db.call("tenancy.tenant_move", { status }),
  });
}
