import { Hono } from "hono";

const app = new Hono().basePath("/webhooks");
app.get("/health", (c) => c.json({ success: true }));

export default { fetch: app.fetch };
