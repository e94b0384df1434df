import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  SequenceResponse,
  SequenceSet,
  SequenceSuggested,
  SetSequence,
  SuggestSequence,
} from "./schemas.ts";
import { type DriverStops, suggest } from "./suggest.ts";

/** Those who send drivers, and the driver; the core checks that a driver asks for their own list. */
const planners = anyOf(permission("manage:operations:tenant"), role("driver"));

/** The order of a driver's list. The two documented calls keep their keys to themselves. */
export const sequence: AnyEndpoint[] = [
  endpoint({
    method: "put",
    path: "/assignments/driver/:driverId/sequence",
    summary: "Set the order of a driver's active assignments",
    access: planners,
    params: ids("driverId"),
    body: SetSequence,
    response: SequenceSet,
    omitErrorCode: true,
    errors: ["driver_not_found", "invalid_sequence"],
    run: ({ db, params, body }) =>
      db.call("delivery.sequence_write", { ...body, driver_id: params.driverId }),
  }),
  endpoint({
    method: "get",
    path: "/assignments/:driverId/sequence",
    summary: "Read a driver's active assignments in their order",
    access: planners,
    params: ids("driverId"),
    response: SequenceResponse,
    omitErrorCode: true,
    errors: ["driver_not_found"],
    run: ({ db, params }) => db.call("delivery.sequence_read", { driver_id: params.driverId }),
  }),
  endpoint({
    method: "post",
    path: "/assignments/driver/:driverId/sequence/suggest",
    summary:
      "Propose an order of a driver's stops with the least lateness, then the shortest; nothing changes until it is set",
    access: planners,
    params: ids("driverId"),
    body: SuggestSequence,
    response: SequenceSuggested,
    errors: ["driver_not_found", "invalid_coordinates"],
    async run({ db, params, body }) {
      const list = await db.call<DriverStops>("delivery.sequence_stops", {
        driver_id: params.driverId,
      });
      const start = body.latitude === undefined || body.longitude === undefined
        ? list.start
        : { latitude: body.latitude, longitude: body.longitude };
      return await suggest({ ...list, start }, Date.now());
    },
  }),
];
