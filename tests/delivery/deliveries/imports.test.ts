/** Branches and deliveries from files; what every import promises stands in tests/shared/import.test.ts. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { faultsOf, sendFile } from "../../support/files.ts";
import { newAddress, newBranch, newProcessingPoint } from "../../support/make.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let branches: string;

beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
  branches = `/delivery/institutions/${tenant.institution.id}/branches/import`;
});
afterAll(() => checkAll(tenant));

const code = () => `C-${randomUUID().slice(0, 12)}`;

describe("branches", () => {
  test("are added to the institution of the path, in Arabic and Kurdish", async () => {
    const point = await newProcessingPoint(tenant);
    const rows = [
      {
        name: "فرع الكرادة",
        code: code(),
        address_id: ground.from,
        default_processing_point_id: point,
        "contact_info.phone": "'+9647701234567",
        metadata: { floor: 2 },
      },
      { name: "لقی هەولێر", code: code(), address_id: ground.to },
    ];
    const answer = await sendFile(tenant.ops, branches, rows);
    expect(answer).toSucceed(201);
    const stored = await sql`select * from delivery.institution_branches
      where id = any (${answer.body.ids}) order by array_position(${answer.body.ids}::uuid[], id)`;
    expect(stored).toMatchObject([
      {
        tenant_id: tenant.id,
        institution_user_id: tenant.institution.id,
        name: "فرع الكرادة",
        default_processing_point_id: point,
        contact_info: { phone: "+9647701234567" },
        metadata: { floor: 2 },
      },
      { name: "لقی هەولێر", code: rows[1].code, default_processing_point_id: null },
    ]);
  });

  test("what one of them may not be, none of them is", async () => {
    const [taken, twice] = [code(), code()];
    await newBranch(tenant, { code: taken });
    const [foreignAddress, foreignPoint] = [
      await newAddress(other),
      await newProcessingPoint(other),
    ];
    const good = { name: "Branch", address_id: ground.from };
    const rows = [
      { ...good, code: twice },
      { ...good, code: taken },
      { ...good, code: twice },
      { ...good, code: code(), address_id: foreignAddress },
      { ...good, code: code(), default_processing_point_id: foreignPoint },
      { ...good, code: code(), "contact_info.phone": "1" },
      { ...good, code: code() },
    ];
    const faults = [
      [3, "code", "branch_code_exists"],
      [4, "code", "branch_code_exists"],
      [5, "address_id", "address_not_found"],
      [6, "default_processing_point_id", "processing_point_not_found"],
      [7, "contact_info.phone", "validation_failed"],
    ];
    const before = await Promise.all([fingerprintOf(tenant.id), fingerprintOf(other.id)]);
    const refused = await sendFile(tenant.ops, branches, rows);
    expect(refused).toFailWith(400, "import_has_errors");
    expect(faultsOf(refused)).toEqual(faults);
    const dry = await sendFile(tenant.ops, branches, rows, { query: { dry_run: true } });
    expect(dry).toSucceed(200);
    expect(faultsOf(dry)).toEqual(faults);
    expect(dry.body).toMatchObject({ lines: 7, valid: 2 });
    expect(await Promise.all([fingerprintOf(tenant.id), fingerprintOf(other.id)])).toEqual(before);
  });

  test("two files with the same codes at once: one is imported, the other refused line by line", async () => {
    for (let round = 0; round < 3; round++) {
      const rows = Array.from({ length: 40 }, () => ({
        name: "Branch",
        code: code(),
        address_id: ground.from,
      }));
      const answers = await Promise.all(
        [rows, rows].map((file) => sendFile(tenant.ops, branches, file)),
      );
      const [won, lost] = answers.sort((a, b) => a.status - b.status);
      expect(won).toSucceed(201);
      expect(lost).toFailWith(400, "import_has_errors");
      expect(faultsOf(lost)).toEqual(rows.map((_, i) => [i + 2, "code", "branch_code_exists"]));
      const [{ n }] = await sql`select count(*)::int as n from delivery.institution_branches
        where tenant_id = ${tenant.id} and code = any (${rows.map((row) => row.code)})`;
      expect(n).toBe(40);
    }
  });

  test("only by operations, to an institution of the tenant, while manifests are on", async () => {
    const rows = [{ name: "Branch", code: code(), address_id: ground.from }];
    expect(await sendFile(nobody, branches, rows)).toFailWith(401, "unauthorized");
    for (const person of [tenant.staff, tenant.institution, tenant.driver]) {
      expect(await sendFile(person, branches, rows)).toFailWith(403, "forbidden");
    }
    for (const id of [other.institution.id, tenant.customer.id, randomUUID()]) {
      const path = `/delivery/institutions/${id}/branches/import`;
      expect(await sendFile(tenant.ops, path, rows)).toFailWith(404, "institution_not_found");
    }
    const gone = await newPerson(tenant.id, "institution", "institution");
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${gone.id}`;
    expect(await sendFile(tenant.ops, `/delivery/institutions/${gone.id}/branches/import`, rows))
      .toFailWith(409, "institution_inactive");
    const off = await newTenant({ settings: { "delivery.transfer_manifest": { enabled: false } } });
    expect(await sendFile(off.ops, branches, "")).toFailWith(403, "transfer_manifest_disabled");
  });
});

/** A line of what an order is, with the name of its recipient. */
const line = (more: Record<string, unknown> = {}) => {
  const { recipient: _, ...rest } = order(ground, more);
  return { ...rest, "recipient.name": "سارا", "recipient.phone": "'+9647701234567", ...more };
};
const path = `${deliveries}/import`;
const lastCode = async (of = tenant) =>
  Number(
    (await sql`select value from app.counters where tenant_id = ${of.id} and counter = 'delivery_code'`)[
      0
    ]
      ?.value ?? 0,
  );

