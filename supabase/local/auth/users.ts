/** Users of the local stand-in for Supabase Auth. */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { AuthFailure } from "./failure.ts";

type Sql = postgres.Sql | postgres.TransactionSql;
type Metadata = Record<string, unknown>;

/** A row of auth.users, as far as the stand-in reads it. */
export interface UserRow {
  id: string;
  aud: string;
  role: string;
  email: string | null;
  phone: string | null;
  email_confirmed_at: Date | null;
  phone_confirmed_at: Date | null;
  confirmed_at: Date | null;
  last_sign_in_at: Date | null;
  raw_app_meta_data: Metadata | null;
  raw_user_meta_data: Metadata | null;
  created_at: Date;
  updated_at: Date;
  banned_until: Date | null;
  deleted_at: Date | null;
  is_anonymous: boolean;
}

/** The writable fields of a user; undefined, or an empty phone, leaves a field as it is. `id` is for a new one only. */
export interface UserChanges {
  id?: string;
  email?: string;
  phone?: string;
  password?: string;
  email_confirm?: boolean;
  phone_confirm?: boolean;
  role?: string;
  app_metadata?: Metadata;
  user_metadata?: Metadata;
  /** A duration such as "24h" or "1h30m", or "none". */
  ban_duration?: string;
}

/** The user of that id, on demand one who was deleted softly as well; fails with user_not_found. */
export async function findUser(
  sql: Sql,
  id: string,
  { orDeleted = false } = {},
): Promise<UserRow> {
  const [user] = isUuid(id)
    ? await sql<UserRow[]>`select * from auth.users
      where id = ${id} and (deleted_at is null or ${orDeleted})`
    : [];
  if (!user) throw new AuthFailure(404, "user_not_found", "User not found");
  return user;
}

/** The user with that e-mail or phone and password, undefined when either is wrong. */
export async function findByPassword(
  sql: Sql,
  { email, phone, password }: { email?: string; phone?: string; password: string },
): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`
    select * from auth.users
    where ${email ? sql`email = ${email.toLowerCase()}` : sql`phone = ${normalPhone(phone)}`}
      and deleted_at is null and not is_sso_user
      -- crypt() fails on anything that is not a hash, such as an empty password column.
      and case when encrypted_password like '$2%'
        then encrypted_password = extensions.crypt(${password}, encrypted_password) else false end`;
  return user;
}

/**
 * Creates a user with its identity, in the caller's transaction; fails with email_exists, phone_exists, validation_failed,
 * weak_password.
 */
export async function createUser(
  sql: postgres.TransactionSql,
  changes: UserChanges,
): Promise<UserRow> {
  if (!changes.email && !changes.phone) {
    throw new AuthFailure(
      400,
      "validation_failed",
      "Cannot create a user without either an email or phone",
    );
  }
  const id = changes.id ?? randomUUID();
  const provider = changes.email ? "email" : "phone";
  await refuseTaken(sql, id, changes);
  await sql`insert into auth.users (instance_id, id, aud, role, raw_app_meta_data, raw_user_meta_data, created_at,
      updated_at, confirmation_token, recovery_token, email_change_token_new, email_change)
    values ('00000000-0000-0000-0000-000000000000', ${id}, 'authenticated', 'authenticated',
      ${sql.json({ provider, providers: [provider] })}, '{}', now(), now(), '', '', '', '')`;
  const user = await updateUser(sql, id, changes);
  // As the real service does: the identity of a user made here is not verified, and is named by the user's id.
  const identity = {
    sub: id,
    email: user.email,
    phone: user.phone,
    email_verified: false,
    phone_verified: false,
  };
  await sql`insert into auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at,
      updated_at) values (${id}, ${id}, ${sql.json(identity)}, ${provider}, now(), now(), now())`;
  return user;
}

