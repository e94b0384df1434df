import { feature, serve } from "../../shared/http/serve.ts";

export default serve("system", [
  feature("settings", async () => (await import("./settings/routes.ts")).systemSettings),
  feature("events", async () => (await import("./events/routes.ts")).systemEvents),
]);
