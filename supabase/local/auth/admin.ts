import { Hono, type MiddlewareHandler } from "hono";
import { identify, NoCaller } from "../callers.ts";
import { readBody } from "./body.ts";
import { AuthFailure } from "./failure.ts";
import { makeLink } from "./links.ts";
import { endSessions, type TokenIssuer } from "./sessions.ts";
import {
  createUser,
  findUser,
  updateUser,
  type UserChanges,
  userJson,
  type UserRow,
} from "./users.ts";

/** Lets the secret key pass and nobody else. */
export function forAdmins({ keys }: TokenIssuer): MiddlewareHandler {
  return async (c, next) => {
    const caller = await identify(c.req.raw.headers, keys).catch((error) => {
      if (!(error instanceof NoCaller)) throw error;
      throw new AuthFailure(403, "bad_jwt", error.message);
    });
    if (caller.role !== "service_role") throw new AuthFailure(403, "not_admin", "User not allowed");
    await next();
  };
}

/** `/admin`: for the secret key only. */
export function admin(issuer: TokenIssuer): Hono {
  const { sql } = issuer;
  const app = new Hono();
  app.use(forAdmins(issuer));

  app.get("/users", async (c) => {
    const perPage = Math.min(Math.max(Number(c.req.query("per_page")) || 50, 1), 1000);
    const page = Math.max(Number(c.req.query("page")) || 1, 1);
    const [{ total } = { total: 0 }] = await sql<{ total: number }[]>`
      select count(*)::int as total from auth.users where deleted_at is null`;
    const rows = await sql<UserRow[]>`select * from auth.users where deleted_at is null
      order by created_at desc, id limit ${perPage} offset ${(page - 1) * perPage}`;
    const users = await Promise.all(rows.map((row) => userJson(sql, row)));
    const last = Math.max(Math.ceil(total / perPage), 1);
    const link = (number: number, rel: string) =>
      `<?page=${number}&per_page=${perPage}>; rel="${rel}"`;
    return c.json({ users, aud: "authenticated" }, 200, {
      "x-total-count": String(total),
      link: [...(page < last ? [link(page + 1, "next")] : []), link(last, "last")].join(", "),
    });
  });
  app.post("/users", async (c) => {
    const changes = await readBody(c.req.raw) as UserChanges;
    const user = await sql.begin((transaction) => createUser(transaction, changes));
    return c.json(await userJson(sql, user));
  });

  app.get(
    "/users/:id",
    async (c) => c.json(await userJson(sql, await findUser(sql, c.req.param("id")))),
  );
  app.put("/users/:id", async (c) => {
    const user = await findUser(sql, c.req.param("id"));
    const changes = await readBody(c.req.raw) as UserChanges;
    const changed = await sql.begin(async (transaction) => {
      if (changes.password !== undefined) await endSessions(transaction, user.id, "", "global");
      return await updateUser(transaction, user.id, changes);
    });
    return c.json(await userJson(sql, changed));
  });
  app.post("/generate_link", async (c) => {
    const { user, ...link } = await makeLink(issuer, await readBody(c.req.raw));
    return c.json({ ...await userJson(sql, user), ...link });
  });
  app.delete("/users/:id", async (c) => {
    const user = await findUser(sql, c.req.param("id"), { orDeleted: true });
    const body = await c.req.json<{ should_soft_delete?: boolean }>().catch(() => ({
      should_soft_delete: false,
    }));
    if (body.should_soft_delete) {
      // The row stays for what refers to it; nothing in it names the person or opens a session any more.
      await sql`delete from auth.sessions where user_id = ${user.id}`;
      await sql`update auth.identities set identity_data = '{}' where user_id = ${user.id}`;
      await sql`update auth.users set deleted_at = now(), email = id::text || '@deleted', phone = null,
        encrypted_password = null, raw_user_meta_data = '{}' where id = ${user.id} and deleted_at is null`;
    } else {
      await sql`delete from auth.users where id = ${user.id}`;
    }
    return c.json({});
  });
  return app;
}
