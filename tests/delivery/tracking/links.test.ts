/** The addresses by which recipients follow parcels are made and ended by the office and those who ordered. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  type Ground,
  newDelivery,
  newGround,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectReplayed } from "../../support/promises.ts";
import { follow, links, offerTracking, tokenOf } from "../../support/tracking.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let theirs: Ground;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  [ground, theirs] = await Promise.all([newGround(tenant), newGround(other)]);
  await Promise.all([offerTracking(ground), offerTracking(theirs)]);
});

const linkOf = (delivery: string) => `${links}/${delivery}`;
const linksIn = (id: string) =>
  sql`select delivery_id, token from delivery.tracking_links where tenant_id = ${id}`;

describe("a link", () => {
  test("is made once, and given again to everybody who sees the delivery", async () => {
    const [one, two] = [await newDelivery(ground), await newDelivery(ground)];
    const made = await tenant.dispatcher.post(links, { delivery_ids: [two.id, one.id, two.id] });
    expect(made).toSucceed(200);
    expect(made.headers.get("cache-control")).toContain("no-store");
    expect(made.body.data.map(({ delivery_id }: { delivery_id: string }) => delivery_id))
      .toEqual([two.id, one.id]);
    const [first] = made.body.data;
    expect(first).toEqual({
      delivery_id: two.id,
      delivery_code: two.delivery_code,
      token: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      url: expect.stringMatching(
        new RegExp(`/functions/v1/delivery/public/tracking/${first.token}$`),
      ),
    });
    expect(await tokenOf(tenant.customer, two.id)).toBe(first.token);
    expect(await tokenOf(tenant.admin, two.id)).toBe(first.token);
  });

  test("of a leg is that of its parcel", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    const { body } = await tenant.ops.post(links, { delivery_ids: [b, parent.id] });
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({ delivery_id: parent.id });
  });

  test("is one, however many ask for it at once", async () => {
    const { id } = await newDelivery(ground);
    const tokens = await Promise.all(Array.from({ length: 8 }, () => tokenOf(tenant.ops, id)));
    expect(new Set(tokens).size).toBe(1);
    expect((await linksIn(tenant.id)).filter(({ delivery_id }) => delivery_id === id)).toHaveLength(
      1,
    );
  });

  test("is made once under one Idempotency-Key, and other deliveries are refused under it", async () => {
    const [one, two] = [await newDelivery(ground), await newDelivery(ground)];
    await expectReplayed(
      tenant.ops,
      links,
      { delivery_ids: [one.id] },
      { delivery_ids: [two.id] },
    );
  });

  test("stands in the audit log without its token", async () => {
    const { id } = await newDelivery(ground);
    const token = await tokenOf(tenant.ops, id);
    const logged = await sql`select after::text as row from app.audit_log
      where tenant_id = ${tenant.id} and entity = 'delivery.tracking_links' and after ->> 'delivery_id' = ${id}`;
    expect(logged).toHaveLength(1);
    expect(logged[0].row).not.toContain(token);
  });
});

describe("no link is made", () => {
  const refused = async (ids: string[], code: string, status: number, named: string[]) => {
    const before = await linksIn(tenant.id);
    const answer = await tenant.ops.post(links, { delivery_ids: ids });
    expect(answer).toFailWith(status, code);
    expect(answer.body).toMatchObject({ field: "delivery_ids", delivery_ids: named });
    expect(await linksIn(tenant.id)).toHaveLength(before.length);
  };

  test("of any of them when one is nobody's or another company's", async () => {
    const [own, foreign] = [await newDelivery(ground), await newDelivery(theirs)];
    const nothing = randomUUID();
    await refused([own.id, foreign.id, nothing], "delivery_not_found", 404, [foreign.id, nothing]);
    const answer = await tenant.institution.post(links, { delivery_ids: [own.id] });
    expect(answer).toFailWith(404, "delivery_not_found");
  });

  test("where the service has no tracking, of a draft, and of what goes back", async () => {
    const plain = await newGround(tenant);
    const [untracked, own] = [await newDelivery(plain), await newDelivery(ground)];
    const draft = await newDelivery(ground, { status: "draft" });
    const [back] = await sql`insert into delivery.deliveries ${
      sql({
        ...(await sql`select * from delivery.deliveries where id = ${own.id}`)[0],
        id: randomUUID(),
        delivery_code: 900_001,
        barcode: randomUUID(),
        delivery_flow: "operational_return",
        original_delivery_id: own.id,
      } as never)
    } returning id`;
    await refused([own.id, draft.id, untracked.id, back.id], "tracking_not_offered", 409, [
      draft.id,
      untracked.id,
      back.id,
    ]);
  });

  test.each([
    [{}, "delivery_ids"],
    [{ delivery_ids: [] }, "delivery_ids"],
    [{ delivery_ids: ["no-id"] }, "delivery_ids.0"],
    [{ delivery_ids: Array.from({ length: 101 }, () => randomUUID()) }, "delivery_ids"],
  ])("without a list of up to 100 ids", async (body, field) => {
    const answer = await tenant.ops.post(links, body);
    expect(answer.status).toBe(400);
    expect(answer.body.field).toBe(field);
  });

  test("for others than the office and who ordered", async () => {
    const { id } = await newDelivery(ground);
    await expectGuarded({ method: "POST", path: links, body: { delivery_ids: [id] } }, {
      denied: [tenant.driver, tenant.warehouse],
    });
    await expectGuarded({ method: "DELETE", path: linkOf(id) }, {
      denied: [tenant.driver, tenant.warehouse],
    });
  });
});

describe("a link that is ended", () => {
  test("opens nothing any more, and the next one is another", async () => {
    const { id } = await newDelivery(ground);
    const token = await tokenOf(tenant.customer, id);
    expect(await tenant.customer.delete(linkOf(id))).toSucceed(200);
    expect(await follow(token)).toFailWith(404, "tracking_not_found");
    const next = await tokenOf(tenant.ops, id);
    expect(next).not.toBe(token);
    expect(await follow(next)).toSucceed(200);
  });

  test("of a leg is that of its parcel", async () => {
    const { parent, b } = await stagedInWarehouse(ground);
    await tokenOf(tenant.ops, parent.id);
    const { body } = await tenant.ops.delete(linkOf(b));
    expect(body.data).toEqual({ delivery_id: parent.id });
  });

  test("is not another merchant's, another company's, or none", async () => {
    const [own, foreign] = [await newDelivery(ground), await newDelivery(theirs)];
    const token = await tokenOf(other.ops, foreign.id);
    await tokenOf(tenant.ops, own.id);
    for (
      const [who, id] of [
        [tenant.ops, foreign.id],
        [tenant.institution, own.id],
        [tenant.ops, randomUUID()],
      ] as const
    ) expect(await who.delete(linkOf(id))).toFailWith(404, "tracking_not_found");
    expect(await follow(token)).toSucceed(200);
    expect(await tenant.ops.delete(linkOf("no-id"))).toFailWith(400, "invalid_uuid");
    expect(await nobody.delete(linkOf(own.id))).toFailWith(401, "unauthorized");
  });
});
