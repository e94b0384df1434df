import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import type { Keeper } from "../access.ts";
import { answerWhole } from "../../../shared/api/list.ts";
import { translate } from "../../../shared/i18n/index.ts";
import { EventTypesQuery, EventTypesResponse } from "./schemas.ts";

interface Named {
  event_types: { event_type: string }[];
}

/** Which events there are to subscribe to. */
export const eventTypesOf = ({ at, reads }: Keeper): AnyEndpoint[] => [
  endpoint({
    method: "get",
    path: `${at}/event-types`,
    summary: "List the types of events, with what each means and the fields of its data",
    access: reads,
    query: EventTypesQuery,
    response: EventTypesResponse,
    async run({ db, query, language }) {
      const { module, search = "" } = query;
      const { event_types } = await db.call<Named>("integration.event_types_get", { module });
      const wanted = search.toLowerCase();
      return answerWhole(
        event_types
          .map((one) => ({
            ...one,
            description: translate(language(), `event_${one.event_type.replace(".", "_")}`),
          }))
          .filter(({ event_type, description }) =>
            event_type.includes(wanted) || description.toLowerCase().includes(wanted)
          ),
      );
    },
  }),
];
