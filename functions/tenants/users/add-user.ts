/** Making a user with an account: two transactions of ours around one call to Auth, and no orphan whatever breaks. */
import type { z } from "zod";
import type { Database } from "../../../shared/db/db.ts";
import { replayed, type Result } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { makeAuthUser, removeIfNowhere } from "./auth-users.ts";
import type { CreateUser } from "./schemas.ts";

interface Begun {
  answer?: Record<string, unknown>;
  user_id: string;
  job_id: number;
}

/** Makes an account and its membership. An address that has an account is refused: its owner is to be invited. */
export async function addUser(
  db: Database,
  { password, ...person }: z.output<typeof CreateUser>,
  key: string | undefined,
): Promise<Result> {
  const call = { person, key };
  let begun = await db.call<Begun>("tenancy.user_begin", call);
  if (!begun.answer && await make(db, begun, call, password) === "taken") {
    await db.call("tenancy.user_abandon", { job_id: begun.job_id });
    // Somebody made it since we looked; under the same key it is the answer, else it is refused here.
    begun = await db.call<Begun>("tenancy.user_begin", call);
    if (!begun.answer) {
      await db.call("tenancy.user_abandon", { key, job_id: begun.job_id });
      throw new AppError("user_being_added");
    }
  }
  if (begun.answer) return { ...begun.answer, [replayed]: true };
  try {
    return await db.call("tenancy.user_finish", {
      ...call,
      user_id: begun.user_id,
      job_id: begun.job_id,
    });
  } catch (error) {
    await undo(db, begun, key);
    throw error;
  }
}

async function make(
  db: Database,
  begun: Begun,
  { person, key }: { person: { email: string; full_name: string }; key?: string },
  password: string | undefined,
): Promise<"made" | "taken"> {
  try {
    return await makeAuthUser({
      id: begun.user_id,
      email: person.email,
      password,
      fullName: person.full_name,
    });
  } catch (error) {
    // Also after a time-out, when nobody knows whether Auth made the account.
    await undo(db, begun, key, error instanceof AppError);
    if (error instanceof AppError) throw error;
    log("error", "auth_user_not_made", describeError(error));
    throw new AppError("service_unavailable");
  }
}

/**
 * Removes what was made and lets the same call be made again. Where that fails, or may have come too
 * early, the queued job does it later; the caller hears of the failure of the call, not of ours.
 */
async function undo(
  db: Database,
  begun: Begun,
  key: string | undefined,
  nothingMade = false,
): Promise<void> {
  try {
    if (!nothingMade) await removeIfNowhere(begun.user_id);
    await db.call("tenancy.user_abandon", {
      key,
      job_id: nothingMade ? begun.job_id : undefined,
    });
  } catch (error) {
    log("error", "auth_user_left_to_job", { job: begun.job_id, ...describeError(error) });
  }
}
