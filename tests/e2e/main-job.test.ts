/**
 * The main job as a user does it: the demo data of `npm start`, the real supabase-js client, the
 * gateway. And what is left when a process is killed in the middle of it.
 */
import { type SupabaseClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { size } from "../prove/proof.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { openPdf, scan } from "../support/pdf.ts";
import { shuffled } from "../support/set-destination.ts";
import { type Body, call, signIn } from "./dispatchers-client.ts";
import { holdUp, twoHundredItems } from "./interrupted-call.ts";

let stack: Stack;
let dispatcher: SupabaseClient;

beforeAll(async () => {
  stack = await startOwnStack({
    durable: true,
    schedules: true,
    seed: true,
    watch: true,
    workers: 2,
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "error" },
  });
  dispatcher = await signIn(stack, "dispatcher@demo.test");
});

afterAll(async () => {
  await stack?.stop();
});

const items = "delivery/transfer-manifest-items";

async function waitingItems(): Promise<
  { manifest_item_id: string; barcode_value: string; manifest_id: string }[]
> {
  const { body } = await call(dispatcher, "GET", `${items}/search?limit=100`);
  const rows = body.data.filter((row: Body) => row.manifest_status === "awaiting_receipt");
  return rows.filter((row: Body) => row.manifest_id === rows[0].manifest_id);
}

async function somewhere(): Promise<string> {
  const { body } = await call(dispatcher, "GET", "delivery/addresses?limit=1");
  return body.data[0].id;
}

