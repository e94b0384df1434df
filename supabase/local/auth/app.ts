import { Hono } from "hono";
import { hasApiKey } from "../callers.ts";
import { platformCors } from "../cors.ts";
import { errorCode, messageOf } from "../failure.ts";
import { admin, forAdmins } from "./admin.ts";
import { isObject, readBody } from "./body.ts";
import { AuthFailure } from "./failure.ts";
import { invite, redeemLink } from "./links.ts";
import { mailRoutes } from "./mail-routes.ts";
import { signUp } from "./sign-up.ts";
import type { Mails } from "./mails.ts";
import {
  currentUser,
  endSessions,
  openSession,
  refreshSession,
  type TokenIssuer,
} from "./sessions.ts";
import { findByPassword, isBanned, updateUser, userJson } from "./users.ts";

/** The paths that need no API key. */
const open = ["/auth/v1/health", "/auth/v1/.well-known/jwks.json"];
/** Links of mails are opened by a browser, which has none either. */
const openedByLink = "/auth/v1/verify";

/** The part of Supabase Auth that this backend and supabase-js use; phones, MFA and OAuth are not. */
export function authApp(issuer: TokenIssuer, mails: Mails, log: (line: string) => void): Hono {
  const { sql, keys, config } = issuer;
  const app = new Hono().basePath("/auth/v1");

  app.use(platformCors);
  app.use(async (c, next) => {
    if (
      open.includes(c.req.path) || (c.req.path === openedByLink && c.req.method === "GET") ||
      hasApiKey(c.req.raw.headers, new URL(c.req.url).searchParams)
    ) return await next();
    return c.json({
      message: "No API key found in request",
      hint: "Send the publishable key as apikey.",
    }, 401);
  });

  app.get(
    "/health",
    (c) => c.json({ name: "GoTrue", version: "local", description: "Local stand-in" }),
  );
  app.get("/settings", (c) =>
    c.json({
      external: { email: true, phone: false },
      disable_signup: !config.signupEnabled,
      mailer_autoconfirm: !config.confirmEmail,
      phone_autoconfirm: true,
      sms_provider: "",
      saml_enabled: false,
    }));
  app.get(
    "/.well-known/jwks.json",
    (c) => c.json(keys.jwks, 200, { "cache-control": "public, max-age=600" }),
  );

  app.post("/token", async (c) => {
    const body = await readBody(c.req.raw);
    switch (c.req.query("grant_type")) {
      case "password": {
        const password = text(body.password);
        const user = await findByPassword(sql, {
          email: text(body.email),
          phone: text(body.phone),
          password,
        });
        if (!user) throw new AuthFailure(400, "invalid_credentials", "Invalid login credentials");
        if (body.email && !user.email_confirmed_at && !isBanned(user)) {
          throw new AuthFailure(400, "email_not_confirmed", "Email not confirmed");
        }
        return c.json(await openSession(issuer, user, c.req.header("user-agent") ?? null));
      }
      case "refresh_token":
        return c.json(await refreshSession(issuer, text(body.refresh_token)));
      default:
        throw new AuthFailure(400, "validation_failed", "unsupported_grant_type");
    }
  });

  const postman = { sql, mails, issuer: issuer.issuer };
  app.post(
    "/signup",
    async (c) =>
      c.json(
        await signUp(issuer, postman, await readBody(c.req.raw), {
          userAgent: c.req.header("user-agent") ?? null,
          redirectTo: c.req.query("redirect_to"),
        }),
      ),
  );
  app.route("/", mailRoutes(issuer, postman));

  app.post("/invite", forAdmins(issuer), async (c) => {
    const user = await invite(postman, await readBody(c.req.raw));
    return c.json(await userJson(sql, user));
  });
  app.post("/verify", async (c) => {
    const user = await redeemLink(sql, await readBody(c.req.raw));
    return c.json(await openSession(issuer, user, c.req.header("user-agent") ?? null, "otp"));
  });

  app.get("/user", async (c) => {
    const { user } = await currentUser(issuer, bearer(c.req.raw.headers));
    return c.json(await userJson(sql, user));
  });
  app.put("/user", async (c) => {
    const { user, sessionId } = await currentUser(issuer, bearer(c.req.raw.headers));
    const body = await readBody(c.req.raw);
    const password = body.password === undefined ? undefined : text(body.password);
    const changed = await sql.begin(async (transaction) => {
      if (password !== undefined) await endSessions(transaction, user.id, sessionId, "others");
      return await updateUser(transaction, user.id, {
        email: text(body.email) || undefined,
        password,
        user_metadata: isObject(body.data) ? body.data : undefined,
      });
    });
    return c.json(await userJson(sql, changed));
  });
  app.post("/logout", async (c) => {
    const { user, sessionId } = await currentUser(issuer, bearer(c.req.raw.headers));
    await endSessions(sql, user.id, sessionId, c.req.query("scope") ?? "global");
    return c.body(null, 204);
  });

  app.route("/admin", admin(issuer));
  app.notFound((c) =>
    c.json({ code: 404, error_code: "not_found", msg: "Not in the local stand-in" }, 404)
  );
  app.onError((error, c) => {
    if (error instanceof AuthFailure) return c.json(error.body, error.status);
    if (errorCode(error) === "23505") {
      // Two requests created the same user at the same moment; the check before the insert saw neither.
      const taken = new AuthFailure(422, "user_already_exists", "User already registered");
      return c.json(taken.body, taken.status);
    }
    log(`auth: ${messageOf(error)} ${errorCode(error)}`.trim());
    return c.json({ code: 500, error_code: "unexpected_failure", msg: messageOf(error) }, 500);
  });
  return app;
}

function bearer(headers: Headers): string | undefined {
  return /^bearer\s+(.+)$/i.exec(headers.get("authorization") ?? "")?.[1];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
