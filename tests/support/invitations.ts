/** Invitations of companies: sent, found, answered, and the mails and accounts behind them. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Body, nobody, type Person, signedIn, withToken } from "./api.ts";
import { type Session, signUp } from "./auth.ts";
import { sql, stack } from "./db.ts";
import type { Tenant } from "./people.ts";

/** An address that nobody has. */
export const address = () => `invited-${randomUUID()}@barid.test`;

export const person = (email: string, more: Record<string, unknown> = {}) => ({
  email,
  full_name: "What The Company Typed",
  phone: "+9647700000099",
  tenant_user_type: "staff",
  roles: ["dispatcher"],
  ...more,
});

export const invite = (
  tenant: Tenant,
  email: string,
  more: Record<string, unknown> = {},
  key?: string,
) =>
  tenant.admin.post(`/tenants/${tenant.id}/users`, person(email, more), {
    headers: key ? { "idempotency-key": key } : {},
  });

export const invited = async (...args: Parameters<typeof invite>): Promise<Body> => {
  const answer = await invite(...args);
  expect(answer).toSucceed(202);
  return answer.body.data.invitation;
};

export const as = (session: Session) => withToken(session.access_token);

export const mine = async (who: Person): Promise<Body[]> => {
  const answer = await who.get("/tenants/me/invitations");
  expect(answer).toSucceed(200);
  return answer.body.data;
};

export const accept = (who: Person, id: string, headers = {}) =>
  who.post(`/tenants/me/invitations/${id}/accept`, {}, { headers });

export const account = async (password = "their own secret") => {
  const email = address();
  const id = await signUp(email, password, { full_name: "Their Own Name" });
  return { email, id, who: signedIn(id, null) };
};

export const membershipsOf = (userId: string) =>
  sql`select tenant_id, tenant_user_type, is_active, left_at from tenancy.tenant_users
    where user_id = ${userId} order by created_at`;

/** Runs the jobs until `what` holds. */
export async function jobsUntil(what: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 100; round++) {
    await nobody.post("/tenants/internal/jobs", {}, { headers: { apikey: stack.secretKey } });
    if (await what()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the jobs did not get there");
}

/** Runs the jobs of an entity until none is left. */
export const doneJobs = (key: string) =>
  jobsUntil(async () =>
    (await sql`select from app.jobs where entity_key = ${key} and status in ('queued', 'running')`)
      .length === 0
  );

export const delivered = (id: string) => doneJobs("invitation/" + id);
export const gone = (email: string) =>
  jobsUntil(async () => (await sql`select from auth.users where email = ${email}`).length === 0);