describe("a dispatcher's bulk scan", () => {
  test("search, validate, set destination of sixty shuffled items, labels in that order, nothing twice", async () => {
    const waiting = await waitingItems();
    expect(waiting).toHaveLength(60);

    const good = waiting[1].barcode_value;
    const wrongDigit = good.slice(0, 11) + ((Number(good[11]) + 1) % 10) + good.slice(12);
    const validated = await call(dispatcher, "POST", `${items}/bulk/validate?language=ar`, {
      identifiers: [
        { value: waiting[0].manifest_item_id },
        { value: good },
        { value: wrongDigit },
        { value: "???" },
      ],
    });
    expect(validated.body.data.results.map((row: Body) => [row.valid, row.error_key])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, "invalid_barcode"],
      [false, "invalid_barcode"],
    ]);
    expect(validated.body.data.results[2].error_message).toMatch(/[\u0600-\u06ff]/);

    const order = shuffled(waiting);
    const request = {
      item_ids: order.map((row) => row.manifest_item_id),
      destination_address_id: await somewhere(),
    };
    const made = await call(dispatcher, "POST", `${items}/bulk/set-destination`, request);
    expect(made.body).toMatchObject({
      success: true,
      data: { created_count: 60, failed_count: 0 },
    });
    expect(made.body.data.created.map((row: Body) => row.item_id)).toEqual(request.item_ids);

    const codes: number[] = made.body.data.created.map((row: Body) => row.delivery.delivery_code);
    const labels = await dispatcher.functions.invoke("delivery/shipment-labels?language=ku", {
      body: { delivery_codes: codes },
    });
    const pdf = await openPdf(new Uint8Array(await new Response(labels.data).arrayBuffer()));
    expect(pdf.pages).toBe(60);
    for (const page of [1, 2, 31, 60]) {
      expect(await scan(await pdf.raster(page))).toEqual([order[page - 1].barcode_value]);
    }

    const again = await call(dispatcher, "POST", `${items}/bulk/set-destination`, request);
    expect(again.body.data.created).toEqual(made.body.data.created);
    const [count] = await stack
      .sql`select count(*)::int as n from delivery.deliveries where manifest_id = ${
      waiting[0].manifest_id
    }`;
    expect(count.n).toBe(60);
  });

  test("another tenant's dispatcher sees none of it by any id", async () => {
    const stranger = await signIn(stack, "dispatcher@other.test");
    const [row] = await stack
      .sql`select i.id as item, i.barcode_value, m.id as manifest, d.delivery_code, d.id as delivery,
        m.processing_point_id as point, m.source_branch_id as branch, m.institution_user_id as institution, m.tenant_id
      from delivery.transfer_manifest_items i
      join delivery.transfer_manifests m on m.id = i.manifest_id
      join delivery.deliveries d on d.id = i.delivery_id limit 1`;
    for (const q of [row.item, row.barcode_value]) {
      expect((await call(stranger, "GET", `${items}/search?q=${q}`)).body.data).toEqual([]);
    }
    for (
      const path of [
        `transfer-manifests/${row.manifest}`,
        `transfer-manifests/${row.manifest}/events`,
        `transfer-processing-points/${row.point}`,
        `institutions/${row.institution}`,
        `institutions/${row.institution}/branches/${row.branch}`,
      ]
    ) expect((await call(stranger, "GET", `delivery/${path}`)).status).toBe(404);
    expect(
      (await call(stranger, "POST", "delivery/shipment-labels", {
        delivery_codes: [Number(row.delivery_code)],
      })).status,
    ).toBe(404);
    expect((await call(stranger, "GET", `${items}/search?tenant_id=${row.tenant_id}`)).status).toBe(
      403,
    );
    expect((await call(stranger, "GET", `tenants/${row.tenant_id}/settings`)).status).toBe(403);
  });

  test("with the gate off every manifest call is 403 before anything else is looked at", async () => {
    const admin = await signIn(stack, "admin@other.test");
    const stranger = await signIn(stack, "dispatcher@other.test");
    const [{ id }] = await stack.sql`select id from tenancy.tenants where slug = 'other'`;
    const gate = (enabled: boolean) =>
      call(admin, "PUT", `tenants/${id}/settings`, {
        delivery: { transfer_manifest: { settings: { enabled } } },
      });
    expect((await gate(false)).body.success).toBe(true);
    for (
      const [method, path] of [
        ["GET", `${items}/search?limit=x`],
        ["POST", `${items}/bulk/validate`],
        ["POST", `${items}/bulk/set-destination`],
        ["POST", `${items}/bulk/resolve-exceptions`],
        ["GET", "delivery/transfer-manifests/not-an-id"],
        ["POST", "delivery/transfer-processing-points"],
        ["GET", "delivery/institutions"],
      ] as const
    ) {
      const { status, body } = await call(
        stranger,
        method,
        path,
        method === "POST" ? { nonsense: true } : undefined,
      );
      expect([status, body.code]).toEqual([403, "transfer_manifest_disabled"]);
    }
    await gate(true);
  });
});

test("a driver brings a new manifest from draft to awaiting receipt by the API alone", async () => {
  const driver = await signIn(stack, "driver1@demo.test");
  const { body: { data: batch } } = await call(
    dispatcher,
    "POST",
    "delivery/transfer-manifest-barcode-batches",
    { quantity: 3 },
  );
  const { body: { data: { barcodes } } } = await call(
    dispatcher,
    "GET",
    `delivery/transfer-manifest-barcode-batches/${batch.id}`,
  );
  const { body: branch } = await call(
    driver,
    "GET",
    "delivery/institution-branches/by-code/BR-MNS",
  );

  const created = await call(driver, "POST", "delivery/transfer-manifests", {
    institution_user_id: branch.data.institution_user_id,
    source_branch_id: branch.data.id,
    creation_source: "institution_qr",
    items: [{ barcode_value: barcodes[0].barcode }],
  });
  expect(created.body.data).toMatchObject({ status: "draft" });
  const path = `delivery/transfer-manifests/${created.body.data.id}`;
  const step = async (action: string, body: Record<string, unknown> = {}) => {
    const answer = await call(driver, "POST", `${path}/${action}`, body);
    expect(answer.body.success, JSON.stringify(answer.body)).toBe(true);
    return answer.body.data;
  };
  await step("items", {
    items: barcodes.slice(1).map(({ barcode }: Body) => ({ barcode_value: barcode })),
  });

  const photo = async (stage: string, kind: string) => {
    const place = await step("proof-uploads", { stage, kind, content_type: "image/png" });
    const { error } = await driver.storage.from("proofs")
      .uploadToSignedUrl(
        place.path,
        place.token,
        new Blob([new Uint8Array([137, 80, 78, 71])], { type: "image/png" }),
      );
    expect(error).toBeNull();
    return place.path;
  };
  await step("pickup", { proof: { photo_urls: [await photo("pickup", "photo")] } });
  await step("depart");
  await step("arrive", { latitude: 33.299, longitude: 44.427 });
  await step("proofs", {
    stage: "delivery",
    photo_urls: [await photo("delivery", "photo")],
    signature_url: await photo("delivery", "signature"),
    signed_by: "سالم",
  });
  const { body: detail } = await call(driver, "GET", `${path}?include=events`);
  expect(detail.data).toMatchObject({ status: "awaiting_receipt" });
  expect(detail.data.items).toHaveLength(3);

  const made = await call(dispatcher, "POST", `${items}/bulk/set-destination`, {
    item_ids: detail.data.items.map((item: Body) => item.id),
    destination_address_id: await somewhere(),
  });
  expect(made.body.data).toMatchObject({ created_count: 3, failed_count: 0 });
});

