/** `npm run tenant -- erase` takes somebody without an account out of a company, and nobody else. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Place } from "../../../supabase/tenant/place.ts";
import { nobody } from "../../support/api.ts";
import { disclosePerson } from "../../../supabase/tenant/disclose.ts";
import { sql } from "../../support/db.ts";
import {
  buys,
  erased,
  type Lived,
  newCompany,
  newPlace,
  receives,
  rowsThatSay,
  textsOfPerson,
} from "../../support/erasure.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { jobsDone } from "../../support/jobs.ts";
import { booksOf, breachesIn, cashOf, stockOf } from "../../support/reconciled.ts";
import { systemKey } from "../../support/webhooks.ts";

const gone = {
  name: "Shilan Barzanji",
  phone: "+9647709876541",
  email: "shilan.b@example.test",
  street: "Lane 77, house 9A",
  before: { name: "Shilan Khoshnaw", street: "Gulan 12, flat 3" },
};
/** Another person of the same name. */
const like = {
  ...gone,
  phone: "+9647701112233",
  email: "other.shilan@example.test",
  street: "Lane 78",
  before: undefined,
};
let here: Lived;
let there: Lived;
let place: Place;
let end = () => Promise.resolve();
let parcel: { id: string; payment: string };
let likes: { id: string; payment: string };
let order: string;
let likesOrder: string;
let before: Record<string, string>;
let figures: unknown;

const countsOf = async () =>
  await sql`select (select count(*) from app.audit_log where tenant_id = ${here.shop.tenant.id}) as logged,
    (select json_agg(json_build_array(c.id, c.amount, c.status) order by c.id) from money.cod_collections c
      where c.tenant_id = ${here.shop.tenant.id}) as cash,
    (select sum(e.amount) from money.ledger_entries e where e.tenant_id = ${here.shop.tenant.id}) as entries,
    (select json_agg(json_build_array(d.id, d.status, d.cod_amount) order by d.id) from delivery.deliveries d
      where d.tenant_id = ${here.shop.tenant.id}) as parcels`;
/** The rows of the other Shilan, as they are. */
const likeRows = () => rowsThatSay([like.phone, like.email, like.street, likes.id]);

beforeAll(async () => {
  ({ place, end } = await newPlace());
  [here, there] = await Promise.all([newCompany(), newCompany()]);
  parcel = await receives(here, gone);
  likes = await receives(here, like);
  order = await buys(here, gone, here.shop.tenant.customer);
  likesOrder = await buys(here, like, here.shop.tenant.customer);
  await receives(there, gone);
  const { tenant } = here.shop;
  await sql`insert into tenancy.notifications (tenant_id, user_id, type, payload)
    values (${tenant.id}, ${tenant.driver.id}, 'none', ${
    sql.json({ delivery_id: parcel.id, text: `Call ${gone.name}` })
  })`;
  await sql`update tenancy.tenant_settings set settings = settings || ${
    sql.json({ vip: "0770 987 65 41" })
  }
    where tenant_id = ${tenant.id} and group_key = 'unit_size'`;
  await jobsDone(tenant.id);
  before = await fingerprintOf(there.shop.tenant.id);
  figures = await countsOf();
}, 120_000);
afterAll(() => end());

const ask = { phone: gone.phone, email: gone.email };

test("is shown, and nothing is written until the number is typed", async () => {
  const { tenant } = here.shop;
  const { text, failure } = await erased(place, tenant, ask);
  expect(failure).toBeUndefined();
  expect(text).toContain("Files: 2");
  // Two lines of the list find the parcel: it is one row.
  expect(text).toMatch(/delivery\.deliveries: 1 rows/);
  expect(text).toContain(`--confirm ${gone.phone} erases all of this for good`);
  expect((await erased(place, tenant, { ...ask, confirm: "0770" })).failure).toContain(
    "Nothing was erased",
  );
  expect(await sql`select from tenancy.erasures where tenant_id = ${tenant.id}`).toEqual([]);
});

