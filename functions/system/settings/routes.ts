import { z } from "zod";
import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { settingsNamed, SystemSettings } from "./catalogue.ts";

const SettingsResponse = z.object({ settings: z.record(z.string(), z.unknown()) });

/** Settings of the whole system. */
export const systemSettings: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/settings",
    summary: "Read settings of the system",
    access: permission("manage:system"),
    tenant: "none",
    query: z.object({
      keys: z.string().max(1_000).optional().meta({
        description: "Settings to read, comma separated; left out: all",
      }),
    }),
    response: SettingsResponse,
    run: ({ db, query }) =>
      db.call(
        "tenancy.system_settings_get",
        query.keys === undefined ? {} : { keys: settingsNamed(query.keys) },
      ),
  }),
  endpoint({
    method: "put",
    path: "/settings",
    summary: "Set settings of the system, each as a whole",
    access: permission("manage:system"),
    tenant: "none",
    body: z.object({
      settings: SystemSettings.refine((settings) => Object.keys(settings).length > 0, {
        error: "name a setting",
      }),
    }),
    response: SettingsResponse,
    errors: ["invalid_reference"],
    run: ({ db, body }) => db.call("tenancy.system_settings_save", body),
  }),
];
