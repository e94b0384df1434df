/** A routing service with OSRM's interface: every way has the same length until a test says otherwise. */
import { http, HttpResponse, type JsonBodyType, type RequestHandler } from "msw";
import { noteRequest } from "./requests.ts";

/** The answer to one way; `undefined` is never answered. */
export type Route = (line: string) => { status?: number; body?: JsonBodyType } | undefined;

export interface RoutingService {
  handlers: RequestHandler[];
  /** Path and query of each request. */
  asked: string[];
  answer: Route;
}

/** Metres and seconds, as OSRM counts. */
export function foundRoute(distance: number, duration: number): { body: JsonBodyType } {
  return { body: { code: "Ok", routes: [{ distance, duration }] } };
}

export function routingService(answer: Route = () => foundRoute(123_400, 600)): RoutingService {
  const service: RoutingService = { handlers: [], asked: [], answer };
  service.handlers.push(http.get("*/route/v1/driving/:way", async ({ request }) => {
    const path = (await noteRequest(request)).line.slice("GET ".length);
    service.asked.push(path);
    const answered = service.answer(path);
    if (!answered) return await new Promise<never>(() => {});
    const { status, body } = answered;
    // MSW keeps a copy of a body, and who cancels theirs would wait for the other to be cancelled.
    return body === undefined
      ? new HttpResponse(null, { status })
      : HttpResponse.json(body, { status });
  }));
  return service;
}
