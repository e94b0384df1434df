/** The requests to an outside service, in order: handlers record each request before they answer it. */
export interface NotedRequest {
  /** Method and path with its query: `GET /v2/shipments/ref-1`. */
  line: string;
  headers: Headers;
  /** Parsed JSON; the text where it is none, undefined where nothing was sent. */
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** Reads a copy of the request, so that its handler still can. */
export async function noteRequest(request: Request): Promise<NotedRequest> {
  const { pathname, search } = new URL(request.url);
  const text = await request.clone().text();
  return {
    line: `${request.method} ${pathname}${search}`,
    headers: request.headers,
    body: parsed(text),
  };
}

function parsed(text: string): unknown {
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