/** Changes a user; metadata is merged, and a key set to null removed, as the real service does. */
export async function updateUser(sql: Sql, id: string, changes: UserChanges): Promise<UserRow> {
  if (changes.password !== undefined && changes.password.length < 6) {
    throw new AuthFailure(422, "weak_password", "Password should be at least 6 characters.");
  }
  await refuseTaken(sql, id, changes);
  const { email, phone, password, role, app_metadata, user_metadata } = changes;
  const [user] = await sql<UserRow[]>`update auth.users set
    email = coalesce(${email?.toLowerCase() ?? null}, email),
    phone = coalesce(${phone ? normalPhone(phone) : null}, phone),
    role = coalesce(${role ?? null}, role),
    encrypted_password = ${
    password === undefined
      ? sql`encrypted_password`
      : sql`extensions.crypt(${password}, extensions.gen_salt('bf', 6))`
  },
    -- A new password ends a recovery that is under way.
    recovery_token = ${password === undefined ? sql`recovery_token` : sql`''`},
    email_confirmed_at = ${
    changes.email_confirm ? sql`coalesce(email_confirmed_at, now())` : sql`email_confirmed_at`
  },
    phone_confirmed_at = ${
    changes.phone_confirm ? sql`coalesce(phone_confirmed_at, now())` : sql`phone_confirmed_at`
  },
    raw_app_meta_data = ${merged(sql, "raw_app_meta_data", app_metadata)},
    raw_user_meta_data = ${merged(sql, "raw_user_meta_data", user_metadata)},
    banned_until = ${
    changes.ban_duration === undefined ? sql`banned_until` : bannedUntil(changes.ban_duration)
  },
    updated_at = now()
    where id = ${id} and deleted_at is null returning *`;
  if (!user) throw new AuthFailure(404, "user_not_found", "User not found");
  return user;
}

/** A user as the API shows it. */
export async function userJson(sql: Sql, user: UserRow) {
  const identities = await sql`
    select id as identity_id, provider_id as id, user_id, identity_data, provider, last_sign_in_at, created_at,
      updated_at, email
    from auth.identities where user_id = ${user.id} order by created_at`;
  return {
    id: user.id,
    aud: user.aud,
    role: user.role,
    email: user.email ?? "",
    phone: user.phone ?? "",
    email_confirmed_at: user.email_confirmed_at ?? undefined,
    phone_confirmed_at: user.phone_confirmed_at ?? undefined,
    confirmed_at: user.confirmed_at ?? undefined,
    last_sign_in_at: user.last_sign_in_at ?? undefined,
    app_metadata: user.raw_app_meta_data ?? {},
    user_metadata: user.raw_user_meta_data ?? {},
    identities,
    created_at: user.created_at,
    updated_at: user.updated_at,
    banned_until: user.banned_until ?? undefined,
    is_anonymous: user.is_anonymous,
  };
}

/** True while the user may not sign in. */
export function isBanned(user: UserRow): boolean {
  return user.banned_until !== null && user.banned_until > new Date();
}

/** Postgres would answer a malformed id with an error; here it only means that there is no such user. */
function isUuid(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
}

async function refuseTaken(sql: Sql, id: string, { email, phone }: UserChanges): Promise<void> {
  if (email !== undefined && !/^[^@\s]+@[^@\s]+$/.test(email)) {
    throw new AuthFailure(
      400,
      "validation_failed",
      "Unable to validate email address: invalid format",
    );
  }
  const [taken] = await sql<{ by_email: boolean }[]>`
    select email = ${email?.toLowerCase() ?? null} as by_email from auth.users
    where id <> ${id} and (email = ${email?.toLowerCase() ?? null} or phone = ${
    phone ? normalPhone(phone) : null
  })`;
  if (!taken) return;
  const [code, what] = taken.by_email
    ? ["email_exists", "email address"]
    : ["phone_exists", "phone number"];
  throw new AuthFailure(422, code!, `A user with this ${what} has already been registered`);
}

function bannedUntil(duration: string): Date | null {
  if (duration === "none") return null;
  const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)([smh])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== duration) {
    throw new AuthFailure(400, "validation_failed", `invalid format for ban duration: ${duration}`);
  }
  const length = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * units[unit!]!, 0);
  return new Date(Date.now() + length);
}

function normalPhone(phone = ""): string {
  return phone.replace(/[^\d]/g, "");
}

function merged(sql: Sql, column: string, metadata: Metadata = {}) {
  const removed = Object.keys(metadata).filter((key) => metadata[key] === null);
  return sql`(coalesce(${sql(column)}, '{}') || ${
    sql.json(metadata as postgres.JSONValue)
  }) - ${removed}::text[]`;
}
