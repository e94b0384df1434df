/** The contents of Auth's mails: a link or a code that signs the reader in. */
import { createHash, randomInt } from "node:crypto";
import type postgres from "postgres";
import { AuthFailure } from "./failure.ts";
import type { Mails, MailType } from "./mails.ts";
import type { TokenIssuer } from "./sessions.ts";
import { createUser, type UserChanges, type UserRow } from "./users.ts";

type Sql = postgres.Sql | postgres.TransactionSql;

const kinds = ["recovery", "magiclink", "invite", "signup", "email"] as const;
type Kind = typeof kinds[number];
const maxSeconds = 3_600;

/** The dependencies of sending a mail. */
export interface Postman {
  sql: postgres.Sql;
  mails: Mails;
  /** `<url>/auth/v1`. */
  issuer(): string;
}

/** The link and the code that a mail to this user would carry; one made later takes the place of it. */
export async function makeLink(issuer: TokenIssuer, body: Record<string, unknown>) {
  const type = kindOf(body);
  if (type === "email") throw unknownKind();
  const { email, otp, hashed } = newToken(body.email);
  const user = await keepToken(issuer.sql, email, hashed, type);
  if (!user) throw new AuthFailure(404, "user_not_found", "User with this email not found");
  return {
    user,
    action_link: linkOf(issuer.issuer(), hashed, type, ""),
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
  postman: Postman,
  body: Record<string, unknown>,
): Promise<UserRow> {
  const email = addressOf(body.email);
  await postman.sql.begin(async (transaction) => {
    const known = await findByEmail(transaction, email);
    if (known?.email_confirmed_at) {
      const taken = "A user with this email address has already been registered";
      throw new AuthFailure(422, "email_exists", taken);
    }
    const { id } = known ??
      await createUser(transaction, { email, user_metadata: body.data } as UserChanges);
    await transaction`update auth.users set invited_at = now() where id = ${id}`;
  });
  return (await sendMail(postman, email, "invite"))!;
}

/** Sends a mail with a new link and code to the user of that address; undefined, and no mail, where there is none. */
export async function sendMail(
  { sql, mails, issuer }: Postman,
  address: string,
  type: MailType,
  redirectTo = "",
): Promise<UserRow | undefined> {
  const { email, otp, hashed } = newToken(address);
  const user = await keepToken(sql, email, hashed, type);
  if (user) {
    const link = linkOf(issuer(), hashed, type, redirectTo);
    mails.send({ to: email, type, token_hash: hashed, token: otp, link });
  }
  return user;
}

/** The user of an address, confirmed or not. */
export async function findByEmail(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`select * from auth.users
    where email = ${email} and deleted_at is null and not is_sso_user`;
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
    : hashOf(addressOf(body.email), String(body.token ?? ""));
  // A code that is typed in may be of either.
  const columns = kind === "email" ? [confirmation, recovery] : [columnsOf(kind)];
  for (const { token, sentAt } of columns) {
    const [user] = await sql<UserRow[]>`
      update auth.users set ${
      sql(token)
    } = '', email_confirmed_at = coalesce(email_confirmed_at, now()), updated_at = now()
      where ${sql(token)} = ${hashed} and ${sql(token)} <> '' and deleted_at is null
        and ${sql(sentAt)} > now() - make_interval(secs => ${maxSeconds}) returning *`;
    if (user) return user;
  }
  throw new AuthFailure(403, "otp_expired", "Token has expired or is invalid");
}

const confirmation = { token: "confirmation_token", sentAt: "confirmation_sent_at" };
const recovery = { token: "recovery_token", sentAt: "recovery_sent_at" };

function columnsOf(kind: Kind) {
  return kind === "invite" || kind === "signup" ? confirmation : recovery;
}

async function keepToken(sql: postgres.Sql, email: string, hashed: string, kind: Kind) {
  const { token, sentAt } = columnsOf(kind);
  const [user] = await sql<UserRow[]>`
    update auth.users set ${sql(token)} = ${hashed}, ${sql(sentAt)} = now()
    where email = ${email} and deleted_at is null and not is_sso_user returning *`;
  return user;
}

function kindOf({ type }: Record<string, unknown>): Kind {
  const kind = kinds.find((one) => one === type);
  if (!kind) throw unknownKind();
  return kind;
}

function unknownKind(): AuthFailure {
  return new AuthFailure(400, "validation_failed", `Only ${kinds.join(", ")} are known here`);
}

function linkOf(issuer: string, hashed: string, type: string, redirectTo: string): string {
  return `${issuer}/verify?${new URLSearchParams({
    token: hashed,
    type,
    redirect_to: redirectTo,
  })}`;
}

/** An address as it is kept. */
export function addressOf(email: unknown): string {
  return typeof email === "string" ? email.trim().toLowerCase() : "";
}

/** A new code for an address, and the hash that is kept of it. */
function newToken(address: unknown) {
  const email = addressOf(address);
  const otp = String(randomInt(1_000_000)).padStart(6, "0");
  return { email, otp, hashed: hashOf(email, otp) };
}

function hashOf(email: string, otp: string): string {
  return createHash("sha224").update(email + otp).digest("hex");
}
