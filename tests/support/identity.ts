/** Claims of Auth's tokens, and the answer to callers whom nobody knows. */
import type { JWTPayload } from "jose";
import { expect } from "vitest";
import type { CallOptions, Person } from "./api.ts";
import { stack } from "./db.ts";
import { points } from "./network.ts";
import type { Tenant } from "./people.ts";

/** The claims of a token that Auth would give to the tenant's administrator. */
export const goodClaims = (tenant: Tenant): JWTPayload => ({
  sub: tenant.admin.id,
  role: "authenticated",
  aud: "authenticated",
  iss: `${stack.url}/auth/v1`,
  app_metadata: { tenant_id: tenant.id },
});

export async function expectUnauthorized(person: Person, options?: CallOptions): Promise<void> {
  const answer = await person.get(points, options);
  expect(answer).toFailWith(401, "unauthorized");
  expect(answer.body).toEqual({ success: false, code: "unauthorized", message: "Please sign in." });
}
