/**
 * The tenant wizard: two transactions of ours around one call to Auth. When any of it fails, all of it
 * is undone; if the process dies, the same call continues, or a job undoes it.
 */
import type { z } from "zod";
import { type Database, system } from "../../../shared/db/db.ts";
import { replayed, type Result } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { accept } from "../../../shared/schemas/input.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { Subscription } from "../subscription/schemas.ts";
import { makeAuthUser, removeIfNowhere, setAuthPassword } from "../users/auth-users.ts";
import { Wizard } from "./schemas.ts";

interface Admin {
  user_id: string;
  state: "new" | "made" | "invited";
}

interface Answer extends Record<string, unknown> {
  steps: { step: string; status: string }[];
}

interface Begun {
  answer?: Answer;
  run_id: string;
  admin?: Admin;
}

type Request = ReturnType<typeof requestOf>;

/** Runs the wizard, or continues the run of this key. */
export async function runWizard(
  db: Database,
  body: unknown,
  key: string | undefined,
): Promise<Result> {
  const creates_admin = asksForAdmin(body);
  const wizard = await accepted(db, body, creates_admin);
  const request = requestOf(wizard);
  const begun = await db.call<Begun>("tenancy.wizard_begin", { creates_admin, key, request })
    .catch((error) => {
      throw inWordsOfTheWizard(error, wizard.subscription);
    });
  if (begun.answer) return { ...withLeftOut(begun.answer, request), [replayed]: true };
  try {
    if (begun.admin && request.admin) {
      await makeAdmin(db, begun.run_id, begun.admin, request.admin, wizard.admin_user?.password);
    }
    const input = { run_id: begun.run_id, admin: request.admin };
    return withLeftOut(await db.call<Answer>("tenancy.wizard_finish", input), request);
  } catch (error) {
    await undo(db, begun.run_id);
    throw error;
  }
}

/** The job behind it, for a run that nobody finished. */
export async function undoWizard(job: Job): Promise<void> {
  const { user_id } = await system<{ user_id?: string }>(
    "select tenancy.wizard_rollback($1::text::uuid) as answer",
    [String(job.payload.run_id)],
  );
  if (user_id) await removeIfNowhere(user_id);
}

function asksForAdmin(body: unknown): boolean {
  const { admin_user } = (body ?? {}) as { admin_user?: { create?: unknown } | null };
  return admin_user?.create === true;
}

/** Checks whether the caller may create an administrator, then the input. */
async function accepted(
  db: Database,
  body: unknown,
  creates_admin: boolean,
): Promise<z.output<typeof Wizard>> {
  try {
    return accept(Wizard, body);
  } catch (wrongInput) {
    await db.call("tenancy.wizard_check", { creates_admin });
    throw wrongInput;
  }
}

/** All of the input but the password, in the words of the cores. */
function requestOf({ tenant, admin_user, modules, ...rest }: z.output<typeof Wizard>) {
  const { brand_settings, general_config, subscription } = rest;
  const paid = Subscription.safeParse(subscription);
  const contact = tenant.contact_info ?? {};
  const { delivery, left_out } = withoutService(general_config?.delivery as Delivery);
  const groups: Record<string, unknown> = {
    ...general_config,
    delivery,
    // Without it every order that comes without measurements would be refused.
    unit_size: {
      missing_unit_size_fallback: "service_min",
      ...general_config?.unit_size as object,
    },
    brand_settings,
  };
  return {
    tenant,
    left_out,
    settings: Object.entries(groups).filter(([, settings]) => settings).map((
      [group, settings],
    ) => ({ module: "general", group, settings })),
    enabled_module_ids: modules?.enabled_module_ids,
    subscription: paid.success ? paid.data : undefined,
    admin: admin_user?.create
      ? {
        email: contact.email!,
        phone: contact.phone ?? undefined,
        full_name: Object.values(tenant.name).find((name) => name)!,
        avatar_url: avatarOf(brand_settings) ?? tenant.logo_url ?? undefined,
      }
      : undefined,
  };
}

