import { feature, serve } from "../../shared/http/serve.ts";

export default serve("system", [
  feature(
    { settings: "Settings of the whole system, by category." },
    async () => (await import("./settings/routes.ts")).systemSettings,
  ),
  feature(
    { events: "Events of all modules: published, read, marked and replayed." },
    async () => (await import("./events/routes.ts")).systemEvents,
  ),
  feature(
    { metrics: "Metrics of the whole installation, for a scraper." },
    async () => (await import("./metrics/routes.ts")).systemMetrics,
  ),
]);
