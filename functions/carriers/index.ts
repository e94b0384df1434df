import { Hono } from "hono";

const app = new Hono().basePath("/carriers");
app.get("/health", (c) => c.json({ success: true }));

export default { fetch: app.fetch };
