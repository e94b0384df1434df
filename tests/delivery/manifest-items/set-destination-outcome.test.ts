/** The outcome of a scan: destinations of the items, the number of failures, and the reason of each. */
import { beforeAll, describe, expect, test } from "vitest";
import { newAddress } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { fundWallet } from "../../support/money.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import {
  type Destination,
  newDestination,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

let made: Destination;
let tenant: Tenant;
let request: ReturnType<typeof requestTo>;

beforeAll(async () => {
  made = await newDestination();
  tenant = made.tenant;
  request = requestTo(made);
  await saveSettings(tenant.id, "general.unit_size", { unit_weight: 5, unit_length: 50 });
});

/** A package of so many units of 5 kg. */
const packed = (units: number) => ({
  packageDetails: { items: [{ weight: units * 5, length: 10, width: 10, height: 10 }] },
});

describe("an item that fails", () => {
  const words = {
    en: "This service takes 1 to 100 units; the package has 120.",
    ar: "تقبل هذه الخدمة من 1 إلى 100 وحدة، والطرد 120.",
    ku: "ئەم خزمەتگوزارییە لە 1 بۆ 100 یەکە وەردەگرێت، پارسەڵەکە 120 یەکەیە.",
  };

  test.each(["en", "ar", "ku"] as const)("says in %s what does not fit", async (language) => {
    const manifest = await newManifest(tenant, { items: [packed(120), packed(2)] });
    const person = tenant.dispatcher.in(language);
    const answer = await person.post(setDestination, request(manifest.itemIds), {
      headers: { "idempotency-key": `too-big-${language}` },
    });
    expect(answer).toSucceed(200);
    expect(answer.body.data.failed[0]).toMatchObject({
      item_id: manifest.itemIds[0],
      code: "can_not_use_this_delivery_for_this_unit_size",
      error_message: words[language],
    });
    expect(answer.body.data.failed[0]).not.toHaveProperty("params");
    const replay = await person.post(setDestination, request(manifest.itemIds), {
      headers: { "idempotency-key": `too-big-${language}` },
    });
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
    expect(replay.body).toEqual(answer.body);
  });

  test("says it from a part of a large request too", async () => {
    const items = Array.from({ length: 21 }, (_, i) => packed(i === 20 ? 120 : 1));
    const manifest = await newManifest(tenant, { items });
    const { body } = await tenant.dispatcher.in("ar").post(
      setDestination,
      request(manifest.itemIds),
    );
    expect(body.data).toMatchObject({ created_count: 20, failed_count: 1 });
    expect(body.data.failed[0].error_message).toBe(words.ar);
  });
});

describe("success and message", () => {
  test("when nothing was ordered there is no success, and the message counts", async () => {
    const manifest = await newManifest(tenant, { items: [packed(120), packed(130)] });
    const say = {
      en: "Orders created: 0; items that failed: 2.",
      ar: "الطلبات المُنشأة: 0؛ المواد التي تعذّر إنشاء طلباتها: 2.",
      ku: "داواکارییە دروستکراوەکان: 0؛ ئەو کاڵایانەی سەرکەوتوو نەبوون: 2.",
    };
    for (const language of ["en", "ar", "ku"] as const) {
      const { status, body } = await tenant.dispatcher.in(language).post(
        setDestination,
        request(manifest.itemIds),
      );
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: false, message: say[language] });
      expect(body).not.toHaveProperty("code");
      expect(body.data).toMatchObject({ created_count: 0, failed_count: 2 });
    }
  });

  test("when some were ordered it is a success that counts both, when all were it is done", async () => {
    const mixed = await newManifest(tenant, { items: [packed(1), packed(120), packed(1)] });
    const some = await tenant.dispatcher.post(setDestination, request(mixed.itemIds));
    expect(some).toSucceed(200);
    expect(some.body.message).toBe("Orders created: 2; items that failed: 1.");
    const fit = await newManifest(tenant, { items: 2 });
    const all = await tenant.dispatcher.post(setDestination, request(fit.itemIds));
    expect(all).toSucceed(200);
    expect(all.body.message).toBe("Done.");
  });

  test("beside a manifest that is still being received both are said", async () => {
    const half = await newManifest(tenant, { items: 2 });
    const bad = await newManifest(tenant, { items: [packed(120)] });
    const { status, body } = await tenant.dispatcher.post(
      setDestination,
      request([half.itemIds[0], bad.itemIds[0]]),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, code: "manifest_receiving_incomplete" });
    expect(body.message).toMatch(
      /^What you scanned was received, but these manifests still wait for items: TM-\d+ \(1\)\..*items that failed: 1\.$/,
    );
  });
});

describe("where items go", () => {
  const shown = async (manifest: { id: string }) => {
    const { body } = await tenant.dispatcher.get(`/delivery/transfer-manifests/${manifest.id}`);
    return body.data.items.map((
      { status, destination_branch_id, destination_address_id }: Record<string, unknown>,
    ) => [status, destination_branch_id, destination_address_id]);
  };

  test("the manifest shows where each order went, whatever was planned before", async () => {
    await fundWallet(tenant, "institution", tenant.institution.id, 100_000);
    const address = await newAddress(tenant);
    const toBranch = await newManifest(tenant, { items: [{ destinationAddress: address }, {}] });
    expect(await tenant.dispatcher.post(setDestination, request(toBranch.itemIds))).toSucceed();
    expect(await shown(toBranch)).toEqual(Array(2).fill(["order_created", made.branch, null]));
    const toAddress = await newManifest(tenant, {
      items: [{ destinationBranch: made.branch }, {}],
    });
    expect(
      await tenant.dispatcher.post(
        setDestination,
        request(toAddress.itemIds, {
          destination_branch_id: null,
          destination_address_id: address,
        }),
      ),
    ).toSucceed();
    expect(await shown(toAddress)).toEqual(Array(2).fill(["order_created", null, address]));
  });

  test("an item that failed keeps what was planned for it", async () => {
    const address = await newAddress(tenant);
    const manifest = await newManifest(tenant, {
      items: [{ ...packed(120), destinationAddress: address }],
    });
    await tenant.dispatcher.post(setDestination, request(manifest.itemIds));
    expect(await shown(manifest)).toEqual([["received", null, address]]);
  });
});
