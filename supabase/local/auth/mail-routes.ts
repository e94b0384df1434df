/** The requests to Auth that send a mail: a new password, a link or code to sign in, the confirmation once more. */
import { Hono } from "hono";
import { isObject, readBody } from "./body.ts";
import { AuthFailure } from "./failure.ts";
import { addressOf, findByEmail, type Postman, redeemLink, sendMail } from "./links.ts";
import { openSession, type TokenIssuer } from "./sessions.ts";
import { createUser } from "./users.ts";

/** Every answer is the same whether the address has an account or not, but for `/otp` where nobody may sign up by it. */
export function mailRoutes(issuer: TokenIssuer, postman: Postman): Hono {
  const { sql, config } = issuer;
  const app = new Hono();

  app.post("/recover", async (c) => {
    const { email } = await addressed(c.req.raw);
    await sendMail(postman, email, "recovery", c.req.query("redirect_to"));
    return c.json({});
  });

  app.post("/otp", async (c) => {
    const { email, body } = await addressed(c.req.raw);
    const known = await findByEmail(sql, email);
    if (!known) {
      if (body.create_user === false) {
        throw new AuthFailure(422, "otp_disabled", "Signups not allowed for otp");
      }
      if (!config.signupEnabled) {
        throw new AuthFailure(422, "signup_disabled", "Signups not allowed for this instance");
      }
      const user_metadata = isObject(body.data) ? body.data : undefined;
      await sql.begin((transaction) => createUser(transaction, { email, user_metadata }));
    }
    const type = known?.email_confirmed_at ? "magiclink" : "signup";
    await sendMail(postman, email, type, c.req.query("redirect_to"));
    return c.json({});
  });

  app.post("/resend", async (c) => {
    const { email, body } = await addressed(c.req.raw);
    if (body.type !== "signup") {
      throw new AuthFailure(400, "validation_failed", "Only signup is sent again here");
    }
    const known = await findByEmail(sql, email);
    if (known && !known.email_confirmed_at) {
      await sendMail(postman, email, "signup", c.req.query("redirect_to"));
    }
    return c.json({});
  });

  // The link of a mail: the browser comes back to the application, with a session or the reason why there is none.
  app.get("/verify", async (c) => {
    const { token, type, redirect_to } = c.req.query();
    const outcome = await redeemLink(sql, { token_hash: token, type }).then(async (user) => {
      const session = await openSession(issuer, user, c.req.header("user-agent") ?? null, "otp");
      return {
        access_token: session.access_token,
        refresh_token: session.refresh_token,
        expires_in: String(session.expires_in),
        token_type: "bearer",
        type,
      };
    }).catch((error) => {
      if (!(error instanceof AuthFailure)) throw error;
      const { error_code, msg } = error.body;
      return { error: "access_denied", error_code, error_description: msg };
    });
    const fragment = new URLSearchParams(outcome as Record<string, string>);
    return redirect_to ? c.redirect(`${redirect_to}#${fragment}`) : c.text(
      "error" in outcome ? outcome.error_description : "Confirmed. You can close this page.",
    );
  });
  return app;
}

async function addressed(request: Request) {
  const body = await readBody(request);
  const email = addressOf(body.email);
  if (!/^[^@\s]+@[^@\s]+$/.test(email)) {
    throw new AuthFailure(
      400,
      "validation_failed",
      "Unable to validate email address: invalid format",
    );
  }
  return { email, body };
}
