/** An account that somebody else made, or may have the password of, becomes its owner's. */
import type { Database } from "../../../shared/db/db.ts";
import type { Result } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { setAuthPassword } from "../users/auth-users.ts";

/**
 * Gives the caller's account a password that only they know, and records that it is confirmed. With the password Auth ends every
 * session of the account. Their access tokens live on for a while; from the note on they are refused.
 */
export async function confirmAccount(db: Database, password: string): Promise<Result> {
  const { user_id } = await db.call<{ user_id: string }>("tenancy.account_confirm_begin");
  try {
    await setAuthPassword(user_id, password);
  } catch (error) {
    if (error instanceof AppError) throw error;
    log("error", "auth_password_not_set", describeError(error));
    throw new AppError("service_unavailable");
  }
  const answer = await db.call("tenancy.account_confirm_finish");
  // Tokens name whole seconds, and one of the second of the note is refused: a person who signs in now must not get one.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return answer;
}
