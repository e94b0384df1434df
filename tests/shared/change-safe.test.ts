/** Nobody overwrites what they have not read: entity tags of details, If-Match of changes. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { operations } from "../contract/functions.ts";
import { headersOf, sampleOf, urlOf } from "../contract/requests.ts";
import type { Answer, Person } from "../support/api.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { newAddress } from "../support/make.ts";
import { newSystemAdmin } from "../support/people.ts";
import { sql } from "../support/db.ts";

let all: Everything;
let path: string;
let system: Person;
beforeAll(async () => {
  system = await newSystemAdmin();
  all = await newEverything();
  path = `/delivery/addresses/${await newAddress(all.tenant)}`;
});

/** The runtime compresses answers and marks their tags as weak. */
const strong = ({ headers }: Answer) => headers.get("etag")!.replace("W/", "");
const tagOf = async () => strong(await all.tenant.ops.get(path));
const change = (city: string, headers: Record<string, string>) =>
  all.tenant.ops.patch(path, { city }, { headers });

describe("what is read", () => {
  test("is not sent again to who has it, until it is another", async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^"[0-9a-f]+\.[\w-]{16}"$/);
    for (const sent of [tag, `W/${tag}`, `"other", ${tag}`]) {
      const again = await all.tenant.ops.get(path, { headers: { "if-none-match": sent } });
      expect([again.status, strong(again), again.body.length]).toEqual([304, tag, 0]);
    }
    // In another language the answer is another.
    const translated = await all.tenant.ops.in("ar").get(path, {
      headers: { "if-none-match": tag },
    });
    expect(translated).toSucceed(200);
    expect(await change("Hilla", {})).toSucceed(200);
    const changed = await all.tenant.ops.get(path, { headers: { "if-none-match": tag } });
    expect(changed).toSucceed(200);
    expect(strong(changed)).not.toBe(tag);
  });

  test("lists have an ETag too, and another caller's ETag reveals nothing", async () => {
    const list = await all.tenant.ops.get("/delivery/addresses");
    const tag = list.headers.get("etag")!;
    expect(
      (await all.tenant.ops.get("/delivery/addresses", { headers: { "if-none-match": tag } }))
        .status,
    )
      .toBe(304);
    const other = await newEverything();
    expect(await other.tenant.ops.get(path, { headers: { "if-none-match": await tagOf() } }))
      .toFailWith(404, "address_not_found");
    expect(
      await other.tenant.ops.patch(path, { city: "X" }, { headers: { "if-match": await tagOf() } }),
    )
      .toFailWith(404, "address_not_found");
  });
});

describe("a change of what was read", () => {
  test("goes through while it is still so, and gives the tag to go on with", async () => {
    const first = await change("Basra", { "if-match": await tagOf() });
    expect(first).toSucceed(200);
    const next = await change("Mosul", { "if-match": strong(first) });
    expect(next).toSucceed(200);
    expect(await change("Erbil", { "if-match": `"x", W/${await tagOf()}` })).toSucceed(200);
    expect(await change("Kirkuk", { "if-match": "*" })).toSucceed(200);
  });

  test("is refused with the version that is there when somebody else was faster", async () => {
    const tag = await tagOf();
    expect(await change("Najaf", {})).toSucceed(200);
    const refused = await change("Karbala", { "if-match": tag });
    expect(refused).toFailWith(412, "version_conflict");
    expect(strong(refused)).toBe(`"${refused.body.current_version}"`);
    expect((await tagOf()).startsWith(`"${refused.body.current_version}.`)).toBe(true);
    expect(
      (await all.tenant.ops.get(path)).body.address?.city ??
        JSON.stringify((await all.tenant.ops.get(path)).body),
    ).toContain("Najaf");
    expect(
      await all.tenant.ops.in("ku").patch(path, { city: "K" }, { headers: { "if-match": tag } }),
    )
      .toMatchObject({ body: { message: expect.stringContaining("گۆڕیوە") } });
  });

  test("of many with the same tag at once exactly one goes through", async () => {
    for (let round = 0; round < 5; round++) {
      const tag = await tagOf();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => change(`City ${round}-${n}`, { "if-match": tag })),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    }
  });

  test("of settings, which are many rows, exactly one goes through as well", async () => {
    const settings = `/tenants/${all.tenant.id}/settings`;
    for (let round = 0; round < 3; round++) {
      const tag = strong(await all.tenant.admin.get(`${settings}?keys=general.mobile`));
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          all.tenant.admin.put(
            settings,
            n % 2
              ? { general: { mobile: { settings: { show_tenant_list_page: n > 4 } } } }
              : { general: { language: { settings: { default: "en" } } } },
            { headers: { "if-match": tag } },
          )),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
      const won = answers.find(({ status }) => status === 200)!;
      expect(
        await all.tenant.admin.put(
          settings,
          { general: { language: { settings: { default: "en" } } } },
          { headers: { "if-match": strong(won) } },
        ),
      ).toSucceed(200);
    }
  });

  test("repeated with its key gives the first answer, whatever the tag is now", async () => {
    const headers = { "if-match": await tagOf(), "idempotency-key": randomUUID() };
    expect(await change("Samarra", headers)).toSucceed(200);
    const again = await change("Samarra", headers);
    expect(again).toSucceed(200);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  test("a caller who may not change it gets that error first", async () => {
    expect(await all.tenant.customer.patch(path, { city: "X" }, { headers: { "if-match": '"0"' } }))
      .toMatchObject({ status: expect.not.stringMatching("412") });
  });

  test("where nothing is versioned the condition is refused and not ignored", async () => {
    const [before] =
      await sql`select count(*) from delivery.addresses where tenant_id = ${all.tenant.id}`;
    const refused = await all.tenant.ops.post("/delivery/addresses", {
      latitude: 33,
      longitude: 44,
    }, {
      headers: { "if-match": '"1"' },
    });
    expect(refused).toFailWith(400, "precondition_not_supported");
    expect(await sql`select count(*) from delivery.addresses where tenant_id = ${all.tenant.id}`)
      .toEqual([before]);
  });
});

const changes = operations.filter(({ endpoint }) => endpoint.version && endpoint.method !== "get");

describe.each(changes.map((operation) => [operation.name, operation] as const))(
  "%s",
  (_, operation) => {
    test("refuses what somebody else has changed since", async () => {
      const input = sampleOf(operation, all.things);
      // Reviewers of markets belong to no shop, and only the system grants modules.
      const person = /\/(review|modules)$/.test(operation.path) ? system : all.tenant.admin;
      const answer = await person.send(
        operation.endpoint.method.toUpperCase(),
        urlOf(operation, input),
        input.body ?? {},
        { headers: { ...headersOf(operation), "if-match": '"0.stale"' } },
      );
      expect(answer).toFailWith(412, "version_conflict");
    });
  },
);

test("every change that says its version belongs to a detail that tells it", () => {
  const told = new Set(
    operations.filter(({ endpoint }) => endpoint.version && endpoint.method === "get").map((
      { endpoint },
    ) => endpoint.version!.table),
  );
  expect(changes.filter(({ endpoint }) => !told.has(endpoint.version!.table))).toEqual([]);
  expect(changes.length).toBeGreaterThan(15);
});
