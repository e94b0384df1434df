/** The schema of Grafana's dashboards, made from the types that Grafana Labs publishes for programs. */
import { Ajv } from "ajv";
import { createGenerator } from "ts-json-schema-generator";

const types = "node_modules/@grafana/grafana-foundation-sdk/dist";

type Definitions = Record<string, Record<string, unknown>>;

/** Reading the types takes seconds. */
const known = new Map<string, Definitions>();

function definitionsOf(kind: string, type: string): Definitions {
  const read = known.get(kind) ?? readDefinitions(kind, type);
  known.set(kind, read);
  return read;
}

function readDefinitions(kind: string, type: string): Definitions {
  const { definitions } = createGenerator({
    path: `${types}/${kind}/types.gen.d.ts`,
    type,
    skipTypeCheck: true,
    additionalProperties: false,
    functions: "hide",
  }).createSchema(type);
  return definitions as Definitions;
}

/**
 * The faults of a dashboard, one line each. The panels' types are kept apart from the dashboard's: queries have to be Prometheus's,
 * and the options and fields of each panel those of its kind.
 */
export function dashboardFaults(dashboard: { panels: Record<string, unknown>[] }): string[] {
  const definitions = definitionsOf("dashboard", "Dashboard");
  const { Dataquery, ...ofQueries } = definitionsOf("prometheus", "Dataquery");
  const all = { ...ofQueries, ...definitions, Dataquery };
  const faults = check(all, "Dashboard", dashboard, "dashboard");
  for (const kind of ["timeseries", "stat"]) {
    const own = definitionsOf(kind, "Options");
    for (const panel of dashboard.panels.filter(({ type }) => type === kind)) {
      faults.push(...check(own, "Options", panel.options, String(panel.title)));
    }
  }
  return faults;
}

function check(definitions: Definitions, type: string, value: unknown, what: string): string[] {
  const ajv = new Ajv({ allErrors: true, strict: false });
  const isRight = ajv.compile({ $ref: `#/definitions/${type}`, definitions });
  if (isRight(value)) return [];
  return (isRight.errors ?? []).map(({ instancePath, message, params }) =>
    `${what}${instancePath} ${message} ${JSON.stringify(params)}`
  );
}
