import { cors } from "hono/cors";

/** The platform's CORS rules in front of Auth and Storage. Functions answer for themselves. */
export const platformCors = cors({
  origin: "*",
  allowMethods: ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS"],
  allowHeaders: [
    "authorization",
    "apikey",
    "content-type",
    "x-client-info",
    "x-supabase-api-version",
    "x-upsert",
    "x-metadata",
    "cache-control",
  ],
  exposeHeaders: ["content-length", "x-total-count", "link"],
  maxAge: 3600,
});
