/** Accounts as Supabase Auth keeps them: made, invited and removed through its admin API. */
import type { AuthError } from "@supabase/supabase-js";
import { system } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { log } from "../../../shared/runtime/log.ts";
import { supabaseAdmin } from "../../../shared/outbound/supabase.ts";

const timeoutMs = 10_000;
const once = { timeoutMs };
/** For calls that may safely happen twice. */
const repeated = { timeoutMs, retries: 2, retryOn: [502, 503, 504] };

/**
 * Makes the account under the id chosen for it, so that the removal queued beforehand knows what to remove; its address
 * counts as confirmed unless said otherwise. `taken`: the e-mail has an account. Fails: weak_password, validation_failed.
 */
export async function makeAuthUser(
  user: { id: string; email: string; password?: string; fullName: string; confirmed?: boolean },
): Promise<"made" | "taken"> {
  const { auth } = await supabaseAdmin(once);
  const { data, error } = await auth.admin.createUser({
    id: user.id,
    email: user.email,
    password: user.password,
    email_confirm: user.confirmed ?? true,
    user_metadata: { full_name: user.fullName },
  });
  const made = data.user?.id;
  if (made === user.id) return "made";
  if (made) await deleteAuthUser(made);
  switch (error?.code) {
    case "email_exists":
    case "user_already_exists":
      return "taken";
    case "weak_password":
      throw new AppError("weak_password", { field: "password" });
    case "validation_failed":
    case "email_address_invalid":
      throw new AppError("validation_failed", { field: "email", reason_key: "reason_invalid" });
    default:
      throw failed("a new user", error);
  }
}

/** Has Auth send its invitation mail to an address whose account is not confirmed; one that is gets none. */
export async function sendInvitationMail(email: string): Promise<void> {
  const { auth } = await supabaseAdmin(once);
  const { error } = await auth.admin.inviteUserByEmail(email);
  if (error && error.code !== "email_exists") throw failed("an invitation", error);
}

/** Gives a user another password, with which Auth ends all their sessions. Fails: weak_password. */
export async function setAuthPassword(id: string, password: string): Promise<void> {
  const { auth } = await supabaseAdmin(repeated);
  const { error } = await auth.admin.updateUserById(id, { password });
  if (error?.code === "weak_password") throw new AppError("weak_password", { field: "password" });
  if (error) throw failed("a new password", error);
}

/** Removes a user who became nobody's member. Members, and users who are gone already, are left as they are. */
export async function removeIfNowhere(userId: string): Promise<void> {
  const nowhere = await system<boolean>(
    "select tenancy.is_without_membership($1::text::uuid) as answer",
    [userId],
  );
  if (nowhere) await deleteAuthUser(userId);
}

/** The job behind it, for when the process that should have cleaned up is gone. */
export async function removeAuthUser(job: Job): Promise<void> {
  await removeIfNowhere(String(job.payload.user_id));
}

/** Removes an account from Auth; one that is gone already stays so. */
export async function deleteAuthUser(id: string): Promise<void> {
  const { auth } = await supabaseAdmin(repeated);
  const { error } = await auth.admin.deleteUser(id);
  if (error && error.status !== 404) throw failed("the removal of a user", error);
  log("info", "auth_user_removed", { user: id, status: error?.status ?? 200 });
}

/** Only a status and a code of Auth's: its messages may name what was sent. */
function failed(what: string, error: AuthError | null): Error {
  return new Error(`Auth answered ${error?.status ?? 200} ${error?.code ?? ""} to ${what}`, {
    cause: error,
  });
}
