/** The window in which the receiver can be met: ordered, corrected, imported, and carried by legs. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  assign,
  deliveryIn,
  type Ground,
  newDelivery,
  newGround,
  order,
  path,
} from "../../support/deliveries.ts";
import { faultsOf, sendFile } from "../../support/files.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const morning = "2097-02-03T09:00:00+00:00";
const noon = "2097-02-03T12:00:00+00:00";
const evening = "2097-02-03T18:00:00+00:00";
const window = { deliver_after: morning, deliver_before: noon };
const open = { deliver_after: null, deliver_before: null };

const read = async (id: string) => (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const send = (more: Record<string, unknown>) => tenant.ops.post(path, order(ground, more));
const patch = (id: string, body: Record<string, unknown>) =>
  tenant.ops.patch(`${path}/${id}`, body);

describe("an order", () => {
  test("has a window with both ends, one or none, in its detail and in lists", async () => {
    for (
      const ends of [
        window,
        { ...open, deliver_after: noon },
        { ...open, deliver_before: noon },
        open,
      ]
    ) {
      const { id } = await newDelivery(ground, ends);
      expect(await read(id)).toMatchObject(ends);
      const rows = (await tenant.ops.get(path)).body.data;
      expect(rows.find((row: { id: string }) => row.id === id)).toMatchObject(ends);
    }
  });

  test("is shown to its driver with it", async () => {
    const { id } = await newDelivery(ground, window);
    await assign(tenant, id);
    const { body } = await tenant.driver.get("/delivery/assignments", {
      query: { include: "delivery_details" },
    });
    const [row] = body.assignments.filter((one: { delivery_id: string }) => one.delivery_id === id);
    expect(row.delivery_details).toMatchObject(window);
  });

  test.each([["reversed", noon, morning], ["empty", noon, noon]])(
    "is refused with a window that is %s",
    async (_, deliver_after, deliver_before) => {
      for (const status of ["draft", "pending"]) {
        const answer = await send({ status, deliver_after, deliver_before });
        expect(answer).toFailWith(400, "invalid_delivery_window");
        expect(answer.body.field).toBe("deliver_before");
      }
    },
  );

  test.each(["deliver_after", "deliver_before"])(
    "is refused when %s is no moment",
    async (field) => {
      for (const value of ["tomorrow", "2027-13-01T00:00:00Z", 1_800_000_000, true]) {
        const answer = await send({ [field]: value });
        expect(answer).toFailWith(400, "validation_failed");
        expect(JSON.stringify(answer.body)).toContain(field);
      }
    },
  );

  test("is compared by the moments, whatever their offsets", async () => {
    const { id } = await newDelivery(ground, {
      deliver_after: "2097-02-03T12:00:00+03:00",
      deliver_before: "2097-02-03T09:30:00Z",
    });
    expect(await read(id)).toMatchObject({ deliver_after: morning });
  });
});

describe("a correction", () => {
  test.each(["draft", "pending", "picked_up"])(
    "changes one end of what is %s, or takes it away",
    async (status) => {
      const { id } = status === "draft"
        ? await newDelivery(ground, { status, ...window })
        : await deliveryIn(ground, status);
      expect(await patch(id, window)).toSucceed(200);
      expect(await patch(id, { deliver_before: evening })).toSucceed(200);
      expect(await read(id)).toMatchObject({ deliver_after: morning, deliver_before: evening });
      expect(await patch(id, { deliver_after: null })).toSucceed(200);
      expect(await read(id)).toMatchObject({ deliver_after: null, deliver_before: evening });
    },
  );

  test.each(["draft", "pending"])("is held against the other end of what is %s", async (status) => {
    const { id } = await newDelivery(ground, { status, ...window });
    for (const wrong of [{ deliver_after: evening }, { deliver_before: morning }]) {
      expect(await patch(id, wrong)).toFailWith(400, "invalid_delivery_window");
    }
    expect(await read(id)).toMatchObject(window);
  });

  test("reaches the legs of a staged parcel, which are made with its window", async () => {
    const { id } = await newDelivery(ground, {
      staged: true,
      warehouse_id: ground.warehouse,
      ...window,
    });
    const legs = (await read(id)).legs;
    expect(legs).toHaveLength(2);
    for (const leg of legs) expect(leg).toMatchObject(window);
    expect(await patch(id, { deliver_before: evening })).toSucceed(200);
    for (const leg of (await read(id)).legs) expect(leg).toMatchObject({ deliver_before: evening });
  });
});

test("a file of orders brings windows, and a reversed one names its row", async () => {
  const row = Object.fromEntries(
    Object.entries(order(ground)).filter(([name]) => name !== "recipient"),
  );
  const url = `${path}/import`;
  const made = await sendFile(tenant.ops, url, [{ ...row, ...window }]);
  expect(made).toSucceed(201);
  expect(await read(made.body.ids[0])).toMatchObject(window);
  const refused = await sendFile(tenant.ops, url, [
    { ...row, ...window },
    { ...row, deliver_after: noon, deliver_before: morning },
  ]);
  expect(refused.status).toBe(400);
  expect(faultsOf(refused)).toEqual([[3, "deliver_before", "invalid_delivery_window"]]);
});
