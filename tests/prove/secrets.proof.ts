/**
 * Plants secrets through the API and then looks for them wherever somebody might read: every
 * table, the write-ahead log, the logs of PostgreSQL and of the functions, the answers of everything that can be read,
 * the files that are kept, and the PDFs.
 */
import { randomUUID } from "node:crypto";
import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { operations } from "../contract/functions.ts";
import { sampleOf, urlOf } from "../contract/requests.ts";
import { offerSimulated } from "../support/carriers.ts";
import { type Answer, nobody, type Person, withToken } from "../support/api.ts";
import { newCash } from "../support/cod.ts";
import { sql, stack } from "../support/db.ts";
import { newEverything, type Things } from "../support/everything.ts";
import { newSystemAdmin, type Tenant } from "../support/people.ts";
import { everyText } from "../support/pdf.ts";
import { moduleId } from "../support/webhooks.ts";
import { wizardBody } from "../support/wizard.ts";
import { figure } from "./proof.ts";

/** The secret values that only this test wrote, by kind. */
const planted = new Map<string, string>();
let tenant: Tenant;
let things: Things;
let system: Person;
beforeAll(async () => {
  [{ tenant, things }, system] = await Promise.all([newEverything("received"), newSystemAdmin()]);
  // The carrier is set up here, which tells its secret.
  await sql`delete from integration.tenant_carriers where tenant_id = ${tenant.id}`;
});

/** The payer; not a secret. */
const customer = "Openly 7391";

/** A secret of ours to plant. */
function canary(what: string): string {
  const text = `Cnry${randomUUID().replaceAll("-", "")}`;
  planted.set(what, text);
  return text;
}

/** A secret that an answer told once. */
function told(what: string, secret: string): void {
  expect(secret, what).toMatch(/.{20}/);
  planted.set(what, secret.replace(/^whsec_/, ""));
}

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
  const read = await readEverything();
  const printed = await printEverything();
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

/** Every question of every function, asked by the tenant's administrator and by the system's. */
async function readEverything(): Promise<{ what: string; text: string }[]> {
  const found: { what: string; text: string }[] = [];
  const reads = operations.filter(({ endpoint }) =>
    endpoint.method === "get" && !endpoint.internal
  );
  for (const who of [tenant.admin, system]) {
    for (const operation of reads) {
      const url = urlOf(operation, sampleOf(operation, things));
      for (const form of ["", "format=csv"]) {
        const { status, body, headers } = await who.get(
          form ? `${url}${url.includes("?") ? "&" : "?"}${form}` : url,
        );
        if (status >= 300) continue;
        const text = body instanceof Uint8Array
          ? Buffer.from(body).toString("latin1")
          : typeof body === "string"
          ? body
          : JSON.stringify(body);
        found.push({
          what: `answer of ${operation.name}`,
          text: text + JSON.stringify([...headers]),
        });
      }
    }
  }
  return found;
}

/** Prints a label, and a receipt in each language, and answers what stands in them. */
async function printEverything(): Promise<{ what: string; text: string }[]> {
  const labels = await tenant.dispatcher.post("/delivery/shipment-labels", {
    delivery_codes: [things.delivery_code],
  });
  expect(labels.status, JSON.stringify(labels.body)).toBe(200);
  const printed = [{ what: "label", text: await everyText(labels.body) }];
  for (const language of ["en", "ar", "ku"] as const) {
    const { id } = await newCash(tenant, { customerName: customer });
    const settled = await tenant.dispatcher.in(language).post("/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [id],
    });
    expect(settled.status, JSON.stringify(settled.body)).toBe(200);
    const receipt = `/delivery/cod-settlements/${settled.body.data.settlement_payment_id}/receipt`;
    const answer = await vi.waitUntil(async () => {
      const answer = await tenant.dispatcher.get(receipt);
      return answer.status !== 202 && answer;
    }, { timeout: 30_000 });
    const file = new Uint8Array(await (await fetch(answer.body.url)).arrayBuffer());
    printed.push({ what: `receipt ${language}`, text: await everyText(file) });
  }
  return printed;
}

/** Whatever Storage keeps: PDFs as they are and as they read. */
async function inFiles(): Promise<string[]> {
  const dir = join(stack.dataDir, "storage");
  const hits: string[] = [];
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    const text = bytes.toString("latin1");
    hits.push(...inText("a file", text.startsWith("%PDF-") ? await everyText(bytes) : text));
  }
  return [...new Set(hits)];
}

/** A secret as it is, and in the forms it may take on its way. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString("hex"),
    bytes.toString("base64").replace(/=+$/, ""),
    encodeURIComponent(secret),
    // Of a secret that is base64 itself: what it stands for.
    Buffer.from(secret, "base64").toString("hex"),
  ];
}

function inText(where: string, text: string): string[] {
  return [...planted].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
    .map(([what]) => `${what}: ${where}`);
}

/** Bytes as characters, so that nothing is lost. */
function fileText(file: string): string {
  return existsSync(file) ? readFileSync(file, "latin1") : "";
}

async function inWriteAheadLog(): Promise<string[]> {
  const [{ data_directory }] = await sql`show data_directory`;
  const dir = join(data_directory, "pg_wal");
  const segments = readdirSync(dir).filter((name) => /^[0-9A-F]{24}$/.test(name));
  expect(segments.length).toBeGreaterThan(0);
  return segments.flatMap((name) => inText("write-ahead log", fileText(join(dir, name))));
}

/** Every row of every table, as a dump would have it. */
async function inTables(): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'`;
  const forms = [...planted].flatMap(([what, secret]) =>
    formsOf(secret).map((form) => ({ what, form }))
  );
  const hits: string[] = [];
  for (const { name } of tables) {
    const found = await sql.unsafe(
      `select f.what from jsonb_to_recordset($1) as f (what text, form text)
        where exists (select from ${name} t where position(f.form in t::text) > 0)`,
      [forms as never],
    );
    hits.push(...found.map(({ what }) => `${what}: ${name}`));
  }
  return [...new Set(hits)];
}
