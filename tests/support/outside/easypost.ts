/** EasyPost as its documentation has it: shipments are found by id or reference, bought once, and refunded. */
import { http, HttpResponse, type RequestHandler } from "msw";
import { type NotedRequest, noteRequest } from "./requests.ts";

export interface EasyPostShipment {
  id: string;
  reference?: string;
  rates: { id: string; rate: string; currency?: string }[];
  tracking_code?: string;
  postage_label?: { label_url: string };
  refund_status?: string;
}

export interface EasyPost {
  handlers: RequestHandler[];
  asked: NotedRequest[];
  /** The stored shipments; a test may add those of an earlier call. */
  shipments: EasyPostShipment[];
  /** Rates that new shipments get. */
  rates: EasyPostShipment["rates"];
  /** The status of a refund's response. */
  refundStatus: string;
  /** Forgets everything. */
  reset(): void;
}

const rates = [{ id: "rate_dear", rate: "9.50" }, { id: "rate_cheap", rate: "5.82" }];
const notFound = () =>
  HttpResponse.json({ error: { code: "NOT_FOUND", message: "not found" } }, { status: 404 });

/** Another answer to new shipments, for `server.use`. */
export function refusesShipments(status: number, body: Record<string, unknown>): RequestHandler {
  return http.post("*/v2/shipments", () => HttpResponse.json(body, { status }));
}

export function easyPost(): EasyPost {
  const service: EasyPost = {
    handlers: [],
    asked: [],
    shipments: [],
    rates,
    refundStatus: "submitted",
    reset() {
      Object.assign(service, { asked: [], shipments: [], rates, refundStatus: "submitted" });
    },
  };
  const find = (name: unknown) =>
    service.shipments.find(({ id, reference }) => id === name || reference === name);
  service.handlers.push(
    // Notes the request and lets the next handler answer.
    http.all("*/v2/*", async ({ request }) => void service.asked.push(await noteRequest(request))),
    http.get("*/v2/shipments/:name", ({ params }) => {
      const shipment = find(params.name);
      return shipment ? HttpResponse.json(shipment) : notFound();
    }),
    http.post("*/v2/shipments", async ({ request }) => {
      const { shipment: { reference } } = await request.json() as {
        shipment: { reference: string };
      };
      const made: EasyPostShipment = {
        id: `shp_${service.shipments.length + 1}`,
        reference,
        rates: service.rates,
      };
      service.shipments.push(made);
      return HttpResponse.json(made, { status: 201 });
    }),
    http.post("*/v2/shipments/:id/buy", ({ params }) => {
      const shipment = find(params.id);
      if (!shipment) return notFound();
      shipment.tracking_code = "9400";
      shipment.postage_label = { label_url: "https://label.example/1.png" };
      return HttpResponse.json(shipment);
    }),
    http.post("*/v2/shipments/:id/refund", ({ params }) => {
      const shipment = find(params.id);
      if (!shipment) return notFound();
      shipment.refund_status = service.refundStatus;
      return HttpResponse.json(shipment);
    }),
  );
  return service;
}
