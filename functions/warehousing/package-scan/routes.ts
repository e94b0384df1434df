import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { canViewWarehouse } from "../access.ts";
import { ScanMany, ScanParams, ScanResponse, ScansResponse } from "./schemas.ts";

interface Found {
  found: boolean;
  error_code?: string;
}

/** Identifies a barcode and the screen a warehouse opens for it; nothing is changed. */
export const packageScan: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/package-scan/:delivery_barcode",
    summary: "Say which screen to open for a scanned parcel",
    access: canViewWarehouse,
    params: ScanParams,
    response: ScanResponse,
    errors: ["delivery_not_found"],
    run: ({ db, params }) =>
      db.call("warehousing.package_scan", { barcode: params.delivery_barcode }),
  }),
  endpoint({
    method: "post",
    path: "/package-scan",
    summary: "The same for all that a scanner read while it was offline",
    access: canViewWarehouse,
    body: ScanMany,
    response: ScansResponse,
    async run({ db, body, language }) {
      const { results } = await db.call<{ results: Found[] }>("warehousing.package_scans", body);
      return {
        results: results.map(({ found, ...answer }) => ({
          success: found,
          message: translate(language(), found ? "done_retrieved" : "delivery_not_found"),
          ...answer,
        })),
      };
    },
  }),
];
