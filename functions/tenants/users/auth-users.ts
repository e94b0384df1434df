/** Accounts as Supabase Auth keeps them: made, invited and removed through its admin API. */
import { system } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { log } from "../../../shared/runtime/log.ts";
import { callPlatform } from "../../../shared/outbound/fetch.ts";

const adminUsers = "/auth/v1/admin/users";
const timeoutMs = 10_000;
const retryOn = [502, 503, 504];

/**
 * Makes the account under the id chosen for it, so that the removal queued beforehand knows what to remove; its address
 * counts as confirmed unless said otherwise. `taken`: the e-mail has an account. Fails: weak_password, validation_failed.
 */
export async function makeAuthUser(
  user: { id: string; email: string; password?: string; fullName: string; confirmed?: boolean },
): Promise<"made" | "taken"> {
  const response = await callPlatform(adminUsers, {
    method: "POST",
    body: {
      id: user.id,
      email: user.email,
      password: user.password,
      email_confirm: user.confirmed ?? true,
      user_metadata: { full_name: user.fullName },
    },
  }, { timeoutMs });
  const answer = await response.json().catch(() => ({})) as { id?: string; error_code?: string };
  if (response.ok && answer.id === user.id) return "made";
  if (response.ok && answer.id) await deleteAuthUser(answer.id);
  switch (answer.error_code) {
    case "email_exists":
    case "user_already_exists":
      return "taken";
    case "weak_password":
      throw new AppError("weak_password", { field: "password" });
    case "validation_failed":
    case "email_address_invalid":
      throw new AppError("validation_failed", { field: "email", reason_key: "reason_invalid" });
    default:
      throw new Error(`Auth answered ${response.status} ${answer.error_code ?? ""} to a new user`);
  }
}

/** Has Auth send its invitation mail to an address whose account is not confirmed; one that is gets none. */
export async function sendInvitationMail(email: string): Promise<void> {
  const response = await callPlatform("/auth/v1/invite", { method: "POST", body: { email } }, {
    timeoutMs,
  });
  const answer = await response.json().catch(() => ({})) as { error_code?: string };
  if (!response.ok && answer.error_code !== "email_exists") {
    throw new Error(`Auth answered ${response.status} ${answer.error_code ?? ""} to an invitation`);
  }
}

/** Gives a user another password, with which Auth ends all their sessions. Fails: weak_password. */
export async function setAuthPassword(id: string, password: string): Promise<void> {
  const response = await callPlatform(
    `${adminUsers}/${id}`,
    { method: "PUT", body: { password } },
    {
      timeoutMs,
      retries: 2,
      retryOn,
    },
  );
  const answer = await response.json().catch(() => ({})) as { error_code?: string };
  if (answer.error_code === "weak_password") {
    throw new AppError("weak_password", { field: "password" });
  }
  if (!response.ok) throw new Error(`Auth answered ${response.status} to a new password`);
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
  const response = await callPlatform(`${adminUsers}/${id}`, { method: "DELETE" }, {
    timeoutMs,
    retries: 2,
    retryOn,
  });
  await response.body?.cancel();
  if (!response.ok && response.status !== 404) {
    throw new Error(`Auth answered ${response.status} to the removal of a user`);
  }
  log("info", "auth_user_removed", { user: id, status: response.status });
}
