import { permission } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { version } from "../../../shared/runtime/version.ts";
import { contentType, type Measured, openMetricsOf } from "./openmetrics.ts";

/** Figures of the whole installation. */
export const systemMetrics: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/metrics",
    summary: "Read the metrics of the whole installation, for a scraper",
    access: permission("view:metrics:system"),
    tenant: "none",
    response: "openmetrics",
    async run({ db }) {
      const measured = await db.call<Measured>("integration.metrics_read");
      return new Response(openMetricsOf(measured, version), {
        headers: { "content-type": contentType },
      });
    },
  }),
];