describe("deliveries", () => {
  test("are ordered in the order of the lines and charged like any other", async () => {
    const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
    const before = await lastCode();
    const answer = await sendFile(tenant.ops, path, [
      line(),
      line({ payer_type: "sender", payment_method: "wallet", notes: "الطابق الثاني" }),
      line({ staged: true, warehouse_id: ground.warehouse, cod_amount: 5000 }),
      line({
        dropoff_address_id: "",
        "delivery_location.latitude": 33.3,
        "delivery_location.longitude": 44.4,
        "delivery_location.full_address": "شارع فلسطين",
        status: "draft",
      }),
    ]);
    expect(answer).toSucceed(201);
    const rows = await sql`select * from delivery.deliveries where id = any (${answer.body.ids})
      order by array_position(${answer.body.ids}::uuid[], id)`;
    expect(rows.map((row) => Number(row.delivery_code))).toEqual(
      [1, 2, 3].map((n) => before + n).concat(Number(rows[3].delivery_code)),
    );
    expect(rows).toMatchObject([
      { status: "pending", recipient: { name: "سارا", phone: "+9647701234567" } },
      { notes: "الطابق الثاني", delivery_fee: 2000 },
      { delivery_flow: "pnd_parent" },
      { status: "draft", dropoff_snapshot: { full_address: "شارع فلسطين" } },
    ]);
    expect(await balanceOf(wallet)).toBe(8_000);
  });

  test("a wallet that is short at a line is an error of that line, and nothing is paid", async () => {
    const rich = await newTenant();
    const own = await newGround(rich);
    const wallet = await fundWallet(rich, "customer", rich.customer.id, 5_000);
    const paid = {
      ...line({ payer_type: "sender", payment_method: "wallet" }),
      ...places(rich, own),
    };
    const rows = [paid, paid, paid, { ...paid, unit_size: 0.5 }, { ...paid, unit_size: 1 }];
    const before = [await fingerprintOf(rich.id), await lastCode(rich)];
    for (const query of [{ dry_run: true }, {}]) {
      const answer = await sendFile(rich.ops, path, rows, { query });
      // 2,000 and 2,000 of 5,000 are paid; 1,000 is left for a line that costs no more.
      expect(faultsOf(answer).map(([at, , word]) => [at, word])).toEqual([
        [4, "insufficient_wallet_balance"],
        [5, "can_not_use_this_delivery_for_this_unit_size"],
      ]);
    }
    expect([await fingerprintOf(rich.id), await lastCode(rich)]).toEqual(before);
    expect(await balanceOf(wallet)).toBe(5_000);
    await checkAll(rich);
  });

  test("ids of another tenant are nothing's, line by line", async () => {
    const theirs = await newGround(other);
    const before = await fingerprintOf(other.id);
    const fields = {
      customer_id: other.customer.id,
      delivery_service_id: theirs.service,
      pickup_address_id: theirs.from,
      dropoff_warehouse_id: theirs.warehouse,
      original_delivery_id: randomUUID(),
    };
    const rowsOf = (made: (id: string) => string) =>
      Object.entries(fields).map(([field, id]) =>
        line({
          [field]: made(id),
          ...(field === "original_delivery_id" ? { delivery_flow: "customer_return" } : {}),
        })
      );
    const [foreign, nothing] = [
      await sendFile(tenant.ops, path, rowsOf((id) => id)),
      await sendFile(tenant.ops, path, rowsOf(() => randomUUID())),
    ];
    expect(foreign.body.error_count).toBe(5);
    expect(foreign.body).toEqual(nothing.body);
    expect(await fingerprintOf(other.id)).toEqual(before);
  });

  test("customers order for themselves; whom they may not order for is a fault of the line", async () => {
    const [from, to] = [await ownAddress(), await ownAddress()];
    const mine = { ...line(), pickup_address_id: from, dropoff_address_id: to };
    const answer = await sendFile(tenant.customer, path, [mine]);
    expect(answer).toSucceed(201);
    const refused = await sendFile(tenant.customer, path, [
      mine,
      { ...mine, customer_id: tenant.ops.id },
    ]);
    expect(faultsOf(refused)).toEqual([[3, null, "forbidden"]]);
    expect(await sendFile(nobody, path, [mine])).toFailWith(401, "unauthorized");
    for (const person of [tenant.staff, tenant.driver]) {
      expect(await sendFile(person, path, [mine])).toFailWith(403, "forbidden");
    }
  });

  test("concurrent files and single orders all succeed, and every code is given once", async () => {
    const busy = await newTenant();
    const own = await newGround(busy);
    await fundWallet(busy, "customer", busy.customer.id, 1_000_000);
    await fundWallet(busy, "institution", busy.institution.id, 1_000_000);
    const paid = { payer_type: "sender", payment_method: "wallet", recipient: undefined };
    const byBoth = (first: object, second: object) =>
      Array.from({ length: 10 }, (_, i) => ({
        ...order(own, paid),
        customer_id: undefined,
        ...(i < 5 ? first : second),
      }));
    const customer = { customer_id: busy.customer.id };
    const institution = { institution_user_id: busy.institution.id };
    const key = randomUUID();
    const answers = await Promise.all([
      sendFile(busy.ops, path, byBoth(customer, institution)),
      sendFile(busy.ops, path, byBoth(institution, customer)),
      ...[1, 2].map(() =>
        sendFile(busy.ops, path, byBoth(customer, institution), {
          headers: { "idempotency-key": key },
        })
      ),
      ...Array.from({ length: 6 }, () => busy.ops.post(deliveries, order(own, paid))),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const [made] = await sql`select count(*)::int as n, count(distinct delivery_code)::int as codes,
      max(delivery_code)::int as last from delivery.deliveries where tenant_id = ${busy.id}`;
    expect(made).toEqual({ n: 36, codes: 36, last: await lastCode(busy) });
    expect(answers[2].body).toEqual(answers[3].body);
    await checkAll(busy);
  });
});

function places(of: Tenant, { from, to, service }: Ground) {
  return {
    customer_id: of.customer.id,
    pickup_address_id: from,
    dropoff_address_id: to,
    delivery_service_id: service,
  };
}

async function ownAddress(): Promise<string> {
  const answer = await tenant.customer.post("/delivery/addresses", {
    full_address: "Home",
    latitude: 33.31,
    longitude: 44.36,
  });
  return answer.body.data.id;
}
