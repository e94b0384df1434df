import { Hono } from "hono";

const app = new Hono().basePath("/warehousing");
app.get("/health", (c) => c.json({ success: true }));

export default { fetch: app.fetch };
