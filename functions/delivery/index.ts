import { serve } from "../../shared/serve.ts";
import { manifestItems } from "./manifest-items/routes.ts";
import { processingPoints } from "./processing-points/routes.ts";

export const endpoints = [...manifestItems, ...processingPoints];

export default serve("delivery", endpoints);
