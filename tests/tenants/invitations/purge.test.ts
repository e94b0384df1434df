/** Invitations that nobody answered do not stay for ever. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { address, delivered, gone, invited } from "../../support/invitations.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let a: Tenant;
beforeAll(async () => {
  [a] = await Promise.all([newTenant()]);
});

test("invitations are purged: unused accounts when they expired, the rest after ninety days", async () => {
  const email = address();
  const { id } = await invited(a, email, { password: "the company's word" });
  await delivered(id);
  await sql`update tenancy.invitations set expires_at = now() - interval '1 hour' where id = ${id}`;
  await sql`select tenancy.invitations_purge()`;
  await gone(email);
  expect(await sql`select from tenancy.invitations where id = ${id}`).toHaveLength(1);
  await sql`update tenancy.invitations set expires_at = now() - interval '91 days' where id = ${id}`;
  await sql`select tenancy.invitations_purge()`;
  expect(await sql`select from tenancy.invitations where id = ${id}`).toHaveLength(0);
});
