/** The language of the open shop for visitors who ask for none. */
import { expect, test } from "vitest";
import { nobody, type Person, signedIn } from "../../support/api.ts";
import "../../support/expect.ts";
import { newTenant } from "../../support/people.ts";
import { newProduct, newStore, shopPath } from "../../support/storefront.ts";

const speaking = (language: string) =>
  newTenant({ settings: { "general.language": { default: language } } });

test("a visitor who asks for no language reads the shop's, also one of another company", async () => {
  const [tenant, elsewhere] = await Promise.all([speaking("ar"), speaking("ku")]);
  const store = await newStore(tenant);
  const { id } = await newProduct(tenant, store, {
    name: { en: "Tea", ar: "شاي", ku: "چا" },
  });
  const title = async (who: Person) => {
    const list = await who.get(shopPath(store.name, "/products"));
    const one = await who.get(shopPath(store.name, `/products/${id}`));
    expect(one.body.product.title).toBe(list.body.data[0].title);
    return list.body.data[0].title;
  };
  expect(await title(nobody)).toBe("شاي");
  expect(await title(elsewhere.customer)).toBe("شاي");
  expect(await title(elsewhere.customer.in("ku"))).toBe("چا");
  expect(await title(nobody.in("en"))).toBe("Tea");
});

test("messages and refusals of an Arabic shop are Arabic", async () => {
  const [tenant, elsewhere] = await Promise.all([speaking("ar"), newTenant()]);
  const store = await newStore(tenant);
  const missing = shopPath(store.name, `/products/${store.id}`);
  expect((await nobody.get(missing)).body.message)
    .toBe((await nobody.in("ar").get(missing)).body.message);
  const stranger = signedIn(elsewhere.customer.id, null);
  const joined = await stranger.post(shopPath(store.name, "/join"));
  expect(joined).toSucceed(201);
  expect((await stranger.in("ar").post(shopPath(store.name, "/join"))).body.message)
    .toBe(joined.body.message);
});
