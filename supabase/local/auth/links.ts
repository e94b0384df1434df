/** What mails of Auth carry: a link or a code that signs in whoever reads the mail. Nobody sends them here. */
import { createHash, randomInt } from "node:crypto";
import type postgres from "postgres";
import { AuthFailure } from "./failure.ts";
import type { TokenIssuer } from "./sessions.ts";
import type { UserRow } from "./users.ts";

const kinds = ["recovery", "magiclink"];
const secondsMax = 3_600;

/** The link and the code that a mail to this user would carry; one made later takes the place of it. */
export async function makeLink(issuer: TokenIssuer, body: Record<string, unknown>) {
  const type = kindOf(body);
  const email = String(body.email ?? "").toLowerCase();
  const otp = String(randomInt(1_000_000)).padStart(6, "0");
  const hashed = hashOf(email, otp);
  const [user] = await issuer.sql<UserRow[]>`
    update auth.users set recovery_token = ${hashed}, recovery_sent_at = now()
    where email = ${email} and deleted_at is null and not is_sso_user returning *`;
  if (!user) throw new AuthFailure(404, "user_not_found", "User with this email not found");
  return {
    user,
    action_link: `${issuer.issuer()}/verify?token=${hashed}&type=${type}&redirect_to=`,
    email_otp: otp,
    hashed_token: hashed,
    verification_type: type,
    redirect_to: "",
  };
}

/** The user of a link, which works once and confirms his address. Fails with otp_expired. */
export async function redeemLink(
  sql: postgres.Sql,
  body: Record<string, unknown>,
): Promise<UserRow> {
  const kind = kindOf(body);
  const hashed = typeof body.token_hash === "string"
    ? body.token_hash
    : hashOf(String(body.email ?? "").toLowerCase(), String(body.token ?? ""));
  const [user] = await sql<UserRow[]>`
    update auth.users set recovery_token = '', email_confirmed_at = coalesce(email_confirmed_at, now()), updated_at = now()
    where recovery_token = ${hashed} and recovery_token <> '' and deleted_at is null
      and recovery_sent_at > now() - make_interval(secs => ${secondsMax}) returning *`;
  if (!user) {
    throw new AuthFailure(403, "otp_expired", `The link of the kind ${kind} is no more good`);
  }
  return user;
}

function kindOf({ type }: Record<string, unknown>): string {
  if (typeof type === "string" && (kinds.includes(type) || type === "email")) return type;
  throw new AuthFailure(400, "validation_failed", "Only recovery and magiclink are known here");
}

function hashOf(email: string, otp: string): string {
  return createHash("sha224").update(email + otp).digest("hex");
}
