/** Repeats of a call under the same key after the first was interrupted or created nothing. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newManifest } from "../../support/manifests.ts";
import { checkBooks, fundWallet } from "../../support/money.ts";
import type { Tenant } from "../../support/people.ts";
import { newDestination, requestTo, setDestination } from "../../support/set-destination.ts";

let tenant: Tenant;
let request: ReturnType<typeof requestTo>;

beforeAll(async () => {
  const made = await newDestination();
  tenant = made.tenant;
  request = requestTo(made);
});

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

test("orders of a failed batch are reported as interrupted, and created by the same call", async () => {
  const [{ itemIds: [one] }, { itemIds }] = [
    await newManifest(tenant, { items: 1 }),
    await newManifest(tenant, { items: 21 }),
  ];
  const { body } = await tenant.dispatcher.post(setDestination, request([one]));
  const { id, delivery_code } = body.data.created[0].delivery;
  // The code that the last item will have is taken, so the second part cannot be written.
  const taken = delivery_code + itemIds.length;
  await sql`update delivery.deliveries set delivery_code = ${taken} where id = ${id}`;
  const first = await tenant.dispatcher.post(setDestination, request(itemIds), keyed("lost"));
  expect(first).toSucceed(200);
  expect(first.body.data).toMatchObject({ created_count: 20, failed_count: 1 });
  expect(first.body.data.failed[0]).toMatchObject({
    item_id: itemIds[20],
    current_status: "received",
    code: "order_creation_interrupted",
    error_message: expect.stringMatching(/\w/),
  });
  expect(first.body.data.receipt.ready_item_ids).toEqual(itemIds);

  await sql`update delivery.deliveries set delivery_code = ${delivery_code} where id = ${id}`;
  const again = await tenant.dispatcher.post(setDestination, request(itemIds), keyed("lost"));
  expect(again.headers.get("idempotency-replayed")).toBeNull();
  expect(again.body.data).toMatchObject({ created_count: 21, failed_count: 0 });
  expect(again.body.data.created.slice(0, 20)).toEqual(first.body.data.created);
  expect(again.body.data.created[20].delivery.delivery_code).toBe(taken);
  const replay = await tenant.dispatcher.post(setDestination, request(itemIds), keyed("lost"));
  expect(replay.headers.get("idempotency-replayed")).toBe("true");
  expect(await checkBooks(tenant)).toEqual([]);
});

test("an answer without an order is not remembered: once the wallet is filled the same call makes them", async () => {
  const made = await newDestination(0);
  const poor = made.tenant;
  const { itemIds } = await newManifest(poor, { items: 2 });
  const body = requestTo(made)(itemIds);
  const short = await poor.dispatcher.post(setDestination, body, keyed("short"));
  expect(short.body).toMatchObject({ success: false, data: { created_count: 0 } });
  expect(short.body.data.failed.map(({ code }: { code: string }) => code)).toEqual(
    Array(2).fill("insufficient_wallet_balance"),
  );
  await fundWallet(poor, "institution", poor.institution.id, 10_000);
  const filled = await poor.dispatcher.post(setDestination, body, keyed("short"));
  expect(filled).toSucceed(200);
  expect(filled.body.data.created_count).toBe(2);
  expect(await checkBooks(poor)).toEqual([]);
});

test("nor is receiving that is not complete: once the rest is received the same call makes the orders", async () => {
  const { id, itemIds: [mine, rest] } = await newManifest(tenant, { items: 2 });
  const half = await tenant.dispatcher.post(setDestination, request([mine]), keyed("half"));
  expect(half.body).toMatchObject({ success: false, code: "manifest_receiving_incomplete" });
  const path = `/delivery/transfer-manifests/${id}/receive-items`;
  expect(await tenant.dispatcher.post(path, { item_ids: [rest] })).toSucceed(200);
  const whole = await tenant.dispatcher.post(setDestination, request([mine]), keyed("half"));
  expect(whole).toSucceed(200);
  expect(whole.body.data).toMatchObject({ created_count: 1, created: [{ item_id: mine }] });
});
