/** What mails of Auth carry: a link or a code that signs in whoever reads the mail. */
import { createHash, randomInt } from "node:crypto";
import type postgres from "postgres";
import { AuthFailure } from "./failure.ts";
import type { Mails } from "./mails.ts";
import type { TokenIssuer } from "./sessions.ts";
import { createUser, type UserChanges, type UserRow } from "./users.ts";

const kinds = ["recovery", "magiclink", "invite"];
const secondsMax = 3_600;

/** The link and the code that a mail to this user would carry; one made later takes the place of it. */
export async function makeLink(issuer: TokenIssuer, body: Record<string, unknown>) {
  const type = kindOf(body);
  const { email, otp, hashed } = newToken(body);
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

/**
 * Sends the invitation mail: to a new user, or again to one whose address is not confirmed. Fails with email_exists for
 * one that is.
 */
export async function invite(
  sql: postgres.Sql,
  mails: Mails,
  body: Record<string, unknown>,
): Promise<UserRow> {
  const { email, otp, hashed } = newToken(body);
  const user = await sql.begin(async (transaction) => {
    const [known] = await transaction<UserRow[]>`select * from auth.users
      where email = ${email} and deleted_at is null and not is_sso_user`;
    if (known?.email_confirmed_at) {
      const taken = "A user with this email address has already been registered";
      throw new AuthFailure(422, "email_exists", taken);
    }
    const { id } = known ??
      await createUser(transaction, { email, user_metadata: body.data } as UserChanges);
    const [invited] = await transaction<UserRow[]>`
      update auth.users set confirmation_token = ${hashed}, confirmation_sent_at = now(), invited_at = now()
      where id = ${id} returning *`;
    return invited!;
  });
  mails.send({
    to: email,
    subject: "You have been invited",
    type: "invite",
    token_hash: hashed,
    token: otp,
  });
  return user;
}

/** The user of a link, which works once and confirms the address. Fails with otp_expired. */
export async function redeemLink(
  sql: postgres.Sql,
  body: Record<string, unknown>,
): Promise<UserRow> {
  const kind = kindOf(body);
  const hashed = typeof body.token_hash === "string"
    ? body.token_hash
    : hashOf(String(body.email ?? "").toLowerCase(), String(body.token ?? ""));
  const [token, sentAt] = kind === "invite"
    ? [sql`confirmation_token`, sql`confirmation_sent_at`]
    : [sql`recovery_token`, sql`recovery_sent_at`];
  const [user] = await sql<UserRow[]>`
    update auth.users set ${token} = '', email_confirmed_at = coalesce(email_confirmed_at, now()), updated_at = now()
    where ${token} = ${hashed} and ${token} <> '' and deleted_at is null
      and ${sentAt} > now() - make_interval(secs => ${secondsMax}) returning *`;
  if (!user) {
    throw new AuthFailure(403, "otp_expired", `The link of the kind ${kind} is no more good`);
  }
  return user;
}

function kindOf({ type }: Record<string, unknown>): string {
  if (typeof type === "string" && (kinds.includes(type) || type === "email")) return type;
  throw new AuthFailure(400, "validation_failed", `Only ${kinds.join(", ")} are known here`);
}

/** A new code for the address of the request, and the hash that is kept of it. */
function newToken(body: Record<string, unknown>) {
  const email = String(body.email ?? "").toLowerCase();
  const otp = String(randomInt(1_000_000)).padStart(6, "0");
  return { email, otp, hashed: hashOf(email, otp) };
}

function hashOf(email: string, otp: string): string {
  return createHash("sha224").update(email + otp).digest("hex");
}
