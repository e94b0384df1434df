import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newGround } from "../../support/deliveries.ts";
import { newManifest } from "../../support/manifests.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { openPdf } from "../../support/pdf.ts";
import { newDestination, requestTo, setDestination } from "../../support/set-destination.ts";

// The labels of a manifest whose parcels go through a warehouse, of the parcels and of both legs of each, and of two that do not.
let tenant: Tenant;
let manifest: string;
let parcels: Body[];

beforeAll(async () => {
  const destination = await newDestination();
  tenant = destination.tenant;
  const ground = await newGround(tenant);
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: ground.warehouse,
  });
  const made = await newManifest(tenant, { items: 8, status: "received" });
  manifest = made.id;
  const order = async (ids: string[]) => {
    const answer = await tenant.dispatcher.post(setDestination, requestTo(destination)(ids));
    expect(answer.body.data.created_count).toBe(ids.length);
    return answer.body.data.created.map(({ delivery }: Body) => delivery.id);
  };
  const staged = await order(made.items.slice(0, 6).map(({ id }) => id));
  await saveSettings(tenant.id, "general.warehouse", { handoff_required: false });
  const direct = await order(made.items.slice(6).map(({ id }) => id));
  // Each owes another sum, as far as a label can know it.
  const parents = [...staged, ...direct];
  for (const [index, id] of parents.entries()) {
    await sql`update delivery.deliveries set cod_amount = ${index * 1111},
      recipient = ${sql.json({ name: `Receiver ${index}`, phone: `+96477011122${index}0` })}
      where id = ${id} or parent_id = ${id}`;
  }
  await sql`update delivery.deliveries set cod_amount = 0 where parent_id = any (${parents})`;
  parcels = await sql`select p.delivery_code, p.cod_amount, p.delivery_fee, p.recipient,
      (select delivery_code from delivery.deliveries where parent_id = p.id and leg = 'A') as first,
      (select delivery_code from delivery.deliveries where parent_id = p.id and leg = 'B') as second
    from delivery.deliveries p where p.id = any (${parents}) order by p.delivery_code`;
});

test("every label of either leg shows the COD and the fee of its parcel, and people only at doors", async () => {
  const staged = parcels.filter(({ first }) => first);
  expect(staged).toHaveLength(6);
  const codes = staged.flatMap(({ delivery_code, first, second }) =>
    [delivery_code, first, second].map(Number)
  );
  const answer = await tenant.dispatcher.post("/delivery/shipment-labels", {
    delivery_codes: codes,
  });
  expect(answer.status).toBe(200);
  const pdf = await openPdf(answer.body);
  expect(pdf.pages).toBe(18);
  const [institution] = await sql`select full_name from tenancy.profiles
    where id = ${tenant.institution.id}`;
  for (const [index, parcel] of staged.entries()) {
    const cod = Number(parcel.cod_amount).toLocaleString("en-US");
    const fee = Number(parcel.delivery_fee).toLocaleString("en-US");
    expect(Number(parcel.delivery_fee)).toBeGreaterThan(0);
    const [whole, into, out] = await Promise.all(
      [1, 2, 3].map((page) => pdf.text(index * 3 + page)),
    );
    for (const page of [whole, into, out]) {
      if (cod === "0") expect(page).toContain("No cash on delivery");
      else expect(page).toContain(`${cod} IQD`);
      expect(page).toMatch(new RegExp(`Sender\\W*${fee}`));
    }
    const to = parcel.recipient as { name: string; phone: string };
    expect(whole).toContain(to.name);
    expect(out).toContain(to.name);
    expect(out).toContain(to.phone);
    expect(into).not.toContain(to.name);
    expect(into).not.toContain(to.phone);
    expect(into).toContain("Central");
    expect(out).toContain("Central");
    // Once as the manifest's institution; of what leaves the sender also as who sends it.
    expect(out.split(institution.full_name)).toHaveLength(2);
    expect(into.split(institution.full_name)).toHaveLength(3);
  }
});

test("no label of the manifest is left out: those that go straight to their door show their own", async () => {
  const direct = parcels.filter(({ first }) => !first);
  expect(direct).toHaveLength(2);
  const rows = await sql`select d.delivery_code, coalesce(p.cod_amount, d.cod_amount) as cod,
      coalesce(p.delivery_fee, d.delivery_fee) as fee, coalesce(p.recipient, d.recipient) as recipient, d.leg
    from delivery.transfer_manifest_items i
    join delivery.deliveries d on i.delivery_id in (d.id, d.parent_id)
    left join delivery.deliveries p on p.id = d.parent_id
    where i.manifest_id = ${manifest} order by d.delivery_code`;
  expect(rows).toHaveLength(20);
  const answer = await tenant.dispatcher.post("/delivery/shipment-labels", {
    delivery_codes: rows.map(({ delivery_code }) => Number(delivery_code)),
  });
  const pdf = await openPdf(answer.body);
  expect(pdf.pages).toBe(20);
  for (const [index, { cod, fee, recipient, leg }] of rows.entries()) {
    const page = await pdf.text(index + 1);
    expect(page).toContain(
      Number(cod) === 0 ? "No cash on delivery" : `${Number(cod).toLocaleString("en-US")} IQD`,
    );
    expect(page).toMatch(new RegExp(`Sender\\W*${Number(fee).toLocaleString("en-US")}`));
    if (leg === "A") expect(page).not.toContain(recipient.name);
    else expect(page).toContain(recipient.name);
  }
});
