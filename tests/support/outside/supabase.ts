/** Supabase Auth's admin interface and Storage's signed addresses, as the hosted services answer. */
import { http, HttpResponse, type RequestHandler } from "msw";
import { type NotedRequest, noteRequest } from "./requests.ts";

export interface SupabaseServices {
  handlers: RequestHandler[];
  asked: NotedRequest[];
  /** Accounts of Auth: e-mail by id. */
  users: Map<string, string>;
  /** Paths of Storage, with their bucket. */
  files: Set<string>;
}

/** Auth's refusals name their code since its version of 2024-01-01. */
export function authRefusal(status: number, code: string): Response {
  return HttpResponse.json({ code, message: `refused: ${code}` }, {
    status,
    headers: { "x-supabase-api-version": "2024-01-01" },
  });
}

export function supabaseServices(): SupabaseServices {
  const service: SupabaseServices = {
    handlers: [],
    asked: [],
    users: new Map(),
    files: new Set(),
  };
  const { users, files, asked } = service;
  const notFound = () => authRefusal(404, "user_not_found");
  service.handlers.push(
    http.all("*", async ({ request }) => void asked.push(await noteRequest(request))),
    http.post("*/auth/v1/admin/users", async ({ request }) => {
      const { id, email } = await request.json() as { id: string; email: string };
      if ([...users.values()].includes(email)) return authRefusal(422, "email_exists");
      users.set(id, email);
      return HttpResponse.json({ id, email });
    }),
    http.put("*/auth/v1/admin/users/:id", ({ params }) => {
      const email = users.get(String(params.id));
      return email ? HttpResponse.json({ id: params.id, email }) : notFound();
    }),
    http.delete(
      "*/auth/v1/admin/users/:id",
      ({ params }) => users.delete(String(params.id)) ? HttpResponse.json({}) : notFound(),
    ),
    http.post("*/auth/v1/invite", async ({ request }) => {
      const { email } = await request.json() as { email: string };
      return [...users.values()].includes(email)
        ? authRefusal(422, "email_exists")
        : HttpResponse.json({ id: crypto.randomUUID(), email });
    }),
    http.post("*/storage/v1/object/upload/sign/:bucket/*", ({ request }) => {
      const path = new URL(request.url).pathname.split("/upload/sign/")[1];
      return HttpResponse.json({ url: `/object/upload/sign/${path}?token=upload-token` });
    }),
    http.post("*/storage/v1/object/sign/:bucket", async ({ request, params }) => {
      const { paths } = await request.json() as { paths: string[] };
      return HttpResponse.json(paths.map((path) => {
        const name = `${params.bucket}/${path}`;
        return files.has(name)
          ? { error: null, path, signedURL: `/object/sign/${name}?token=read-token` }
          : {
            error: "Either the object does not exist or you do not have access to it",
            path,
            signedURL: null,
          };
      }));
    }),
    http.post("*/storage/v1/object/:bucket/*", ({ request }) => {
      const name = new URL(request.url).pathname.split("/object/")[1];
      files.add(name);
      return HttpResponse.json({ Id: crypto.randomUUID(), Key: name });
    }),
  );
  return service;
}
