/** Companies, their people and what these may do, and the system that all of them share. */
import { nobody, withKey, withToken } from "../../../support/api.ts";
import { newKey } from "../../../support/api-keys.ts";
import { signInByMail } from "../../../support/auth.ts";
import { sql } from "../../../support/db.ts";
import { account, invited } from "../../../support/invitations.ts";
import { newPerson, newTenant } from "../../../support/people.ts";
import { publish } from "../../../support/webhooks.ts";
import { brand, wizardBody } from "../../../support/wizard.ts";
import type { Call, Calls, World } from "../call.ts";

/** A tenant that nobody else in the world is in. */
const newcomer = (status?: string): Pick<Call, "before" | "by"> => ({
  by: "system",
  before: async () => {
    const tenant = await newTenant();
    if (status) await sql`update tenancy.tenants set status = ${status} where id = ${tenant.id}`;
    return { tenant, things: { tenant: tenant.id } };
  },
});

const asksForSubscriptions = (world: World, enabled: boolean) =>
  world.system.put("/system/settings", { settings: { "tenant_subscription.enabled": enabled } });

/** While the system asks every company for a subscription. */
const subscribing: Pick<Call, "before" | "by" | "after"> = {
  by: "system",
  before: async (world) => {
    const tenant = await newTenant();
    await asksForSubscriptions(world, true);
    return { tenant, things: { tenant: tenant.id } };
  },
  after: (world) => asksForSubscriptions(world, false),
};

/** Somebody whom the tenant has invited, and the caller. */
const guest: Pick<Call, "before"> = {
  before: async ({ tenant }) => {
    const { email, who } = await account();
    const { id } = await invited(tenant, email);
    return { caller: who, things: { invitation: id } };
  },
};

/** A member who may go. */
const member = async ({ tenant }: World) => {
  const { id } = await newPerson(tenant.id, "staff", "dispatcher");
  return { things: { user: id } };
};

const event: Pick<Call, "before" | "by"> = {
  by: "system",
  before: async ({ tenant }) => ({ things: { webhook_event: await publish(nobody, tenant) } }),
};

const inAMonth = () => new Date(Date.now() + 30 * 86_400_000).toISOString();
const person = (more: Record<string, unknown> = {}) => ({
  email: `invited-${crypto.randomUUID().slice(0, 8)}@barid.test`,
  full_name: "Shilan Rasul",
  phone: "+9647501234567",
  tenant_user_type: "staff",
  roles: ["dispatcher"],
  ...more,
});
const furat = { en: "Furat Post", ar: "بريد الفرات", ku: "پۆستی فورات" };

export const tenancy: Calls = {
  "POST /tenants/wizard": {
    by: "system",
    body: () => wizardBody({ brand_settings: brand }),
  },
  "GET /tenants": { by: "system" },
  "POST /tenants": {
    by: "system",
    body: () => ({
      name: furat,
      slug: `t-${crypto.randomUUID()}`,
      contact_info: { email: "office@furat.example", phone: "+9647705550001" },
    }),
  },
  "PUT /tenants/:tenantId": {
    body: () => ({ contact_info: { email: "office@dijla.example", phone: "+9647700000001" } }),
  },
  "POST /tenants/:tenantId/activate": newcomer("pending"),
  "POST /tenants/:tenantId/suspend": newcomer(),
  "POST /tenants/:tenantId/archive": newcomer(),
  "PUT /tenants/me/profile": {
    by: "dispatcher",
    body: () => ({ full_name: "Shilan Rasul", phone: "+9647701234567" }),
  },
  "POST /tenants/me/confirm": {
    before: async () => {
      const { email } = await account();
      return { caller: withToken((await signInByMail(email)).access_token) };
    },
    body: () => ({ password: "a long password of my own" }),
  },
  "POST /tenants/me/notifications/read": {
    by: "customer",
    body: ({ notification }) => ({ notification_ids: [notification] }),
  },
  "GET /tenants/me/notifications": { by: "customer" },
  "GET /tenants/me/api-key": {
    before: async ({ tenant }) => ({ caller: withKey((await newKey(tenant)).key) }),
  },
  "POST /tenants/me/api-keys": {
    body: () => ({
      name: "Shop system",
      scopes: ["view:tenant", "manage:operations:tenant"],
      expires_at: inAMonth(),
    }),
  },
  "POST /tenants/me/api-keys/:api_key_id/take-over": {
    before: async ({ tenant }) => ({
      things: { api_key: (await newKey(tenant)).api_key.id },
    }),
  },
  "POST /tenants/:tenantId/members": { by: "system", body: () => person() },
  "PUT /tenants/:tenantId/users/:userId": {
    before: member,
    body: () => ({ full_name: "Shilan Rasul", roles: ["operations_manager"] }),
  },
  "POST /tenants/:tenantId/users/:userId/deactivate": { before: member },
  "POST /tenants/:tenantId/users": { body: () => person() },
  "GET /tenants/me/invitations": guest,
  "POST /tenants/me/invitations/:invitation_id/accept": guest,
  "POST /tenants/me/invitations/:invitation_id/decline": guest,
  "POST /tenants/:tenantId/leave": { alone: "received", by: "dispatcher" },
  "PUT /tenants/:tenantId/settings": {
    alone: "received",
    body: () => ({
      general: { language: { settings: { default: "ar" } } },
      delivery: { transfer_manifest: { settings: { enabled: true, receiving_mode: "item_scan" } } },
    }),
  },
  "PUT /tenants/:tenantId/modules": {
    by: "system",
    alone: "received",
    body: ({ module }) => ({ enabled_module_ids: [module] }),
  },
  "POST /tenants/:tenantId/subscription": {
    ...subscribing,
    body: () => ({
      type: "MONTHLY",
      amount: 250_000,
      note_public: "Thank you",
      note_internal: "Pays by bank transfer",
      is_paid: true,
    }),
  },
  "POST /tenants/:tenantId/subscription/cancel": {
    ...subscribing,
    before: async (world) => {
      const prepared = await subscribing.before!(world);
      await world.system.post(`/tenants/${prepared.things!.tenant}/subscription`, {
        type: "MONTHLY",
        amount: 250_000,
        is_paid: true,
      });
      return prepared;
    },
  },
  "GET /system/metrics": { by: "system" },
  "GET /system/settings": { by: "system" },
  "PUT /system/settings": { by: "system", body: () => ({ settings: { "events.keep_days": 90 } }) },
  "GET /system/events": event,
  "GET /system/events/:event_id": event,
  "PUT /system/events/:event_id": { ...event, body: () => ({ status: "processed" }) },
  "POST /system/events": {
    by: "system",
    body: ({ delivery, tenant }) => ({
      event_type: "delivery.inspected",
      source_module: "delivery",
      entity_type: "delivery",
      entity_id: delivery,
      event_data: { by: "customs" },
      tenant_id: tenant,
    }),
  },
  "POST /system/events/replay": {
    by: "system",
    body: ({ tenant }) => ({
      since: new Date(Date.now() - 86_400_000).toISOString(),
      tenant_id: tenant,
      dry_run: true,
    }),
  },
};
