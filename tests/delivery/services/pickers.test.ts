/** How pickers ask for services: g2g, active ones, and nothing counted. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { serviceList } from "../../../functions/delivery/services/list.ts";
import { services } from "../../../functions/delivery/services/routes.ts";
import type { Person } from "../../support/api.ts";
import { newTenant, saveSettings } from "../../support/people.ts";
import { addService, newType } from "../../support/services.ts";

type Query = Record<string, string | number | boolean>;

async function ask(query: Query, person: Person) {
  const answer = await person.get("/delivery/services", { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
const names = async (query: Query, person: Person): Promise<string[]> =>
  (await ask(query, person)).deliveryServices.map((row: { name: string }) => row.name);

test("context=g2g keeps to the manifests' allow-list, within access and before paging", async () => {
  const own = await newTenant();
  const type = await newType(own);
  const ids: string[] = [];
  for (const name of ["A", "B", "C", "D"]) {
    ids.push(
      await addService(own, type, {
        name,
        active: name !== "D",
        ...(name === "C" ? { access_mode: "select_users", user_ids: [own.institution.id] } : {}),
      }),
    );
  }
  expect(await names({ context: "g2g" }, own.ops)).toEqual(["D", "C", "B", "A"]);
  await saveSettings(own.id, "delivery.transfer_manifest", {
    available_delivery_service_ids: [ids[0], ids[2], ids[3], randomUUID()],
  });
  expect(await names({ context: "g2g" }, own.ops)).toEqual(["D", "C", "A"]);
  expect(await names({}, own.ops)).toEqual(["D", "C", "B", "A"]);
  expect(await names({ context: "g2g", active: true, include_stats: false }, own.ops)).toEqual([
    "C",
    "A",
  ]);
  expect(await names({ context: "g2g" }, own.customer)).toEqual(["D", "A"]);
  const narrowed = await ask({ context: "g2g", customer_id: own.customer.id, limit: 1 }, own.ops);
  expect(narrowed).toMatchObject({ total: 2, limit: 1 });
  expect(narrowed.stats).toMatchObject({ totalServices: 2, activeServices: 1 });
  await saveSettings(own.id, "delivery.transfer_manifest", {
    available_delivery_service_ids: [],
  });
  expect(await names({ context: "g2g" }, own.ops)).toEqual(["D", "C", "B", "A"]);
});

test("with include_stats=false nothing is counted at all", async () => {
  const list = services.find(({ method, path }) => method === "get" && path === "/services")!;
  const coresFor = async (include_stats?: string) => {
    const cores: string[] = [];
    const db = {
      read: () => Promise.resolve({ rows: [], total: 0 }),
      call: (core: string) => Promise.resolve(cores.push(core)),
    };
    await list.run({ db, query: serviceList.query.parse({ include_stats }) } as never);
    return cores;
  };
  expect(await coresFor("false")).toEqual([]);
  expect(await coresFor()).toEqual(["delivery.services_stats"]);
});
