/** Delivers invitations by a job, so that the caller's waiting time reveals nothing about the address. */
import { system } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { log } from "../../../shared/runtime/log.ts";
import { unseal } from "../../../shared/outbound/secrets.ts";
import { deleteAuthUser, makeAuthUser, sendInvitationMail } from "../users/auth-users.ts";

/** The purpose that the first password of an invited address is sealed for. */
export const passwordPurpose = (email: string): string => `invitation/${email}`;

interface Delivery {
  step: "make" | "mail" | "none";
  user_id: string;
  email: string;
  full_name: string;
  password?: string;
}

/**
 * An address without an account gets one, unconfirmed, and Auth's invitation mail: by its link the owner proves the
 * mailbox. A person who has an account finds the invitation there.
 */
export async function deliverInvitation(job: Job): Promise<void> {
  const id = String(job.payload.invitation_id);
  const delivery = await system<Delivery>(
    "select tenancy.invitation_delivery($1::text::uuid) as answer",
    [id],
  );
  if (delivery.step === "make") await makeAccount(delivery);
  if (delivery.step !== "none") await sendInvitationMail(delivery.email);
  await system("select tenancy.invitation_delivered($1::text::uuid) as answer", [id]);
}

/** Removes the account that an invitation made, if nobody ever used it. */
export async function withdrawInvitation(job: Job): Promise<void> {
  const id = String(job.payload.user_id);
  const unused = await system<boolean>(
    "select tenancy.account_unused($1::text::uuid) as answer",
    [id],
  );
  if (unused) await deleteAuthUser(id);
}

async function makeAccount({ user_id: id, email, full_name: fullName, password }: Delivery) {
  const user = { id, email, fullName, confirmed: false };
  const opened = password && await unseal(password, passwordPurpose(email));
  const made = await makeAuthUser({ ...user, password: opened }).catch((error) => {
    // A password that Auth refuses is left out: the owner chooses one after the mail.
    if (!(error instanceof AppError) || error.params.field !== "password") throw error;
    log("warn", "invitation_password_refused", { code: error.code });
    return makeAuthUser(user);
  });
  // Somebody registered with the address meanwhile: the next attempt finds that account.
  if (made === "taken") throw new Error("the address has an account by now");
}
