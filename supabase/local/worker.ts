// Runs under Deno with the permissions the platform gives a function: one process that serves all of them.
// Started by workers.ts with the port to listen on; the first line it prints is the answer to that.
import { slugs } from "./paths.ts";

type Handler = (request: Request) => Response | Promise<Response>;

const [port = "0", preload] = Deno.args;
/** Bytes of a body that are read although nobody wants them: 32 MiB. */
const maxRest = 33_554_432;
const background = new Set<Promise<unknown>>();
/** Entries to serve in place of those in `functions`, by slug: a test serves what is deployed. */
const entries: Record<string, string> = JSON.parse(Deno.env.get("FUNCTION_ENTRIES") ?? "{}");
const loaded = new Map<string, Promise<Handler>>();

Object.assign(globalThis, {
  EdgeRuntime: {
    /** Keeps the worker alive for the promise, beyond the answer. */
    waitUntil<T>(promise: Promise<T>): Promise<T> {
      const settled = promise.catch((error) => console.error("background task failed:", error))
        .finally(() => background.delete(settled));
      background.add(settled);
      return promise;
    },
  },
});

// A reload wants to know about broken functions before it lets the old workers go.
const broken: string[] = [];
if (preload === "preload") {
  await Promise.all(slugs.map((slug) => load(slug).catch(() => broken.push(slug))));
}

const server = Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: (address) => console.log(JSON.stringify({ port: address.port, broken })),
  onError: (error) => {
    console.error(error);
    return platformError(
      500,
      "WORKER_ERROR",
      "Function exited due to an error (please check logs)",
    );
  },
}, serve);

Deno.addSignalListener("SIGTERM", async () => {
  await server.shutdown();
  // As the platform does before it ends a process.
  dispatchEvent(new Event("beforeunload"));
  while (background.size > 0) await Promise.all(background);
  Deno.exit(0);
});
exitWithParent();

async function serve(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname;
  // No function can be called that: a dot is not allowed in a slug.
  if (path === "/.health") return Response.json({ pid: Deno.pid });
  const slug = path.split("/")[1] ?? "";
  if (!isSlug(slug)) return platformError(404, "NOT_FOUND", "Requested function was not found");
  let handler: Handler;
  try {
    handler = await load(slug);
  } catch {
    return platformError(503, "BOOT_ERROR", "Function failed to start (please check logs)");
  }
  const response = await handler(request);
  await readRest(request);
  return response;
}

/**
 * Reads what a function left of a body, as the platform's gateway does: with bytes still coming the connection would
 * be reset, and the caller would see that instead of the answer.
 */
async function readRest(request: Request): Promise<void> {
  if (request.bodyUsed || request.body === null) return;
  let length = 0;
  try {
    for await (const chunk of request.body) {
      length += chunk.length;
      if (length > maxRest) return;
    }
  } catch {
    // The caller is gone; so is the rest.
  }
}

/** Imported on its first request, so that one broken function does not keep the others from serving. */
function load(slug: typeof slugs[number]): Promise<Handler> {
  const known = loaded.get(slug);
  if (known) return known;
  const entry = entries[slug] ?? `../../functions/${slug}/index.ts`;
  const loading = import(new URL(entry, import.meta.url).href).then(
    (module) => {
      const handler = module.default?.fetch;
      if (typeof handler !== "function") {
        throw new Error("its default export has no fetch function");
      }
      return handler as Handler;
    },
  );
  loading.catch((error) => console.error(`functions/${slug} failed to start:`, error));
  loaded.set(slug, loading);
  return loading;
}

/** The supervisor holds our standard input: when it is gone, however it went, so are we. */
async function exitWithParent(): Promise<void> {
  for await (const _ of Deno.stdin.readable);
  Deno.exit(0);
}

function isSlug(slug: string): slug is typeof slugs[number] {
  return (slugs as readonly string[]).includes(slug);
}

function platformError(status: number, code: string, message: string): Response {
  return Response.json({ code, message }, { status, headers: { "sb-error-code": code } });
}
