import { anyone, can, either, member } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint, row } from "../../../shared/endpoint.ts";
import { ids } from "../../../shared/schemas.ts";
import { MeResponse, SwitchResponse, TenantResponse } from "./schemas.ts";

/** Who I am, which tenants I belong to, and which of them my calls go to. */
export const me: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me",
    summary: "Who I am and which tenants I belong to",
    access: anyone(),
    tenant: "none",
    response: MeResponse,
    run: ({ db }) => db.call("tenancy.me_get"),
  }),
  endpoint({
    method: "post",
    path: "/:tenantId/switch",
    summary: "Choose the tenant my next token names; refresh the token afterwards",
    access: member(),
    tenant: "path",
    params: ids("tenantId"),
    response: SwitchResponse,
    run: ({ db }) => db.call("tenancy.tenant_switch"),
  }),
  endpoint({
    method: "get",
    path: "/:tenantId",
    version: row("tenancy.tenants", "tenantId"),
    summary: "Read a tenant: members their own, system administrators any",
    access: either(member(), can("view:tenant")),
    tenant: "path",
    params: ids("tenantId"),
    response: TenantResponse,
    run: async ({ db }) => ({ tenant: await db.call("tenancy.tenant_get") }),
  }),
];
