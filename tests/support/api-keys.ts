/** API keys of companies, as their administrators make them. */
import { expect } from "vitest";
import type { Tenant } from "./people.ts";

export const path = "/tenants/me/api-keys";
export const scopes = ["view:tenant", "manage:operations:tenant"];
export const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
export const expires_at = inDays(30);

/** A key that the company's administrator has made. */
export async function newKey(tenant: Tenant, more: Record<string, unknown> = {}) {
  const answer = await tenant.admin.post(path, { name: "Shop", scopes, expires_at, ...more });
  expect(answer).toSucceed(201);
  return answer.body as { api_key: { id: string } & Record<string, unknown>; key: string };
}
