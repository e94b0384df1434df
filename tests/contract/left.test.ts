/** Somebody who has left a company: their names stand under their work, and what they change afterwards is shown nowhere. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { addEverything, type Everything } from "../support/everything.ts";
import { newTenant } from "../support/people.ts";
import { operations } from "./functions.ts";
import { sampleOf, urlOf } from "./requests.ts";

const reads = operations.filter(({ endpoint }) =>
  endpoint.method === "get" && typeof endpoint.response !== "string"
);

const phone = "+9647709998877";
const mailbox = "moved-on.barid.test";
const picture = "https://pictures.test/moved-on.png";

let all: Everything;
let gone: Person[];
beforeAll(async () => {
  all = await addEverything(await newTenant(), "received");
  const { tenant } = all;
  gone = [
    tenant.driver,
    tenant.driver2,
    tenant.institution,
    tenant.customer,
    tenant.staff,
    tenant.warehouse,
    tenant.dispatcher,
  ];
  const ids = gone.map(({ id }) => id);
  await sql`update tenancy.tenant_users set is_active = false, left_at = now()
    where tenant_id = ${tenant.id} and user_id in ${sql(ids)}`;
  await sql`update tenancy.profiles set phone = ${phone}, avatar_url = ${picture}, full_name = 'Gone ' || full_name,
    email = left(id::text, 8) || '@' || ${mailbox} where id in ${sql(ids)}`;
});

describe.each(reads)("$name", (operation) => {
  test("shows no telephone, mailbox or picture of theirs", async () => {
    const url = urlOf(operation, sampleOf(operation, all.things));
    for (const person of [all.tenant.admin, all.tenant.ops]) {
      const { status, body } = await person.get(url);
      const said = JSON.stringify(body);
      expect(status).toBeLessThan(500);
      for (const theirs of [phone, mailbox, picture]) expect(said).not.toContain(theirs);
    }
  });
});

test("their names stay under their work", async () => {
  const { data } = (await all.tenant.ops.get("/delivery/drivers")).body;
  const driver = data.find(({ id }: { id: string }) => id === all.tenant.driver.id);
  expect(driver.user).toEqual({
    id: all.tenant.driver.id,
    full_name: expect.stringMatching(/^Gone driver/),
    phone: null,
    email: null,
  });
});

test.each([
  ["/delivery/drivers", phone],
  ["/delivery/institutions", phone],
  ["/delivery/institutions", mailbox],
  ["/delivery/cod-collections", mailbox],
])("a search of %s finds nobody by %s, which is not shown", async (path, search) => {
  const found = async (words: string) => {
    const answer = await all.tenant.admin.get(path, { query: { search: words } });
    expect(answer).toSucceed(200);
    return answer.body.cod?.collections ?? answer.body.data;
  };
  expect(await found("Gone ")).not.toEqual([]);
  expect(await found(search)).toEqual([]);
});
