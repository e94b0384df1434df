import { Hono } from "hono";

const app = new Hono().basePath("/system");
app.get("/health", (c) => c.json({ success: true }));

export default { fetch: app.fetch };
