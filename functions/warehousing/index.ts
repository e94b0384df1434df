import { feature, serve } from "../../shared/serve.ts";

export default serve("warehousing", [
  feature(
    "receiving-orders",
    async () => (await import("./receiving-orders/routes.ts")).receivingOrders,
  ),
]);
