/** The measurements of a shop, whichever program runs it. Each has 100 products at one price; of the scarce one there are 10. */

export const clients = 8;
export const buyers = 50;
export const scarce = 10;
export const products = 100;

export interface Shop {
  /** With its version. */
  name: string;
  /** The newest 20 products with id, name, description, picture and variants with SKU and price, as anybody asks for them. */
  list: { url: string; headers: Record<string, string> };
  /** Number of requests from an empty cart to an order that is paid at the door. */
  requestsPerOrder: number;
  /** Places an order of one unit of a product that there is enough of, for one of `clients` people. */
  order(client: number): Promise<void>;
  /** Fills the cart of one of `buyers` people with a unit of the scarce product. Resolves to what orders it: true when that succeeded. */
  prepare(buyer: number): Promise<() => Promise<boolean>>;
  stop(): Promise<void>;
}

/** Sends JSON and reads the answer. */
export async function send(
  url: string,
  body: unknown,
  headers: Record<string, string>,
  method = "POST",
): Promise<{ status: number; body: Json }> {
  const response = await fetch(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() as Json };
}

/** The same, where only success will do. */
export async function demand(
  ...[url, body, headers]: Parameters<typeof send>
): Promise<Json> {
  const answer = await send(url, body, headers);
  if (answer.status < 300) return answer.body;
  throw new Error(`${answer.status} ${url}: ${JSON.stringify(answer.body).slice(0, 300)}`);
}

// deno-lint-ignore no-explicit-any
export type Json = any;
