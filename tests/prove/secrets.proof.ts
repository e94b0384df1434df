/**
 * Plants secrets through the API and then looks for them wherever somebody might read: every
 * table, the write-ahead log, the logs of PostgreSQL and of the functions, the answers of everything that can be read,
 * the files that are kept, and the PDFs.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { offerSimulated } from "../support/carriers.ts";
import { type Answer, nobody, type Person, withToken } from "../support/api.ts";
import { sql, stack } from "../support/db.ts";
import { newEverything, type Things } from "../support/everything.ts";
import { newSystemAdmin, type Tenant } from "../support/people.ts";
import { moduleId } from "../support/webhooks.ts";
import { wizardBody } from "../support/wizard.ts";
import { figure } from "./proof.ts";
import { printEverything, readEverything } from "./secrets/answers.ts";
import { canary, inText, planted, told } from "./secrets/planted.ts";
import { fileText, inFiles, inTables, inWriteAheadLog } from "./secrets/stores.ts";

/** The payer; not a secret. */
const customer = "Openly 7391";

let tenant: Tenant;
let things: Things;
let system: Person;
beforeAll(async () => {
  [{ tenant, things }, system] = await Promise.all([newEverything("received"), newSystemAdmin()]);
  // The carrier is set up here, which tells its secret.
  await sql`delete from integration.tenant_carriers where tenant_id = ${tenant.id}`;
});

