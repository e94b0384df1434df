/** Users of tenants: where they are added, as what, and what Auth has of them. */
import { sql } from "./db.ts";
import { address } from "./invitations.ts";

export const usersOf = (tenant: { id: string }) => `/tenants/${tenant.id}/users`;
export const membersOf = (tenant: { id: string }) => `/tenants/${tenant.id}/members`;

/** The fields of a dispatcher whom nobody knows yet. */
export const person = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  email: address(),
  password: "long enough",
  full_name: "Nour Salim",
  phone: "+9647701234567",
  tenant_user_type: "staff",
  roles: ["dispatcher"],
  ...more,
});

export const authUser = (email: unknown) =>
  sql`select id from auth.users where email = ${String(email).toLowerCase()}`;
