import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newGround } from "../../support/deliveries.ts";
import { newManifest } from "../../support/manifests.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { openPdf } from "../../support/pdf.ts";
import { newDestination, requestTo, setDestination } from "../../support/set-destination.ts";

// The labels of a manifest whose parcels go through a warehouse: of the parcels and of both legs of each.
let tenant: Tenant;
let parcels: Body[];

beforeAll(async () => {
  const destination = await newDestination();
  tenant = destination.tenant;
  const ground = await newGround(tenant);
  await saveSettings(tenant.id, "general.warehouse", {
    handoff_required: true,
    default_warehouse_id: ground.warehouse,
  });
  const { items } = await newManifest(tenant, { items: 6 });
  const answer = await tenant.dispatcher.post(
    setDestination,
    requestTo(destination)(items.map(({ id }) => id)),
  );
  expect(answer.body.data.created_count).toBe(6);
  // Each owes another sum, as far as a label can know it.
  const made = answer.body.data.created.map(({ delivery }: Body) => delivery.id);
  for (const [index, id] of made.entries()) {
    await sql`update delivery.deliveries set cod_amount = ${index * 1111},
      recipient = ${sql.json({ name: `Receiver ${index}`, phone: `+96477011122${index}0` })}
      where id = ${id} or parent_id = ${id}`;
  }
  await sql`update delivery.deliveries set cod_amount = 0 where parent_id = any (${made})`;
  parcels = await sql`select p.delivery_code, p.cod_amount, p.delivery_fee, p.recipient,
      (select delivery_code from delivery.deliveries where parent_id = p.id and leg = 'A') as first,
      (select delivery_code from delivery.deliveries where parent_id = p.id and leg = 'B') as second
    from delivery.deliveries p where p.id = any (${made}) order by p.delivery_code`;
});

test("every label of either leg shows the COD and the fee of its parcel, and people only at doors", async () => {
  const codes = parcels.flatMap(({ delivery_code, first, second }) =>
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
  for (const [index, parcel] of parcels.entries()) {
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
