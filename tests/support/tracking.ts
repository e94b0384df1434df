/** Recipients who follow their parcels, for tests. */
import { type Answer, nobody, type Person } from "./api.ts";
import { sql } from "./db.ts";
import type { Ground } from "./deliveries.ts";

export const links = "/delivery/tracking-links";

/** Whether the service of a ground lets recipients follow parcels. */
export async function offerTracking(
  { service }: Pick<Ground, "service">,
  tracking = true,
): Promise<void> {
  await sql`update delivery.delivery_services set service_options = ${sql.json({ tracking })}
    where id = ${service}`;
}

/** The token of a delivery's link. */
export async function tokenOf(person: Person, delivery: string): Promise<string> {
  const { status, body } = await person.post(links, { delivery_ids: [delivery] });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data[0].token;
}

/** The answer that somebody without an account gets for a token. */
export const follow = (token: string, query: Record<string, string> = {}): Promise<Answer> =>
  nobody.get(`/delivery/public/tracking/${encodeURIComponent(token)}`, { query });

/** Somebody without an account answers by a token. */
export const answerBy = (
  token: string,
  body: Record<string, unknown>,
  query: Record<string, string> = {},
): Promise<Answer> =>
  nobody.post(`/delivery/public/tracking/${encodeURIComponent(token)}/answer`, body, { query });

export const answers = "/delivery/recipient-answers";