type Delivery = { return_requests?: Record<string, unknown> | null } | null | undefined;
const returnService = "default_delivery_service_id";

/** A tenant that begins has no services, so none of it can be the one for returns: it is chosen later. */
function withoutService(delivery: Delivery) {
  if (!delivery?.return_requests?.[returnService]) return { delivery };
  const { [returnService]: _, ...return_requests } = delivery.return_requests;
  const field = `general_config.delivery.return_requests.${returnService}`;
  return { delivery: { ...delivery, return_requests }, left_out: [field] };
}

/** The answer, which names beside the settings what of them was left out. */
function withLeftOut(answer: Answer, { left_out }: Request): Answer {
  const steps = answer.steps.map((one) => one.step === "settings" ? { ...one, left_out } : one);
  return left_out ? { ...answer, steps } : answer;
}

function avatarOf(brand: unknown): string | undefined {
  const { assets } = (brand ?? {}) as {
    assets?: { logo?: { light?: string | null } | null } | null;
  };
  return assets?.logo?.light ?? undefined;
}

async function makeAdmin(
  db: Database,
  run_id: string,
  admin: Admin,
  person: NonNullable<Request["admin"]>,
  password: string | undefined,
): Promise<void> {
  let { state } = admin;
  try {
    if (state === "new") {
      const { email, full_name: fullName } = person;
      const made = await makeAuthUser({ id: admin.user_id, email, password, fullName })
        .catch(whenUnclear);
      if (made === "made") return;
      ({ state } = await db.call<Admin>("tenancy.wizard_admin", { run_id, email }).catch(
        (error) => {
          throw made === "unclear" ? new AppError("service_unavailable") : error;
        },
      ));
    }
    // Created by a call that was interrupted; the password is the one of this call.
    if (state === "made" && password) await setAuthPassword(admin.user_id, password);
  } catch (error) {
    if (error instanceof AppError) throw inWordsOfTheWizard(error);
    log("error", "auth_user_not_made", describeError(error));
    throw new AppError("service_unavailable");
  }
}

/** A time-out, or a failure of Auth itself, as a second call for the same user meets: the user may exist. */
function whenUnclear(error: unknown): "unclear" {
  if (error instanceof AppError) throw error;
  log("warn", "auth_user_unclear", describeError(error));
  return "unclear";
}

/** Takes the run back at once. Where that fails it is reported, and left to the job. */
async function undo(db: Database, run_id: string): Promise<void> {
  try {
    const { user_id } = await db.call<{ user_id?: string }>("tenancy.wizard_undo", { run_id });
    if (user_id) await removeIfNowhere(user_id);
  } catch (error) {
    log("error", "wizard_left_to_job", { run: run_id, ...describeError(error) });
    await db.call("tenancy.wizard_undo_failed", { run_id }).catch((failure) =>
      log("error", "wizard_failure_not_reported", { run: run_id, ...describeError(failure) })
    );
  }
}

/** A refusal that names its field as the wizard's body has it. */
function inWordsOfTheWizard(error: unknown, subscription?: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, params, language } = error;
  // One was sent, so something is wrong with it.
  if (code === "subscription_required" && subscription) {
    try {
      accept(Subscription, subscription);
    } catch (wrong) {
      return inside("subscription", wrong as AppError);
    }
  }
  const field = String(params.field ?? "");
  const renamed = field.startsWith("general.")
    ? field.replace("general.", "general_config.").replace(".settings.", ".")
    : {
      slug: "tenant.slug",
      password: "admin_user.password",
      email: "tenant.contact_info.email",
      enabled_module_ids: "modules.enabled_module_ids",
    }[field];
  return renamed ? new AppError(code, { ...params, field: renamed }, language) : error;
}

function inside(group: string, { code, params }: AppError): AppError {
  return new AppError(code, { ...params, field: `${group}.${params.field}` });
}
