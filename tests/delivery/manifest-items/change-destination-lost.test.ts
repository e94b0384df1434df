/** A part of a large change whose answer got lost is made again: the outcome has what the change cost, not what the repetition did. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newService } from "../../support/money.ts";
import { type Change, newChange, ordered } from "../../support/set-destination.ts";

let { made, tenant, other } = {} as Change;
let dear: string;
beforeAll(async () => {
  ({ made, tenant, other } = await newChange());
  dear = await newService(tenant, { default_price: 2500 });
});

/** A step of the call, in a transaction of its own, as its function runs it. */
const step = <Answer>(core: string, input: Record<string, unknown>): Promise<Answer> =>
  sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${tenant.ops.id}, true),
      set_config('app.sees_tenant', 'on', true), set_config('app.operation', 'change of destinations', true)`;
    const [{ answer }] = await tx.unsafe(`select delivery.${core}($1::text::jsonb) as answer`, [
      JSON.stringify(input),
    ]);
    return answer;
  }) as Promise<Answer>;

interface Started {
  destination: Record<string, unknown>;
  since: string;
}
interface Outcome {
  answer: { changed: { item_id: string; price_difference: number }[]; failed: unknown[] };
}

test.each(["the part is repeated", "the whole call is repeated under its key"])(
  "%s",
  async (which) => {
    const { itemIds: item_ids } = await ordered(made, 2);
    const key = randomUUID();
    const request = {
      item_ids,
      destination_branch_id: other,
      delivery_service_id: dear,
      orders_max: 1,
      idempotency_key: key,
    };
    let started = await step<Started>("manifest_change_destination", request);
    const part = () =>
      step<Record<string, unknown>>("manifest_orders_change", {
        item_ids,
        destination: started.destination,
      });
    await part();
    if (which.startsWith("the whole")) {
      started = await step<Started>("manifest_change_destination", request);
    }
    const repeated = await part();
    expect(repeated.changed).toMatchObject(item_ids.map(() => ({ price_difference: 0 })));
    const { since } = started;
    const outcome = { item_ids, since, idempotency_key: key, ...repeated };
    const { answer } = await step<Outcome>("manifest_changes_outcome", outcome);
    expect(answer.failed).toEqual([]);
    expect(answer.changed).toMatchObject(
      item_ids.map((item_id) => ({ item_id, price_difference: 1500 })),
    );
  },
);

test("one that went there before the call costs nothing", async () => {
  const { itemIds: item_ids } = await ordered(made, 2);
  const request = { item_ids, destination_branch_id: other, delivery_service_id: dear };
  expect(
    (await tenant.ops.post("/delivery/transfer-manifest-items/bulk/change-destination", request))
      .body.success,
  )
    .toBe(true);
  const { destination, since } = await step<Started>("manifest_change_destination", {
    ...request,
    orders_max: 1,
  });
  const repeated = await step<object>("manifest_orders_change", { item_ids, destination });
  const { answer } = await step<Outcome>("manifest_changes_outcome", {
    item_ids,
    since,
    ...repeated,
  });
  expect(answer.changed.map((one) => one.price_difference)).toEqual([0, 0]);
});
