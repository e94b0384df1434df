import { serve } from "../../shared/serve.ts";
import { manifestExceptions } from "./manifest-exceptions/routes.ts";
import { manifestItems } from "./manifest-items/routes.ts";
import { manifestProofs } from "./manifests/proofs.ts";
import { manifests } from "./manifests/routes.ts";
import { manifestSteps } from "./manifests/steps.ts";
import { processingPoints } from "./processing-points/routes.ts";
import { shipmentLabels } from "./shipment-labels/routes.ts";
import { walletEndpoints } from "./wallets/routes.ts";

export const endpoints = [
  ...manifestItems,
  ...processingPoints,
  ...shipmentLabels,
  ...walletEndpoints,
  ...manifests,
  ...manifestSteps,
  ...manifestProofs,
  ...manifestExceptions,
];

export default serve("delivery", endpoints);