describe("killed in the middle of a 200-item call", () => {
  // npm test interrupts one kind of process, npm run test:full each.
  const kills: [string, () => Promise<void>][] = [
    ["a function process", () => Promise.resolve(stack.killWorker(0))],
    ["every function process", () => {
      stack.killWorker(0);
      return Promise.resolve(stack.killWorker(1));
    }],
    ["Postgres", async () => {
      await stack.postgres.kill();
      await stack.postgres.restart();
    }],
  ];

  test.each(size === "brief" ? kills.slice(0, 1) : kills)(
    "%s: repeating the call ends with one order, one payment, one code an item",
    async (_, kill) => {
      const ids = await twoHundredItems(stack);
      const request = { item_ids: shuffled(ids), destination_address_id: await somewhere() };
      const send = (key: string) =>
        call(dispatcher, "POST", `${items}/bulk/set-destination`, request, {
          "idempotency-key": key,
        }).catch((error) => ({
          status: 0,
          body: String(error) as Body,
        }));
      const key = crypto.randomUUID();
      const held = await holdUp(stack, request.item_ids.at(-1)!);
      const first = send(key);
      // After the first part and before the last.
      const ordered = async () =>
        (await stack.sql`select count(*)::int as n from delivery.transfer_manifest_items
        where id = any (${ids}) and status = 'order_created'`)[0]!.n;
      while (await ordered() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const done = await ordered();
      await kill();
      await held.end();
      expect(done).toBeLessThan(200);
      const interrupted = await first;

      let answer = interrupted;
      for (let attempt = 0; attempt < 60 && answer.body?.data?.created_count !== 200; attempt++) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        answer = await send(key);
      }
      expect(answer.body.data).toMatchObject({ created_count: 200, failed_count: 0 });
      const [count] = await stack.sql`
      select count(distinct d.id)::int as orders, count(distinct d.delivery_code)::int as codes, count(distinct p.id)::int as payments,
        count(distinct t.id)::int as journals, sum(d.delivery_fee)::int as fees, sum(p.amount)::int as paid
      from delivery.transfer_manifest_items i
      join delivery.deliveries d on d.manifest_item_id = i.id and i.delivery_id = d.id
      left join money.payments p on p.delivery_id = d.id
      left join money.ledger_transactions t on t.reference_id = p.id
      where i.id = any (${ids})`;
      expect(count).toMatchObject({ orders: 200, codes: 200, payments: 200, journals: 200 });
      expect(count.fees).toBe(count.paid);
      expect(await stack.sql`select * from money.verify_books()`).toEqual([]);
    },
    120_000,
  );
});
