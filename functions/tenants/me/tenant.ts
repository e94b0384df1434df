import { member, memberOrKey } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { SwitchResponse, TenantResponse } from "./schemas.ts";

/** The tenant that the caller's calls go to. */
export const myTenant: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/:tenantId/switch",
    summary: "Choose the tenant my next token names; refresh the token afterwards",
    access: member(),
    person: true,
    tenant: "path",
    params: ids("tenantId"),
    response: SwitchResponse,
    run: ({ db }) => db.call("tenancy.tenant_switch"),
  }),
  endpoint({
    method: "get",
    path: "/:tenantId",
    version: versionedBy("tenancy.tenants", "tenantId"),
    summary: "Read a tenant: members their own, system administrators any",
    access: memberOrKey(),
    tenant: "path",
    params: ids("tenantId"),
    response: TenantResponse,
    run: async ({ db }) => ({ tenant: await db.call("tenancy.tenant_get") }),
  }),
];
