/** Functions of this project as another of its functions calls them through the gateway. */
import { http, type RequestHandler } from "msw";

/** Answers the parts that a large change of destinations is made in. */
export function destinationParts(
  answer: (itemIds: string[]) => Promise<Response>,
): RequestHandler {
  return http.post("*/functions/v1/delivery/internal/:part", async ({ request }) => {
    const { item_ids } = await request.json() as { item_ids: string[] };
    return await answer(item_ids);
  });
}
