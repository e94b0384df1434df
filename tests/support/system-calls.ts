/** Calls of the system's administrator to a stack that a test starts for itself. */
import { expect } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import type { Body } from "./api.ts";
import { whileOpen } from "./overlapping.ts";
import { startOwnStack } from "./own-stack.ts";

/** An answer of the functions; the status is 0 where the connection broke. */
export interface Answer {
  status: number;
  body: Body;
}

export type SystemCalls = Awaited<ReturnType<typeof systemCalls>>;

/** A stack of the test's own, whose settings and processes it may change, and its administrator's calls. */
export async function startOwnSystem(): Promise<{ stack: Stack; system: SystemCalls }> {
  // With one server for all tests the settings would be everybody's: npm run test:debian leaves out tests of this name.
  if (process.env.DATABASE_URL) throw new Error("name the file own-system*.test.ts");
  const stack = await startOwnStack({
    seed: true,
    watch: true,
    env: { BARID_STRICT: "1", BARID_LOG_LEVEL: "error" },
  });
  return { stack, system: await systemCalls(stack) };
}

async function systemCalls(stack: Stack) {
  const signIn = async (email: string, password: string): Promise<string | undefined> => {
    const response = await fetch(`${stack.url}/auth/v1/token?grant_type=password`, {
      method: "POST",
      headers: { apikey: stack.publishableKey, "content-type": "application/json" },
      body: JSON.stringify({ email, password }),
    });
    return (await response.json()).access_token;
  };
  const token = (await signIn("system@barid.test", "Barid-demo-1"))!;

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = { authorization: `Bearer ${token}` },
  ): Promise<Answer> => {
    try {
      const response = await fetch(stack.apiUrl + path, {
        method,
        headers: { "content-type": "application/json", ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      return { status: 0, body: String(error) };
    }
  };

  const wizard = (body: Body, key: string = crypto.randomUUID()) =>
    call("POST", "/tenants/wizard", body, {
      authorization: `Bearer ${token}`,
      "idempotency-key": key,
    });

  /** The rows there are of a wizard's tenant and its administrator. */
  const left = async ({ tenant: { slug, contact_info: { email } } }: Body) => {
    const [count] = await stack.sql`select
      (select count(*)::int from tenancy.tenants where slug = ${slug}) as tenants,
      (select count(*)::int from auth.users where email = ${email}) as users,
      (select count(*)::int from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
        where p.email = ${email}) as members`;
    return count;
  };

  const running = async ({ tenant: { slug } }: Body) =>
    (await stack
      .sql`select from tenancy.wizard_runs r join tenancy.tenants t on t.id = r.new_tenant_id
      where t.slug = ${slug} and r.state = 'running'`).length === 1;

  return { call, left, running, signIn, wizard };
}

/** Sends until a process answers again. */
export async function untilAnswered(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0;; attempt++) {
    const answer = await send();
    if ((answer.status !== 0 && answer.status < 500) || attempt === 60) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Asks until it is so. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came to that");
}

/** Kills the function process while the wizard waits for a table that somebody else holds. */
export async function killAt(
  stack: Stack,
  system: SystemCalls,
  table: string,
  body: Body,
  key: string,
  reached: () => Promise<boolean>,
) {
  await whileOpen(async (holder) => {
    await holder.unsafe(`lock table ${table} in exclusive mode`);
    const broken = system.wizard(body, key);
    await until(reached);
    stack.killWorker(0);
    expect((await broken).status).toBe(0);
    // The statement of the dead process ends with it.
    await holder`select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'barid_api' and wait_event_type = 'Lock'`;
  }, stack.sql);
}
