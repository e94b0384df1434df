/** People who register themselves, with a password. */
import { randomUUID } from "node:crypto";
import { isObject } from "./body.ts";
import { AuthFailure } from "./failure.ts";
import { addressOf, findByEmail, type Postman, sendMail } from "./links.ts";
import { openSession, type TokenIssuer } from "./sessions.ts";
import { createUser, userJson } from "./users.ts";

interface SignUpContext {
  userAgent: string | null;
  redirectTo?: string;
}

/**
 * A new account: with a session at once, or, where addresses are confirmed, without one until the link of its mail is
 * followed. An address that has an account is answered alike then and gets no second one, so nobody learns who is registered.
 */
export async function signUp(
  issuer: TokenIssuer,
  postman: Postman,
  body: Record<string, unknown>,
  { userAgent, redirectTo }: SignUpContext,
) {
  const { sql, config } = issuer;
  if (!config.signupEnabled) {
    throw new AuthFailure(422, "signup_disabled", "Signups not allowed for this instance");
  }
  const email = addressOf(body.email);
  const confirms = config.confirmEmail && email !== "";
  const known = confirms ? await findByEmail(sql, email) : undefined;
  if (known?.email_confirmed_at) {
    const now = new Date();
    return {
      ...await userJson(sql, { ...known, id: randomUUID(), created_at: now, updated_at: now }),
      identities: [],
    };
  }
  const user = known ?? await sql.begin((transaction) =>
    createUser(transaction, {
      email: email || undefined,
      phone: typeof body.phone === "string" && body.phone ? body.phone : undefined,
      password: typeof body.password === "string" ? body.password : "",
      user_metadata: isObject(body.data) ? body.data : undefined,
      email_confirm: email !== "" && !confirms,
      phone_confirm: Boolean(body.phone),
    })
  );
  if (!confirms) return await openSession(issuer, user, userAgent);
  return await userJson(sql, (await sendMail(postman, email, "signup", redirectTo))!);
}
