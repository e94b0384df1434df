import { memberOrKey, permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { groupsNamed } from "./groups.ts";
import { SaveSettings, SettingsQuery, SettingsResponse } from "./schemas.ts";

/** All of them together: who sends If-Match has read what any of them was. */
const version = versionedBy("tenancy.settings_version", "tenantId", "tenant_id");

/** Settings of a tenant. Never behind a feature gate: clients read here whether a feature is on. */
export const settings: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/:tenantId/settings",
    version,
    summary: "Read settings groups",
    access: memberOrKey(),
    tenant: "path",
    params: ids("tenantId"),
    query: SettingsQuery,
    response: SettingsResponse,
    run: ({ db, query }) =>
      db.call("tenancy.settings_get", query.keys ? { groups: groupsNamed(query.keys) } : {}),
  }),
  endpoint({
    method: "put",
    path: "/:tenantId/settings",
    version,
    summary: "Merge settings into their groups; null removes a key",
    access: permission("manage:tenant"),
    tenant: "path",
    params: ids("tenantId"),
    body: SaveSettings,
    response: SettingsResponse,
    errors: [
      "invalid_reference",
      "manifest_workflow_required",
      "delivery_service_not_available",
      "currency_in_use",
      "too_many_decimals",
    ],
    run: ({ db, body }) => db.call("tenancy.settings_save", { patches: body }),
  }),
];
