import { feature, serve } from "../../shared/http/serve.ts";

export default serve(
  "storefront",
  [
    feature({
      market: "The store of a company: draft, review, publication.",
      markets: "All stores, for the system's administrators.",
    }, async () => (await import("./market/routes.ts")).market),
    feature(
      { "custom-domain": "A store's own domain and its DNS records." },
      async () => (await import("./custom-domain/routes.ts")).customDomain,
    ),
    feature({
      categories: "Categories of a store.",
      products: "Products and their variants.",
      reviews: "Reviews of products by those who bought them.",
    }, async () => [
      ...(await import("./catalogue/categories.ts")).productCategories,
      ...(await import("./catalogue/products.ts")).productEndpoints,
      ...(await import("./catalogue/reviews.ts")).reviewEndpoints,
    ]),
    feature({
      orders: "Orders of a store: approval, shipping, cancellation, refunds.",
      my: "A customer's own orders.",
    }, async () => [
      ...(await import("./orders/customer.ts")).customerOrders,
      ...(await import("./orders/admin.ts")).adminOrderEndpoints,
    ]),
    feature(
      { carts: "A customer's cart, up to the confirmed order." },
      async () => (await import("./customers/carts.ts")).carts,
    ),
    feature({
      "payment-methods": "Payment methods a store offers.",
      addresses: "A customer's addresses.",
    }, async () => (await import("./customers/checkout.ts")).checkout),
    feature(
      { public: "Open stores, for anybody: settings, categories, products." },
      async () => (await import("./shop/routes.ts")).shop,
    ),
  ],
  async () => ({
    ...(await import("../../shared/dispatch/jobs.ts")).dispatchJobs,
    "storefront.verify_domain": (await import("./custom-domain/verify.ts")).verifyDomainLater,
  }),
);
