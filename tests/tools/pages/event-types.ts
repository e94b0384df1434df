/** shared/http/event-types.json: the events that there are, as `GET /webhooks/event-types` lists them, for the API document. */
import type postgres from "postgres";

export async function eventTypes(sql: postgres.Sql): Promise<string> {
  const [{ types }] = await sql`
    select integration.event_types_get('{}') -> 'event_types' as types`;
  return `${JSON.stringify(types, null, 2)}\n`;
}
