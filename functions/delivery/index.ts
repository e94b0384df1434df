import { serve } from "../../shared/serve.ts";
import { manifestItems } from "./manifest-items/routes.ts";
import { processingPoints } from "./processing-points/routes.ts";
import { shipmentLabels } from "./shipment-labels/routes.ts";
import { walletEndpoints } from "./wallets/routes.ts";

export const endpoints = [
  ...manifestItems,
  ...processingPoints,
  ...shipmentLabels,
  ...walletEndpoints,
];

export default serve("delivery", endpoints);
