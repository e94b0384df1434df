import { feature, serve } from "../../shared/http/serve.ts";

export default serve(
  "storefront",
  [
    feature(["market", "markets"], async () => (await import("./market/routes.ts")).market),
    feature(
      "custom-domain",
      async () => (await import("./custom-domain/routes.ts")).customDomain,
    ),
    feature(["categories", "products", "reviews"], async () => [
      ...(await import("./catalogue/categories.ts")).productCategories,
      ...(await import("./catalogue/products.ts")).productEndpoints,
      ...(await import("./catalogue/reviews.ts")).reviewEndpoints,
    ]),
    feature(["orders", "my"], async () => [
      ...(await import("./orders/customer.ts")).customerOrders,
      ...(await import("./orders/admin.ts")).adminOrderEndpoints,
    ]),
    feature("carts", async () => (await import("./customers/carts.ts")).carts),
    feature(
      ["payment-methods", "addresses"],
      async () => (await import("./customers/checkout.ts")).checkout,
    ),
    feature("public", async () => (await import("./shop/routes.ts")).shop),
  ],
  async () => ({
    "storefront.verify_domain": (await import("./custom-domain/verify.ts")).verifyDomainLater,
  }),
);