test("no secret appears anywhere", async () => {
  const openly = `openly${randomUUID().replaceAll("-", "")}`;
  const answers: Answer[] = [];
  const ask = async (call: Promise<Answer>, status: number) => {
    const answer = await call;
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    return answer;
  };
  const keyed = { headers: { "idempotency-key": randomUUID() } };

  // Secrets that we make and tell once, with a key, so that the answer is remembered.
  const subscription = (await ask(
    tenant.admin.post("/webhooks/subscriptions", {
      module_id: await moduleId("storefront"),
      url: `http://127.0.0.1:9/${openly}`,
      event_types: ["*"],
    }, keyed),
    201,
  )).body;
  told("secret of a subscription", subscription.secret);
  const path = `/webhooks/subscriptions/${subscription.subscription.id}`;
  told(
    "secret after a rotation",
    (await ask(
      tenant.admin.post(`${path}/rotate-secret`, {}, {
        headers: { "idempotency-key": randomUUID() },
      }),
      200,
    )).body.secret,
  );
  const { key } = (await ask(
    tenant.admin.post("/tenants/me/api-keys", {
      name: "Till",
      scopes: ["view:tenant"],
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    }, {
      headers: { "idempotency-key": randomUUID() },
    }),
    201,
  )).body;
  told("API key", key);
  answers.push(
    await ask(nobody.get(`/tenants/${tenant.id}`, { headers: { "x-api-key": key } }), 200),
  );
  await offerSimulated();
  const carrier = (await ask(
    tenant.admin.patch("/carriers/tenant/simulated", {
      is_enabled: true,
      credentials: {
        login_id: canary("login at a carrier"),
        password: canary("password at a carrier"),
        initial_token: canary("token of a carrier"),
      },
    }, { headers: { "idempotency-key": randomUUID() } }),
    200,
  )).body;
  told("secret of a carrier's webhook", carrier.webhook.secret);

  // Secrets of gateways; exchanged once, so that there is one before.
  for (const turn of ["first", "second"]) {
    answers.push(
      await ask(
        tenant.admin.put("/payment/gateways/razorpay", {
          is_active: true,
          settings: { account_id: "acc_00000000000001" },
          secrets: {
            webhook_secret: canary(`${turn} webhook secret of a gateway`),
            key_id: canary(`${turn} key id of a gateway`),
            key_secret: canary(`${turn} key of a gateway`),
          },
        }, { headers: { "idempotency-key": randomUUID() } }),
        200,
      ),
    );
  }
  answers.push(
    await ask(
      tenant.admin.put("/payment/gateways/gatewayone", {
        is_active: true,
        settings: { terminal: "LOCAL001" },
        secrets: {
          username: canary("user name at a gateway"),
          password: canary("password at a gateway"),
        },
      }),
      200,
    ),
  );

  // Passwords of people: taken, refused, and of an attempt that fails.
  const person = (password: string, more = {}) => ({
    email: `${randomUUID()}@barid.test`,
    password,
    full_name: "P",
    phone: "+9647701234567",
    tenant_user_type: "staff",
    roles: ["dispatcher"],
    ...more,
  });
  const users = `/tenants/${tenant.id}/users`;
  answers.push(
    await ask(
      tenant.admin.post(users, person(canary("password of an invited person")), {
        headers: { "idempotency-key": randomUUID() },
      }),
      202,
    ),
    await ask(
      system.post(`/tenants/${tenant.id}/members`, person(canary("password of one made at once"))),
      201,
    ),
    await ask(
      tenant.admin.post(users, person(canary("password of one refused"), { roles: ["king"] })),
      400,
    ),
  );
  const wizard = wizardBody();
  wizard.admin_user.password = canary("password of a tenant's first administrator");
  answers.push(
    await ask(
      system.post("/tenants/wizard", wizard, { headers: { "idempotency-key": randomUUID() } }),
      201,
    ),
  );

  // Secrets in the headers of refused calls.
  answers.push(
    await ask(withToken(canary("a token")).get("/delivery/zones"), 401),
    await ask(
      nobody.get("/delivery/zones", { headers: { "x-api-key": canary("an API key") } }),
      401,
    ),
    await ask(nobody.get("/delivery/zones", { headers: { apikey: canary("a secret key") } }), 401),
    await ask(
      nobody.get("/delivery/zones", {
        headers: { authorization: `Basic ${canary("a password in a header")}` },
      }),
      401,
    ),
  );

  // Everything that shows these things again.
  for (
    const [who, url] of [
      [tenant.admin, "/webhooks/subscriptions"],
      [tenant.admin, `/webhooks/events/${subscription.subscription.id}`],
      [tenant.admin, "/carriers/tenant"],
      [tenant.admin, "/payment/gateways"],
      [tenant.admin, users],
      [tenant.admin, `/tenants/${tenant.id}/settings`],
      [tenant.admin, `/tenants/${tenant.id}`],
    ] as const
  ) answers.push(await ask(who.get(url), 200));
  answers.push(await ask(tenant.admin.put(path, { is_active: false }), 200));

  things.subscription = subscription.subscription.id;
  const read = await readEverything([tenant.admin, system], things);
  const printed = await printEverything(tenant, things, customer);
  expect(planted.size).toBeGreaterThanOrEqual(20);
  await sql`checkpoint`;
  const hits = [
    ...inText(
      "answers",
      answers.map(({ body, headers }) => JSON.stringify(body) + JSON.stringify([...headers])).join(
        "\n",
      ),
    ),
    ...read.flatMap(({ what, text }) => inText(what, text)),
    ...printed.flatMap(({ what, text }) => inText(what, text)),
    ...await inFiles(),
    ...inText("log of the functions", fileText(join(stack.dataDir, "logs", "functions.log"))),
    ...inText("log of PostgreSQL", fileText(stack.postgresLog)),
    ...await inWriteAheadLog(),
    ...await inTables(),
  ];
  figure({
    what:
      `${planted.size} planted secrets found in tables, write-ahead log, logs, answers, files or PDFs`,
    asked: "0",
    reached: hits.length,
    holds: hits.length === 0,
  });
  figure({
    what: "answers of what can be read, and PDFs, that were looked into",
    asked: "measured",
    reached: `${answers.length + read.length} and ${printed.length}`,
    holds: read.length > 100 && printed.length >= 4,
  });
  expect(hits).toEqual([]);
  expect(read.length).toBeGreaterThan(100);

  // The search finds what is no secret.
  planted.clear();
  planted.set("an address", openly);
  expect(await inTables()).toContain("an address: integration.webhook_subscriptions");
  expect(await inWriteAheadLog()).toContain("an address: write-ahead log");
  expect(read.flatMap(({ what, text }) => inText(what, text)).length).toBeGreaterThan(0);
  planted.clear();
  planted.set("who paid", customer);
  expect(printed.flatMap(({ what, text }) => inText(what, text)))
    .toEqual(["who paid: receipt en", "who paid: receipt ar", "who paid: receipt ku"]);
  expect(await inFiles()).toEqual(["who paid: a file"]);
}, 240_000);
