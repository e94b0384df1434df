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
  /** Metres and seconds of a way in a table, from place to place as `[longitude, latitude]`; null: there is none. */
  way: (from: number[], to: number[]) => { distance: number; duration: number } | null;
  /** Path and query of each request for a table, and the status that the next ones get. */
  tables: string[];
  tableStatus: number;
}

/** Metres and seconds, as OSRM counts. */
export function foundRoute(distance: number, duration: number): { body: JsonBodyType } {
  return { body: { code: "Ok", routes: [{ distance, duration }] } };
}

export function routingService(answer: Route = () => foundRoute(123_400, 600)): RoutingService {
  const service: RoutingService = {
    handlers: [],
    asked: [],
    answer,
    way: () => ({ distance: 1000, duration: 60 }),
    tables: [],
    tableStatus: 200,
  };
  service.handlers.push(http.get("*/table/v1/driving/:places", async ({ request, params }) => {
    service.tables.push((await noteRequest(request)).line.slice("GET ".length));
    if (service.tableStatus !== 200) {
      return new HttpResponse(null, { status: service.tableStatus });
    }
    const places = String(params.places).split(";").map((place) => place.split(",").map(Number));
    // As OSRM does unless it is set up otherwise.
    if (places.length > 100) return HttpResponse.json({ code: "TooBig" }, { status: 400 });
    const query = new URL(request.url).searchParams;
    const chosen = (name: string) =>
      query.get(name)?.split(";").map((index) => places[Number(index)]) ?? places;
    const table = (of: "distance" | "duration") =>
      chosen("sources").map((from) =>
        chosen("destinations").map((to) => service.way(from, to)?.[of] ?? null)
      );
    return HttpResponse.json({
      code: "Ok",
      distances: table("distance"),
      durations: table("duration"),
    });
  }));
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
