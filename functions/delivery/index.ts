import { serve } from "../../shared/serve.ts";
import { processingPoints } from "./processing-points/routes.ts";

export const endpoints = [...processingPoints];

export default serve("delivery", endpoints);
