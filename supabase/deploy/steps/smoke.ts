/** The signs that a deployment works: health of each function, a sign-in, one read. */
import { version } from "../../../shared/runtime/version.ts";
import { Failure, messageOf } from "../../local/failure.ts";
import { keyOf } from "./database.ts";
import type { Deployment } from "./step.ts";

export interface Patience {
  times: number;
  waitMs: number;
}

interface Health {
  success: boolean;
  version: string;
  database: string;
  code?: string;
}

/** Lines about what was asked and is well; fails with what is not. */
export async function smokeTest(deployment: Deployment, patience: Patience): Promise<string[]> {
  const { settings: { url, account }, bundles } = deployment;
  for (const { slug } of bundles) {
    await again(patience, async () => {
      const { body } = await ask<Health>(`${url}/functions/v1/${slug}/health`);
      if (body.database !== "up") {
        throw new Failure(
          `${slug} reaches no database: is BARID_DB_URL right, and has barid_api its password?`,
        );
      }
      if (body.code === "schema_outdated") throw new Failure(`${slug} needs a newer schema.`);
      if (body.version !== version) {
        throw new Failure(`${slug} answers with version ${body.version} instead of ${version}.`);
      }
    });
  }
  const lines = [`${bundles.length} functions are healthy, version ${version}`];
  if (!account) {
    return [...lines, "nobody signed in: DEPLOY_EMAIL and DEPLOY_PASSWORD name an account"];
  }
  const key = await keyOf(deployment, "publishable");
  const session = await ask<{ access_token?: string; msg?: string }>(
    `${url}/auth/v1/token?grant_type=password`,
    {
      method: "POST",
      headers: { apikey: key, "content-type": "application/json" },
      body: JSON.stringify(account),
    },
  );
  const { access_token: token, msg } = session.body;
  if (!token) throw new Failure(`${account.email} cannot sign in: ${msg ?? session.status}.`);
  const read = await ask<{ success?: boolean; message?: string }>(
    `${url}/functions/v1/tenants/me`,
    { headers: { apikey: key, authorization: `Bearer ${token}` } },
  );
  if (read.status !== 200) {
    throw new Failure(`GET /tenants/me answers ${read.status}: ${read.body.message ?? ""}`);
  }
  return [...lines, `${account.email} signed in`, "GET /tenants/me answered"];
}

async function ask<T>(url: string, init?: RequestInit): Promise<{ status: number; body: T }> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) });
    const text = await answer.text();
    try {
      return { status: answer.status, body: JSON.parse(text) };
    } catch {
      throw new Failure(`${url} answers ${answer.status}: ${text.slice(0, 200)}`);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${url} does not answer: ${messageOf(error)}.`);
  }
}

async function again(
  { times, waitMs }: Patience,
  attempt: () => Promise<void>,
): Promise<void> {
  for (let left = times;; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 1) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
