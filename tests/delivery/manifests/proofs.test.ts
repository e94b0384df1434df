/** Uploads of a manifest's proofs. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql, stack } from "../../support/db.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const base = "/delivery/transfer-manifests";
const photo = "https://example.com/photo.jpg";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

describe("proofs", () => {
  test("an upload address is for one file of this manifest, and its path is the proof", async () => {
    const manifest = await newManifest(tenant, { status: "in_transit" });
    const asked = await tenant.driver.post(`${base}/${manifest.id}/proof-uploads`, {
      stage: "delivery",
      kind: "photo",
      content_type: "image/png",
    });
    expect(asked).toSucceed(201);
    const { path, upload_url } = asked.body.data;
    expect(path).toMatch(
      new RegExp(`^${tenant.id}/manifests/${manifest.id}/delivery-photo-[0-9a-f-]{36}\\.png$`),
    );
    const stored = await fetch(upload_url.replace(/^https?:\/\/[^/]+/, stack.url), {
      method: "PUT",
      headers: { "content-type": "image/png" },
      body: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]),
    });
    expect(stored.status).toBe(200);
    const [object] =
      await sql`select bucket_id from storage.objects where bucket_id = 'proofs' and name = ${path}`;
    expect(object).toBeDefined();
    const kept = await tenant.driver.post(`${base}/${manifest.id}/proofs`, {
      stage: "delivery",
      photo_urls: [path],
    });
    expect(kept).toSucceed(201);
    expect(kept.body.data).toMatchObject({ complete: false, proofs: [{ url: path }] });
    const shown = await tenant.staff.get(`${base}/${manifest.id}`, {
      query: { include: "events,proof_links" },
    });
    const links = Object.fromEntries(
      shown.body.data.proofs.map((proof: { url: string; link: string }) => [proof.url, proof.link]),
    );
    const picture = await fetch(links[path].replace(/^https?:\/\/[^/]+/, stack.url));
    expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
    // Made by the test, so there is no such file.
    expect(links[`${tenant.id}/${manifest.id}/pickup-photo.jpg`]).toBeNull();
    expect(shown.body.data.events).toHaveLength(1);
  });

  test("are kept once, and never from another tenant's folder or an open address", async () => {
    const manifest = await newManifest(tenant, { status: "in_transit" });
    const path = `${base}/${manifest.id}/proofs`;
    const mine = `${tenant.id}/a/b.jpg`;
    for (let i = 0; i < 2; i++) {
      const kept = await tenant.driver.post(path, { stage: "delivery", photo_urls: [mine] });
      expect(kept.body.data.proofs).toHaveLength(1);
    }
    const foreign = await tenant.driver.post(path, {
      stage: "delivery",
      photo_urls: [photo, `${randomUUID()}/a/b.jpg`],
    });
    expect(foreign).toFailWith(400, "invalid_proof_url");
    expect(foreign.body.field).toBe("photo_urls");
    for (
      const url of [
        "http://example.com/a.jpg",
        "javascript:alert(1)",
        `${tenant.id}/../other/a.jpg`,
        `${tenant.id}`,
        "https://example.com/" + "a".repeat(2000),
        "https://exa mple.com/a.jpg",
        "",
      ]
    ) {
      const refused = await tenant.driver.post(path, { stage: "delivery", signature_url: url });
      expect(refused, url).toFailWith(400, "validation_failed");
      expect(refused.body.field).toBe("signature_url");
    }
  });
});