test("gets each row once, with all that is said of it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "barid-person-"));
  const file = join(folder, "recipient.json");
  try {
    const options = { slug: `t-${here.shop.tenant.id}`, ...ask, export: file };
    await disclosePerson(place, options, () => {});
    const { tables } = JSON.parse(readFileSync(file, "utf8"));
    expect(tables["delivery.deliveries"]).toMatchObject([{
      id: parcel.id,
      recipient: { name: gone.name, phone: gone.phone },
      notes: expect.stringContaining("Ring twice"),
      external_reference_id: `For ${gone.phone}`,
      dropoff_snapshot: expect.any(Object),
    }]);
    for (const [table, rows] of Object.entries(tables) as [string, { id?: string }[]][]) {
      const ids = rows.flatMap(({ id }) => id ?? []);
      expect(new Set(ids).size, table).toBe(ids.length);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("waits while a gateway's report about the payment of an order fits nothing", async () => {
  const { tenant } = here.shop;
  await sql`insert into money.payment_webhook_events
    (tenant_id, gateway_code, event_key, event_type, proof, facts, outcome, reason, payment_id)
    select tenant_id, 'razorpay', ${order}, 'refund.processed', 'signature', '{"kind": "refunded"}', 'unmatched',
      'amount_differs', id
    from money.payments where order_id = ${order} and type = 'ORDER'`;
  const { text, failure } = await erased(place, tenant, { ...ask, confirm: gone.phone });
  expect(text).toContain("Open: 1 reports of a gateway fit no payment");
  expect(failure).toContain("settle it first");
  await sql`delete from money.payment_webhook_events where event_key = ${order}`;
  // The log has both writes.
  figures = await countsOf();
});

test("goes from every table and every file", async () => {
  const { tenant } = here.shop;
  const likeBefore = await likeRows();
  const { text, failure } = await erased(place, tenant, {
    ...ask,
    confirm: gone.phone,
    by: "Dana",
  });
  expect(failure, text).toBeUndefined();
  await nobody.post("/delivery/internal/jobs", {}, systemKey);
  await jobsDone(tenant.id);
  const said = await rowsThatSay(textsOfPerson(gone), there.shop.tenant.id);
  const ofLike = new Set(
    await rowsThatSay([like.phone, like.street, like.email, likes.id, likes.payment, likesOrder]),
  );
  expect(said.filter((row) => !ofLike.has(row))).toEqual([]);
  expect(await rowsThatSay([gone.phone, gone.email, gone.street], there.shop.tenant.id)).toEqual(
    [],
  );
  expect((await likeRows()).sort()).toEqual(likeBefore.sort());
});

test("leaves the other company and all figures as they were", async () => {
  const { tenant } = here.shop;
  expect(await fingerprintOf(there.shop.tenant.id)).toEqual(before);
  expect(await countsOf()).toEqual(figures);
  expect([
    await booksOf(tenant),
    await stockOf(tenant),
    await cashOf(tenant),
    await breachesIn(tenant),
  ])
    .toEqual([[], [], [], []]);
});

test("leaves lists, details, receipt, label and search that answer", async () => {
  const { admin, ops } = here.shop.tenant;
  const detail = await ops.get(`/delivery/deliveries/${parcel.id}`, {
    query: { include: "proof_links" },
  });
  expect(detail).toSucceed(200);
  expect(detail.body.delivery).toMatchObject({
    recipient: { name: "Erased" },
    dropoff_address: { full_address: "Erased", city: "Baghdad", latitude: null, contact_info: {} },
    notes: null,
  });
  const said = await ops.get("/delivery/recipient-answers", { query: { delivery_id: parcel.id } });
  expect(said.body.data).toMatchObject([{ note: null, latitude: null, longitude: null, times: 1 }]);
  const links = detail.body.delivery.proofs.map(({ link }: { link: string }) => link);
  expect(links.filter((link: string) => link?.startsWith("http"))).toEqual([]);
  const paths = [
    `/storefront/orders/${order}`,
    "/storefront/orders",
    "/delivery/deliveries",
    "/delivery/cod-collections",
    "/delivery/cod-settlements",
    `/delivery/cod-settlements/${parcel.payment}/receipt`,
    "/delivery/addresses",
    "/tenants/me/audit",
  ];
  for (const path of paths) expect((await admin.get(path)).status, path).toBe(200);
  const label = await ops.post("/delivery/shipment-labels", {
    delivery_codes: [detail.body.delivery.delivery_code],
  });
  expect(label.status).toBe(200);
  for (const [search, found] of [["Erased", 1], ["Barzanji", 1]] as const) {
    const list = await admin.get("/delivery/cod-collections", { query: { search } });
    expect(list, search).toSucceed(200);
    expect(list.body.cod.collections, search).toHaveLength(found);
  }
});

test("is recorded without a name, and found no more", async () => {
  const { tenant } = here.shop;
  const records = await sql`select * from tenancy.erasures where tenant_id = ${tenant.id}`;
  expect(records).toMatchObject([{ run_by: "Dana", subject: {}, ended_at: expect.any(Date) }]);
  expect(Number(records[0]!.file_count)).toBe(2);
  const { text, failure } = await erased(place, tenant, ask);
  expect(failure).toBeUndefined();
  expect(text).toContain("Nothing more is to be erased.");
});
