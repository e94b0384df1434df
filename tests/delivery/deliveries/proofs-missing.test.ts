/** A refusal for want of proofs names all of them: on a weak network each round counts. */
import { expect, test } from "vitest";
import { assign, newDelivery, newGround, path } from "../../support/deliveries.ts";
import { newTenant } from "../../support/people.ts";

test("proofs that are missing are all named at once, in words", async () => {
  const both = { photo_required: true, signature_required: true };
  const strict = await newGround(
    await newTenant({ settings: { "delivery.proof_settings": { pickup: both } } }),
  );
  const { id } = await newDelivery(strict);
  await assign(strict.tenant, id);
  const refused = await strict.tenant.driver.post(`${path}/${id}/pickup?language=ku`, {});
  expect(refused).toFailWith(400, "delivery_proof_required");
  expect(refused.body).toMatchObject({
    field: "proof.photo_urls",
    stage: "pickup",
    missing: ["photo", "signature"],
    message: "بەڵگەیەک نییە: وێنە، واژۆ.",
  });
  const proof = { photo_urls: ["https://example.com/1.jpg"] };
  const half = await strict.tenant.driver.post(`${path}/${id}/pickup`, { proof });
  expect(half.body).toMatchObject({
    field: "proof.signature_url",
    missing: ["signature"],
    message: "A proof is missing: signature.",
  });
});
