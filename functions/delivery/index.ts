import { serve } from "../../shared/serve.ts";
import { manifestExceptions } from "./manifest-exceptions/routes.ts";
import { addresses } from "./addresses/routes.ts";
import { barcodeBatches } from "./barcode-batches/routes.ts";
import { branches } from "./branches/routes.ts";
import { institutions } from "./institutions/routes.ts";
import { manifestItems } from "./manifest-items/routes.ts";
import { manifestProofs } from "./manifests/proofs.ts";
import { manifests } from "./manifests/routes.ts";
import { manifestSteps } from "./manifests/steps.ts";
import { processingPoints } from "./processing-points/routes.ts";
import { shipmentLabels } from "./shipment-labels/routes.ts";
import { walletEndpoints } from "./wallets/routes.ts";
import { zones } from "./zones/routes.ts";

export const endpoints = [
  ...manifestItems,
  ...processingPoints,
  ...institutions,
  ...branches,
  ...barcodeBatches,
  ...shipmentLabels,
  ...addresses,
  ...zones,
  ...walletEndpoints,
  ...manifests,
  ...manifestSteps,
  ...manifestProofs,
  ...manifestExceptions,
];

export default serve("delivery", endpoints);
