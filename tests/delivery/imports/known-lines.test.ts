/** A file says which of its lines are ordered already, and is imported all the same. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addAddress } from "../../support/addresses.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  moves,
  newDelivery,
  newGround,
  order,
  path as deliveries,
} from "../../support/deliveries.ts";
import { csvText, sendFile } from "../../support/files.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = `${deliveries}/import`;
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const line = (more: Record<string, unknown> = {}) =>
  order(ground, { recipient: undefined, ...more });
const dry = { query: { dry_run: true } };
const reference = () => `R-${randomUUID().slice(0, 8)}`;
const phone = () => `+96477${String(Math.floor(Math.random() * 1e8)).padStart(8, "0")}`;

test("the same file again is told with its import, however it was saved, until that is cancelled", async () => {
  const rows = [
    line({ external_reference_id: reference() }),
    line({ external_reference_id: reference() }),
  ];
  const first = await sendFile(tenant.ops, path, rows);
  expect(first.body).toMatchObject({ imported_before: null, duplicate_count: 0, duplicates: [] });
  const { import_id } = first.body;
  const listed = await tenant.ops.get(deliveries, { query: { import_id } });
  expect(listed.body.data.map(({ id }: { id: string }) => id).sort()).toEqual(
    [...first.body.ids].sort(),
  );

  const again = await sendFile(
    tenant.ops,
    path,
    `\uFEFF${csvText(rows).replaceAll("\r\n", "\n")}\n`,
    dry,
  );
  expect(again.body).toMatchObject({
    import_id: null,
    imported_before: { import_id, imported: 2, cancelled: 0 },
    duplicate_count: 2,
    duplicates: first.body.ids.map((id: string, i: number) => ({
      line: i + 2,
      same: "reference",
      other_line: null,
      delivery: { id, status: "pending" },
    })),
  });

  await moves(tenant.ops, first.body.ids[0], ["cancel", { reason: "one" }]);
  const partly = await sendFile(tenant.ops, path, rows, dry);
  expect(partly.body).toMatchObject({ imported_before: { cancelled: 1 }, duplicate_count: 1 });
  await tenant.ops.post(`${deliveries}/imports/${import_id}/cancel`, { reason: "all" });
  const clean = await sendFile(tenant.ops, path, rows);
  expect(clean).toSucceed(201);
  expect(clean.body).toMatchObject({ imported_before: null, duplicate_count: 0, imported: 2 });
});

test("a reference of an order, and one twice in the file", async () => {
  const [taken, twice] = [reference(), reference()];
  const made = await newDelivery(ground, { external_reference_id: taken });
  const answer = await sendFile(tenant.ops, path, [
    line({ external_reference_id: twice }),
    line({ external_reference_id: taken }),
    line({ external_reference_id: reference() }),
    line({ external_reference_id: twice }),
    line(),
    line(),
  ]);
  expect(answer).toSucceed(201);
  expect(answer.body).toMatchObject({
    imported: 6,
    duplicate_count: 2,
    duplicates: [
      { line: 3, same: "reference", other_line: null, delivery: { id: made.id } },
      { line: 5, same: "reference", other_line: 2, delivery: null },
    ],
  });
});

/** The number as somebody else writes it: with spaces, and with or without the code of the country. */
const written = (number: string) => {
  const own = number.replace(/^\+964/, "0");
  const spaced = `${own.slice(0, 4)} ${own.slice(4, 7)} ${own.slice(7)}`;
  return number.startsWith("+") ? spaced : `+964 ${spaced.slice(1)}`;
};

test("a telephone number with the same sender and COD within three days", async () => {
  const [known, old] = [phone(), phone()];
  const to = (number: string, cod_amount: number, more = {}) =>
    line({ recipient: { name: "سارا", phone: number }, cod_amount, ...more });
  const made = await newDelivery(ground, {
    recipient: { name: "Sara", phone: known },
    cod_amount: 25_000,
  });
  const before = await newDelivery(ground, { recipient: { phone: old }, cod_amount: 25_000 });
  await sql`update delivery.deliveries set created_at = now() - interval '73 hours' where id = ${before.id}`;
  const institution = { customer_id: undefined, institution_user_id: tenant.institution.id };
  const answer = await sendFile(tenant.ops, path, [
    to(known, 25_000),
    to(known, 30_000),
    to(known, 25_000, institution),
    to(old, 25_000),
    to(known, 30_000),
    to(written(known), 25_000),
    to(written(known), 30_000),
  ], dry);
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({
    duplicate_count: 4,
    duplicates: [
      { line: 2, same: "recipient", other_line: null, delivery: { id: made.id } },
      { line: 6, same: "recipient", other_line: 3, delivery: null },
      { line: 7, same: "recipient", other_line: null, delivery: { id: made.id } },
      { line: 8, same: "recipient", other_line: 3, delivery: null },
    ],
  });
});

test("what others ordered is not told to a customer, nor to another company", async () => {
  const taken = reference();
  await newDelivery(ground, {
    customer_id: undefined,
    institution_user_id: tenant.institution.id,
    external_reference_id: taken,
  });
  const own = await addAddress(tenant.customer);
  const mine = line({
    pickup_address_id: own,
    dropoff_address_id: own,
    external_reference_id: taken,
  });
  const answer = await sendFile(tenant.customer, path, [mine], dry);
  expect(answer.body).toMatchObject({ valid: 1, duplicate_count: 0 });

  const other = await newTenant();
  const theirs = await newGround(other);
  const foreign = await sendFile(other.ops, path, [
    order(theirs, { recipient: undefined, external_reference_id: taken }),
  ], dry);
  expect(foreign.body).toMatchObject({ valid: 1, duplicate_count: 0, imported_before: null });
});
