import { serve } from "../../shared/serve.ts";

export const endpoints = [];

export default serve("webhooks", endpoints);
