/** As much of Supabase's management API as the commands of docs/operations.md talk to; it remembers what it was told. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { publishableKey, secretKey } from "../../supabase/local/keys.ts";
import { ProjectSettings } from "./project-settings.ts";

export interface Upload {
  slug: string;
  /** Size by path from the project's root. */
  files: Map<string, number>;
  metadata: { entrypoint_path: string; import_map_path: string; verify_jwt: boolean };
}

/** A project that its owner has just made. */
export class Project {
  readonly uploads: Upload[] = [];
  readonly secrets = new Map<string, string>();
  readonly settings = new ProjectSettings();
  /** The deployed functions, as it lists them. */
  readonly functions = new Map<string, Record<string, unknown>>();
  /** How often somebody asked for a login to its database. */
  logins = 0;
  constructor(readonly ref: string, readonly host: string) {}
}

export interface ManagementApi {
  url: string;
  project(ref: string): Project;
  /** Requests that it knows no answer to. */
  unanswered: string[];
  close(): Promise<void>;
}

interface Call {
  project: Project;
  /** All that were named so far. */
  projects: Project[];
  url: URL;
  request: IncomingMessage;
  body: Buffer;
}
type Answer = [status: number, body: unknown];

/** Projects are there as soon as they are named; `host` is where their own addresses lie. */
export async function startManagementApi(host: string): Promise<ManagementApi> {
  const projects = new Map<string, Project>();
  const project = (ref: string) => {
    if (!projects.has(ref)) projects.set(ref, new Project(ref, host));
    return projects.get(ref)!;
  };
  const unanswered: string[] = [];
  const server = createServer((request, response) => {
    const send = ([status, body]: Answer) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    answer(request).then(send, (error) => send([500, { message: String(error) }]));
  });
  async function answer(request: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? "/", "http://stub");
    const [, ref, what] = /^\/v[12]\/projects\/([a-z]{20})(\/.*)?$/.exec(url.pathname) ?? [];
    const route = `${request.method} ${ref ? what ?? "/" : url.pathname}`;
    if (Object.hasOwn(answers, route)) {
      const call = {
        project: ref ? project(ref) : new Project("", host),
        projects: [...projects.values()],
        ...{ url, request, body: Buffer.concat(chunks) },
      };
      return await answers[route](call);
    }
    unanswered.push(`${request.method} ${url.pathname}`);
    return [404, { message: "not found" }];
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    project,
    unanswered,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

const json = (body: Buffer) => JSON.parse(body.toString());

/** By method and what comes after the project's address. */
const answers: Record<string, (call: Call) => Answer | Promise<Answer>> = {
  "GET /v1/profile": () => [200, { gotrue_id: "gate", primary_email: "", username: "gate" }],
  "GET /v1/projects": ({ projects }) => [200, projects.map(described)],
  "GET /": ({ project }) => [200, described(project)],
  "GET /api-keys": () => [200, [
    { id: "1", name: "default", type: "publishable", api_key: publishableKey },
    {
      id: "2",
      name: "default",
      type: "secret",
      api_key: secretKey,
      secret_jwt_template: { role: "service_role" },
    },
  ]],
  "GET /billing/addons": () => [200, { selected_addons: [], available_addons: [] }],

  "GET /config": ({ project: { ref, settings } }) => [200, {
    data: { type: "project_config", id: ref, attributes: settings.all() },
  }],
  "GET /config/storage": ({ project: { settings } }) => [200, settings.storage],
  "PATCH /postgrest": ({ project: { settings }, body }) => [
    200,
    Object.assign(settings.api, json(body)),
  ],
  "PATCH /config/auth": ({ project: { settings }, body }) => [
    200,
    Object.assign(settings.auth, json(body)),
  ],
  "PATCH /config/storage": ({ project: { settings }, body }) => [
    200,
    Object.assign(settings.storage, json(body)),
  ],
  "GET /config/database/pooler": ({ project: { ref, host } }) => {
    const address = `postgresql://postgres.${ref}:[YOUR-PASSWORD]@pooler.${host}:6543/postgres`;
    return [200, [{
      ...{ identifier: ref, database_type: "PRIMARY", is_using_scram_auth: true },
      ...{ db_user: `postgres.${ref}`, db_host: `pooler.${host}`, db_port: 6543 },
      ...{ db_name: "postgres", connection_string: address, connectionString: address },
      ...{ default_pool_size: 15, max_client_conn: 200, pool_mode: "transaction" },
    }]];
  },
  // Its database listens where no test may: who asks for a login is counted and gets none.
  "POST /cli/login-role": ({ project }) => {
    project.logins++;
    return [403, { message: "no logins here" }];
  },

  "GET /secrets": ({ project: { secrets } }) => [
    200,
    [...secrets].map(([name, value]) => ({
      name,
      value: createHash("sha256").update(value).digest("hex"),
      updated_at: "2026-01-01T00:00:00Z",
    })),
  ],
  "POST /secrets": ({ project: { secrets }, body }) => {
    for (const { name, value } of json(body)) secrets.set(name, value);
    return [201, null];
  },

  "GET /functions": ({ project: { functions } }) => [200, [...functions.values()]],
  "PUT /functions": ({ project: { functions } }) => [200, { functions: [...functions.values()] }],
  "POST /functions/deploy": async ({ project, url, request, body }) => {
    const slug = url.searchParams.get("slug") ?? "";
    const upload = await readUpload(slug, request, body);
    project.uploads.push(upload);
    const now = Date.now();
    const deployed = {
      ...{ id: slug, slug, name: slug, status: "ACTIVE", version: 1 },
      ...{ created_at: now, updated_at: now, verify_jwt: false },
      entrypoint_path: `file:///tmp/${slug}/source/${upload.metadata.entrypoint_path}`,
    };
    project.functions.set(slug, deployed);
    return [201, deployed];
  },
};

function described({ ref }: Project) {
  return {
    ...{ id: ref, ref, name: "gate", region: "local", status: "ACTIVE_HEALTHY" },
    ...{ organization_id: "gate", organization_slug: "gate", created_at: "2026-01-01T00:00:00Z" },
    database: { host: "localhost", version: "17", postgres_engine: "17", release_channel: "ga" },
  };
}

async function readUpload(slug: string, request: IncomingMessage, body: Buffer): Promise<Upload> {
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": request.headers["content-type"] ?? "" },
  }).formData();
  const metadata = form.get("metadata");
  return {
    slug,
    files: new Map(form.getAll("file").map((file) => [(file as File).name, (file as File).size])),
    metadata: JSON.parse(typeof metadata === "string" ? metadata : await (metadata as File).text()),
  };
}
