/** Ends of a manifest: after its exceptions and its orders. */
import { beforeAll, describe, expect, test } from "vitest";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

describe("ending a manifest", () => {
  test("waits for the exception queue, then for the orders", async () => {
    const queued = await newManifest(tenant, {
      status: "processing",
      items: [{ status: "void" }, { exception: "damaged" }],
    });
    const open = await tenant.ops.post(`${base}/${queued.id}/complete`);
    expect(open).toFailWith(409, "manifest_has_open_exceptions");
    expect(open.body.count).toBe(1);
    const unfinished = await newManifest(tenant, {
      status: "processing",
      items: [{ status: "void" }, {}, {}],
    });
    const waiting = await tenant.ops.post(`${base}/${unfinished.id}/complete`);
    expect(waiting).toFailWith(409, "manifest_items_unfinished");
    expect(waiting.body.count).toBe(2);
  });

  test("refusals speak Arabic and Kurdish and name the status in words", async () => {
    const { id, number } = await newManifest(tenant, { proof: false });
    for (
      const [language, status] of [["ar", "بانتظار الاستلام"], ["ku", "چاوەڕوانی وەرگرتن"]] as const
    ) {
      const refused = await tenant.warehouse.in(language).post(`${base}/${id}/start-receiving`);
      expect(refused).toFailWith(409, "manifest_delivery_proof_required");
      expect(refused.body.message).toContain(number);
      expect(refused.body.message).toContain(status);
    }
  });
});
