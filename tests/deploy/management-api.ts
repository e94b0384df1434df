/** As much of Supabase's management API as a deployment talks to; it remembers what was uploaded. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Upload {
  slug: string;
  /** Size by path from the project's root. */
  files: Map<string, number>;
  metadata: { entrypoint_path: string; import_map_path: string; verify_jwt: boolean };
}

export interface ManagementApi {
  url: string;
  uploads: Upload[];
  close(): Promise<void>;
}

export async function startManagementApi(project: string): Promise<ManagementApi> {
  const uploads: Upload[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  async function answer(request: IncomingMessage, response: ServerResponse) {
    const url = new URL(request.url ?? "/", "http://stub");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.method === "POST" && url.pathname.endsWith("/functions/deploy")) {
      const slug = url.searchParams.get("slug") ?? "";
      uploads.push(await readUpload(slug, request, Buffer.concat(chunks)));
      const now = Date.now();
      return send(201, {
        ...{ id: slug, slug, name: slug, status: "ACTIVE", version: 1 },
        ...{ created_at: now, updated_at: now, verify_jwt: false },
      });
    }
    if (url.pathname.endsWith("/functions")) {
      return send(200, request.method === "PUT" ? { functions: [] } : []);
    }
    send(200, {
      ...{ id: project, ref: project, name: "gate", region: "local", status: "ACTIVE_HEALTHY" },
      ...{ organization_id: "gate", organization_slug: "gate", created_at: "2026-01-01T00:00:00Z" },
      database: { host: "localhost", version: "17", postgres_engine: "17", release_channel: "ga" },
    });
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    uploads,
    close: () => new Promise((resolve) => server.close(() => resolve())),
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
